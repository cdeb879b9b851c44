/* SPDX-License-Identifier: MIT */
#include "runtime/resolve_live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- whose address it is -------------------------------------------------------------------------- */

static void from_v6(const struct in6_addr *in, struct host_address *out)
{
	*out = (struct host_address){ .six = true };
	for (int i = 0; i < 4; i++) {
		uint32_t word;

		memcpy(&word, in->s6_addr + 4 * i, sizeof word);
		out->word[i] = ntohl(word);
	}
}

static bool same_address(const struct host_address *a, const struct host_address *b)
{
	return a->six == b->six && a->word[3] == b->word[3] &&
	       (!a->six || memcmp(a->word, b->word, sizeof a->word) == 0);
}

/* True if it is an address of this host; true as well if that cannot be known. */
static bool is_own(const struct host_address *a)
{
	struct ifaddrs *list;
	bool own = false;

	if (getifaddrs(&list))
		return true;
	for (const struct ifaddrs *i = list; i && !own; i = i->ifa_next) {
		struct host_address mine = { 0 };

		if (!i->ifa_addr)
			continue;
		if (i->ifa_addr->sa_family == AF_INET)
			mine.word[3] =
				ntohl(((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr);
		else if (i->ifa_addr->sa_family == AF_INET6)
			from_v6(&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr, &mine);
		else
			continue;
		own = same_address(&mine, a);
	}
	freeifaddrs(list);
	return own;
}

/* The address that the rules are about: what IPv6 of a translator's carries, and what is mapped, is IPv4. */
static struct host_address judged(const struct live *l, const struct host_address *a)
{
	static const struct nat64 well_known = { { 0x0064ff9b, 0, 0 } }; /* RFC 6052, 2.1 */
	struct host_address inner = { .word = { 0, 0, 0, a->word[3] } };

	if (a->six && (memcmp(a->word, well_known.word, sizeof well_known.word) == 0 ||
		       (l->nat64.word[0] && memcmp(a->word, l->nat64.word, sizeof l->nat64.word) == 0)))
		return inner;
	if (a->six && !a->word[0] && !a->word[1] && a->word[2] == 0xffff)
		return inner;
	return *a;
}

/* The classes of the grants that speak of the name and take the address. */
static uint32_t classes_of(const struct live *l, const char *name, const struct host_address *a)
{
	struct host_address who = judged(l, a);
	struct host_match match;
	uint32_t classes = 0;

	for (size_t at = 0; hosts_match(l->hosts, name, &at, &match);) {
		bool global;

		if (hosts_in_place(l->hosts, match.place, &who, &global) && !(global && (is_own(&who) || is_own(a))))
			classes |= 1u << match.class;
	}
	return classes;
}

/* --- the bounds ----------------------------------------------------------------------------------- */

static void forget_expired(struct live *l, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct live_name *name = l->name[i];
		size_t alive = 0;

		for (size_t k = 0; k < name->n; k++)
			if (name->address[k].expiry > now)
				name->address[alive++] = name->address[k];
		name->n = alive;
		if (alive)
			l->name[kept++] = name;
		else
			free(name);
	}
	l->n = kept;
}

static struct live_name *find_name(struct live *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->name[i]->name, name) == 0)
			return l->name[i];
	return NULL;
}

static size_t count(const struct live *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->name[i]->n;
	return n;
}

/* The place of the address among those of the name, a new one if need be; NULL if there is no room. */
static struct live_address *place_for(struct live *l, const char *name, const struct host_address *a, uint64_t now)
{
	struct live_name *n;

	forget_expired(l, now);
	n = find_name(l, name);
	for (size_t i = 0; n && i < n->n; i++)
		if (same_address(&n->address[i].address, a))
			return &n->address[i];
	if (count(l) >= CAVE_RESOLVE_PER_RUN || (n && n->n >= CAVE_RESOLVE_PER_NAME))
		return NULL;
	if (!n) {
		n = calloc(1, sizeof *n);
		if (!n)
			return NULL;
		strncpy(n->name, name, sizeof n->name - 1);
		l->name[l->n++] = n;
	}
	n->address[n->n] = (struct live_address){ .address = *a };
	return &n->address[n->n++];
}

/* --- admitting ------------------------------------------------------------------------------------ */

static uint64_t expiry_of(uint32_t ttl, uint64_t now)
{
	if (ttl == UINT32_MAX)
		return UINT64_MAX;
	ttl = ttl < CAVE_RESOLVE_TTL_LEAST ? CAVE_RESOLVE_TTL_LEAST : ttl;
	ttl = ttl > CAVE_RESOLVE_TTL_MOST ? CAVE_RESOLVE_TTL_MOST : ttl;
	return now + ((uint64_t)ttl + CAVE_RESOLVE_GRACE) * 1000000000u;
}

static enum admission ask(struct live *l, const struct cave_resolve_message *m)
{
	struct cave_resolve_answer answer;

	if (send(l->supervisor, m, sizeof *m, MSG_NOSIGNAL) != (ssize_t)sizeof *m ||
	    recv(l->supervisor, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
		return SUPERVISOR_GONE;
	return answer.error ? NO_ROOM : ADMITTED;
}

enum admission live_admit(struct live *l, const char *name, const struct host_address *a, uint32_t ttl, uint64_t now)
{
	struct cave_resolve_message m = { .kind = CAVE_RESOLVE_ADMIT,
					  .classes = classes_of(l, name, a),
					  .expiry = expiry_of(ttl, now) };
	struct live_address *place;
	enum admission result;

	if (!m.classes)
		return NOT_HERE;
	place = place_for(l, name, a, now);
	if (!place)
		return NO_ROOM;
	/* An earlier answer holds for as long as it said. */
	m.expiry = m.expiry > place->expiry ? m.expiry : place->expiry;
	memcpy(m.address, a->word, sizeof m.address);
	if (!a->six) {
		m.address[0] = m.address[1] = 0;
		m.address[2] = 0xffff;
	}
	strncpy(m.name, name, sizeof m.name - 1);
	result = ask(l, &m);
	if (result == ADMITTED)
		place->expiry = m.expiry;
	return result;
}

/* A name of the file as a question would spell it; false if none could. */
static bool normal(const char *word, char *out)
{
	size_t n = strlen(word);

	if (n && word[n - 1] == '.')
		n--;
	if (!n || n >= NAME_TEXT)
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + ('a' - 'A') : word[i]);
	out[n] = '\0';
	return true;
}

/* One line: an address, and its names. */
static bool admit_line(struct live *l, char *line, uint64_t now)
{
	char *save, *word, name[NAME_TEXT];
	struct host_address a = { 0 };
	struct in6_addr six;
	struct in_addr four;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (!word)
		return true;
	if (inet_pton(AF_INET, word, &four) == 1)
		a.word[3] = ntohl(four.s_addr);
	else if (inet_pton(AF_INET6, word, &six) == 1)
		from_v6(&six, &a);
	else
		return true;
	while ((word = strtok_r(NULL, " \t\r", &save)))
		if (normal(word, name) && !hosts_denied(l->hosts, name) &&
		    live_admit(l, name, &a, UINT32_MAX, now) == SUPERVISOR_GONE)
			return false;
	return true;
}

bool live_admit_file(struct live *l, char *text, uint64_t now)
{
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!admit_line(l, line, now))
			return false;
	return true;
}
