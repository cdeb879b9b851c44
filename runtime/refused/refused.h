/* SPDX-License-Identifier: MIT */
/* cave-report: what the egress programs of a run have refused, and why.  What its parts share. */
#ifndef CAVE_RUNTIME_REFUSED_H
#define CAVE_RUNTIME_REFUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/artefact.h"
#include "runtime/refused/protocol.h"

/* --- told.c --------------------------------------------------------------- */

struct lookup {
	struct denials_told what;
	uint64_t count, logged;
};

/* What caverun has told of host names. */
struct told {
	uint32_t (*address)[4]; /* that granted names have had */
	struct lookup *lookup; /* that were refused, each name once */
	size_t naddresses, nlookups;
	uint64_t lost; /* lookups beyond those */
};

void told_hear(struct told *t, const struct denials_told *what);

/* Whether a granted name has had the address of what was refused. */
bool told_has(const struct told *t, const struct cave_denial *d);

/* --- rules.c -------------------------------------------------------------- */

/* The rules of the section cave.rules, which anybody may have written. */
struct rules {
	const struct cave_rule *rule;
	size_t n;
	const uint32_t *word; /* of every rule, those of its addresses are there */
	const char *names;
	size_t names_size;
	bool hosts; /* the policy grants by host name: */
	const struct told *told;
};

/* None where there is no section, or it does not read as one. */
void rules_open(const struct artefact *a, struct rules *out);

/* The words of the rule's first address, or of its last one, in host order.  How many: four of IPv6, else one. */
uint32_t rules_address(const struct rules *r, const struct cave_rule *rule, bool last, uint32_t out[4]);

/* The first or last port of one of the rule's ranges. */
unsigned rules_port(const struct rules *r, const struct cave_rule *rule, unsigned i, bool last);

/* The name of the rule's file. */
const char *rules_file(const struct rules *r, const struct cave_rule *rule);

enum reason {
	REASON_NONE, /* no rule is near */
	REASON_DENIED, /* by the rule */
	REASON_PORT, /* the rule grants another port of the address */
	REASON_ADDRESS, /* the rule grants the port, of another address */
	REASON_PROTOCOL, /* the rule grants it by the other protocol */
	REASON_FAMILY, /* no rule names an address of its family */
};

struct verdict {
	enum reason reason;
	const struct cave_rule *rule; /* NULL for NONE and FAMILY */
};

/* Which rule decided, or which grant is nearest. */
struct verdict rules_explain(const struct rules *r, const struct cave_denial *d);

/* Whether a rule grants TCP to the same address and port: then a datagram socket was connected to try the route. */
bool rules_grant_tcp(const struct rules *r, const struct cave_denial *d);

/* --- counts.c ------------------------------------------------------------- */

struct denied {
	struct cave_denial what;
	uint64_t count;
};

/* The maps of the programs that are attached to a control group. */
struct counts {
	int denials, uncounted; /* -1: there is none */
};

/* An errno. */
int counts_open(int group, struct counts *out);

/* The order in which they are read, as for qsort(): by what was refused. */
int denied_order(const void *x, const void *y);

/* All of them, sorted, in memory of malloc(); *lost is what had no room.  -1 and errno. */
long counts_read(const struct counts *c, struct denied **out, uint64_t *lost);

/* --- say.c ---------------------------------------------------------------- */

enum { SAY_MAX = 1024 };

/* The sentence about one, without its newline. */
void say_text(const struct rules *r, const struct denied *d, char text[SAY_MAX]);

/* The same of a lookup. */
void say_lookup(const struct lookup *l, char text[SAY_MAX]);

/* A line of JSON with its newline; its length. */
size_t say_json(const struct rules *r, const struct denied *d, uint64_t milliseconds, char text[SAY_MAX]);

/* Of those that have not been logged yet. */
size_t say_lookup_json(const struct lookup *l, uint64_t milliseconds, char text[SAY_MAX]);

/* "connected to look for a route", by which lookups order what they have found, and which may fail. */
bool say_is_probe(const struct rules *r, const struct denied *d);

#endif
