/* SPDX-License-Identifier: MIT */
#include "runtime/resolve_live.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert((int)ANSWERS_MAX <= (int)CAVE_RESOLVE_PER_NAME, "a message holds the addresses of a reply");

static void put_address(struct cave_resolve_address *to, const struct answer *a)
{
	memcpy(to->word, a->address.word, sizeof to->word);
	if (!a->address.six) {
		to->word[0] = to->word[1] = 0;
		to->word[2] = 0xffff;
	}
	to->ttl = a->ttl;
}

enum admission live_admit(int supervisor, const char *name, struct answer *list, size_t *n)
{
	struct cave_resolve_message m = { .kind = CAVE_RESOLVE_ADMIT, .n = (uint32_t)*n };
	ssize_t size = (ssize_t)cave_resolve_size(m.n);
	struct cave_resolve_answer answer;
	size_t kept = 0;

	if (!*n)
		return ADMITTED;
	strncpy(m.name, name, sizeof m.name - 1);
	for (size_t i = 0; i < *n; i++)
		put_address(&m.address[i], &list[i]);
	if (send(supervisor, &m, (size_t)size, MSG_NOSIGNAL) != size ||
	    recv(supervisor, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
		return SUPERVISOR_GONE;
	if (answer.error)
		return NO_ROOM;
	for (size_t i = 0; i < *n; i++)
		if (answer.admitted >> i & 1)
			list[kept++] = list[i];
	*n = kept;
	return kept ? ADMITTED : NOT_HERE;
}
