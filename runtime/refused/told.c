/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/refused/refused.h"

/* As many things as the programs tell apart, and as many addresses as a run may have. */
enum { LOOKUPS_MAX = 1024, ADDRESSES_MAX = 1024 };

static bool has(const struct told *t, const uint32_t word[4])
{
	for (size_t i = 0; i < t->naddresses; i++)
		if (!memcmp(t->address[i], word, sizeof t->address[i]))
			return true;
	return false;
}

static void hear_address(struct told *t, const uint32_t word[4])
{
	if (!t->address)
		t->address = calloc(ADDRESSES_MAX, sizeof *t->address);
	/* Of more than that there is no room to know: they count as refusals. */
	if (t->address && t->naddresses < ADDRESSES_MAX && !has(t, word))
		memcpy(t->address[t->naddresses++], word, sizeof *t->address);
}

static struct lookup *find(struct told *t, const char *name)
{
	for (size_t i = 0; i < t->nlookups; i++)
		if (!strcmp(t->lookup[i].what.name, name))
			return &t->lookup[i];
	if (!t->lookup)
		t->lookup = calloc(LOOKUPS_MAX, sizeof *t->lookup);
	return t->lookup && t->nlookups < LOOKUPS_MAX ? &t->lookup[t->nlookups++] : NULL;
}

void told_hear(struct told *t, const struct denials_told *what)
{
	struct lookup *l;

	if (what->kind == DENIALS_ADDRESS) {
		hear_address(t, what->word);
		return;
	}
	l = find(t, what->name);
	if (!l) {
		t->lost++;
		return;
	}
	l->what = *what;
	l->count++;
}

bool told_has(const struct told *t, const struct cave_denial *d)
{
	uint32_t word[4];

	for (int w = 0; w < 4; w++)
		word[w] = ntohl(d->word[w]);
	return has(t, word);
}
