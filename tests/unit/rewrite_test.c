/* SPDX-License-Identifier: MIT */
/*
 * Equal reach is equal text, equal code and one identity, however it is written.  Random sets of destinations in a
 * small world are written in several ways each, and compiled: single lines in any order, blocks that overlap,
 * everything but what is denied, ranges with exceptions.  One destination more or less is another identity.
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/compile.h"
#include "tests/unit/unit.h"

enum { HOSTS = 24, PORTS = 12, FIRST_PORT = 200, WORLDS = 40, WAYS = 6, MAX_LINES = 4096 };

/* By protocol, family, host and port. */
struct world {
	bool in[2][2][HOSTS][PORTS];
};

/* A block of destinations of one family: both ends included. */
struct block {
	unsigned protos; /* bit 0: tcp, bit 1: udp */
	unsigned family, host, last_host, port, last_port;
};

struct lines {
	char *item[MAX_LINES];
	size_t n;
};

static unsigned pick(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

/* --- writing -------------------------------------------------------------- */

static void put_host(FILE *f, unsigned family, unsigned host)
{
	fprintf(f, family ? "2001:db8::%x" : "10.9.8.%u", host);
}

/* Some ways to write the hosts of a block. */
static void put_hosts(FILE *f, unsigned *seed, const struct block *b)
{
	unsigned n = b->last_host - b->host + 1, bits = 0, split;

	while (1u << bits < n)
		bits++;
	if (n > 1 && n == 1u << bits && b->host % n == 0 && pick(seed, 2)) {
		put_host(f, b->family, b->host);
		fprintf(f, "/%u", (b->family ? 128 : 32) - bits);
		return;
	}
	if (n > 1 && !pick(seed, 3)) {
		split = pick(seed, n - 1);
		fputs("{ ", f);
		put_hosts(f, seed, &(struct block){ 0, b->family, b->host + split + 1, b->last_host, 0, 0 });
		fputs(", ", f);
		put_hosts(f, seed, &(struct block){ 0, b->family, b->host, b->host + split, 0, 0 });
		fputs(" }", f);
		return;
	}
	put_host(f, b->family, b->host);
	if (n == 1)
		return;
	fputc('-', f);
	put_host(f, b->family, b->last_host);
}

/* Braces do not nest: the inner ones are dropped. */
static void put_list(FILE *f, unsigned *seed, const struct block *b)
{
	char *text = NULL;
	size_t size;
	FILE *inner = open_memstream(&text, &size);
	bool braces;

	put_hosts(inner, seed, b);
	fclose(inner);
	braces = text[0] == '{';
	fputs(braces ? "{ " : "", f);
	for (const char *p = text; *p; p++)
		if (*p != '{' && *p != '}')
			fputc(*p, f);
	fputs(braces ? " }" : "", f);
	free(text);
}

static void put_ports(FILE *f, unsigned *seed, const struct block *b)
{
	unsigned port = FIRST_PORT + b->port, last = FIRST_PORT + b->last_port, split;

	if (port == last)
		fprintf(f, " port %u", port);
	else if (pick(seed, 2))
		fprintf(f, " port %u-%u", port, last);
	else {
		split = port + pick(seed, last - port);
		fprintf(f, " port { %u-%u, %u-%u }", split + 1, last, port, split);
	}
}

static const char *const protos[] = { "", "tcp ", "udp ", "{ udp, tcp } " };

static char *rule(unsigned *seed, const char *verb, const struct block *b)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "%s %s", verb, protos[b->protos]);
	put_list(f, seed, b);
	put_ports(f, seed, b);
	fclose(f);
	return text;
}

static void add(struct lines *l, char *text)
{
	if (l->n < MAX_LINES)
		l->item[l->n++] = text;
}

/* The lines in any order, as a profile. */
static char *profile_of(unsigned *seed, struct lines *l)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs("profile p { network {\n", f);
	while (l->n) {
		size_t i = pick(seed, (unsigned)l->n);

		fprintf(f, "%s\n", l->item[i]);
		free(l->item[i]);
		l->item[i] = l->item[--l->n];
	}
	fputs("} }\n", f);
	fclose(f);
	return text;
}

/* --- blocks --------------------------------------------------------------- */

/* Whether all of the block is in the world, or nothing of it. */
static bool is_all(const struct world *w, const struct block *b, bool in)
{
	for (unsigned proto = 0; proto < 2; proto++)
		for (unsigned h = b->host; h <= b->last_host && b->protos & 1u << proto; h++)
			for (unsigned p = b->port; p <= b->last_port; p++)
				if (w->in[proto][b->family][h][p] != in)
					return false;
	return true;
}

/* A block that holds the destination, as large as chance has it, all of it in the world or nothing. */
static struct block grow(unsigned *seed, const struct world *w, struct block b)
{
	const bool in = w->in[b.protos == 2][b.family][b.host][b.port];

	for (unsigned step = 0; step < 40; step++) {
		struct block more = b;

		switch (pick(seed, 5)) {
		case 0:
			more.host -= more.host > 0;
			break;
		case 1:
			more.last_host += more.last_host + 1 < HOSTS;
			break;
		case 2:
			more.port -= more.port > 0;
			break;
		case 3:
			more.last_port += more.last_port + 1 < PORTS;
			break;
		default:
			more.protos = 3;
		}
		if (is_all(w, &more, in))
			b = more;
	}
	return b;
}

static void mark(struct world *w, const struct block *b)
{
	for (unsigned proto = 0; proto < 2; proto++)
		for (unsigned h = b->host; h <= b->last_host && b->protos & 1u << proto; h++)
			for (unsigned p = b->port; p <= b->last_port; p++)
				w->in[proto][b->family][h][p] = true;
}

/* Lines for all destinations that are in the world, or for all that are not; `big`: blocks, which may overlap. */
static void cover(unsigned *seed, const struct world *w, bool in, const char *verb, bool big, struct lines *l)
{
	struct world done = { { { { { 0 } } } } };

	for (unsigned i = 0; i < 2 * 2 * HOSTS * PORTS; i++) {
		struct block b = { 1u + i % 2, i / 2 % 2, i / 4 % HOSTS, i / 4 % HOSTS, i / 4 / HOSTS, i / 4 / HOSTS };

		if (w->in[i % 2][b.family][b.host][b.port] != in || done.in[i % 2][b.family][b.host][b.port])
			continue;
		if (big)
			b = grow(seed, w, b);
		mark(&done, &b);
		add(l, rule(seed, verb, &b));
	}
}

/* --- ways ----------------------------------------------------------------- */

/* All there is, in one block for each family, or two. */
static void allow_everything(unsigned *seed, struct lines *l)
{
	for (unsigned family = 0; family < 2; family++) {
		struct block b = { 3, family, 0, HOSTS - 1, 0, PORTS - 1 };

		if (pick(seed, 2)) {
			b.protos = 1;
			add(l, rule(seed, "allow", &b));
			b.protos = 2;
		}
		add(l, rule(seed, "allow", &b));
	}
}

/* For each protocol, family and port: the range of all hosts, less those that are not reached. */
static void allow_with_except(unsigned *seed, const struct world *w, struct lines *l)
{
	for (unsigned i = 0; i < 2 * 2 * PORTS; i++) {
		const unsigned proto = i % 2, family = i / 2 % 2, port = i / 4;
		struct block b = { 1u + proto, family, 0, HOSTS - 1, port, port };
		char *text = NULL;
		bool any = false;
		size_t size;
		FILE *f;

		for (unsigned h = 0; h < HOSTS; h++)
			any |= w->in[proto][family][h][port];
		if (!any)
			continue;
		f = open_memstream(&text, &size);
		fprintf(f, "allow %s", protos[b.protos]);
		put_list(f, seed, &b);
		any = false;
		for (unsigned h = 0; h < HOSTS; h++)
			if (!w->in[proto][family][h][port]) {
				fputs(any ? ", " : " except { ", f);
				put_host(f, family, h);
				any = true;
			}
		fputs(any ? " }" : "", f);
		put_ports(f, seed, &b);
		fclose(f);
		add(l, text);
	}
}

/* The world, written one way; denials that deny nothing that is allowed change nothing. */
static char *write_world(unsigned *seed, const struct world *w, unsigned way)
{
	struct lines *l = calloc(1, sizeof *l);
	char *text;

	switch (way) {
	case 0:
		cover(seed, w, true, "allow", false, l);
		break;
	case 1:
	case 2:
		cover(seed, w, true, "allow", true, l);
		break;
	case 3:
		allow_everything(seed, l);
		cover(seed, w, false, "deny", true, l);
		break;
	case 4:
		allow_with_except(seed, w, l);
		break;
	default:
		cover(seed, w, true, "allow", true, l);
		cover(seed, w, false, "deny", true, l);
	}
	text = profile_of(seed, l);
	free(l);
	return text;
}

/* A few blocks, so that there is something to join; and some that are taken out again. */
static struct world random_world(unsigned *seed)
{
	struct world w = { { { { { 0 } } } } };
	const unsigned blocks = 1 + pick(seed, 5), holes = pick(seed, 4);

	for (unsigned i = 0; i < blocks + holes; i++) {
		struct block b = { 1 + pick(seed, 3), pick(seed, 2), pick(seed, HOSTS), 0, pick(seed, PORTS), 0 };

		b.last_host = b.host + pick(seed, HOSTS - b.host);
		b.last_port = b.port + pick(seed, PORTS - b.port);
		for (unsigned proto = 0; proto < 2; proto++)
			for (unsigned h = b.host; h <= b.last_host && b.protos & 1u << proto; h++)
				for (unsigned p = b.port; p <= b.last_port; p++)
					w.in[proto][b.family][h][p] = i < blocks;
	}
	w.in[0][0][pick(seed, HOSTS)][pick(seed, PORTS)] = true;
	return w;
}

/* --- comparing ------------------------------------------------------------ */

struct result {
	void *data;
	size_t size;
	struct artefact view;
};

static bool compile(const char *text, struct result *out)
{
	struct artefact_error error;

	return compile_text("test.cave", text, strlen(text), stdout, &out->data, &out->size) &&
	       artefact_open(out->data, out->size, &out->view, &error);
}

static bool same_program(const struct artefact_program *a, const struct artefact_program *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->insn, b->insn, a->n * sizeof *a->insn));
}

static bool same_map(const struct artefact_map *a, const struct artefact_map *b)
{
	return !memcmp(&a->spec, &b->spec, sizeof a->spec) && !a->contents == !b->contents &&
	       (!a->contents || !memcmp(a->contents, b->contents, a->spec.value_size));
}

static bool same(const struct artefact *a, const struct artefact *b)
{
	bool good = a->nmaps == b->nmaps && a->policy.size == b->policy.size &&
		    !memcmp(a->policy.data, b->policy.data, a->policy.size) &&
		    !memcmp(a->identity, b->identity, CAVE_DIGEST_SIZE);

	for (int hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		good = good && same_program(&a->program[hook], &b->program[hook]);
	for (size_t i = 0; i < a->nmaps && good; i++)
		good = same_map(&a->map[i], &b->map[i]);
	return good;
}

/* Whether all ways give one artefact; what differs is shown. */
static bool is_one(unsigned *seed, const struct world *w)
{
	char *first_text = write_world(seed, w, 0);
	struct result first = { 0 };
	bool good = compile(first_text, &first);

	for (unsigned way = 1; way < WAYS && good; way++) {
		char *text = write_world(seed, w, way);
		struct result other = { 0 };

		good = compile(text, &other) && same(&first.view, &other.view);
		if (!good)
			printf("# differ:\n%s\n%s\n", first_text, text);
		free(other.data);
		free(text);
	}
	free(first.data);
	free(first_text);
	return good;
}

/* One destination more or less is another policy. */
static bool is_exact(unsigned *seed, struct world w)
{
	const unsigned proto = pick(seed, 2), family = pick(seed, 2), host = pick(seed, HOSTS), port = pick(seed, PORTS);
	struct result a = { 0 }, b = { 0 };
	char *text[2];
	bool good;

	text[0] = write_world(seed, &w, 1);
	w.in[proto][family][host][port] = !w.in[proto][family][host][port];
	text[1] = write_world(seed, &w, 1);
	good = compile(text[0], &a);
	/* Nothing may be left at all. */
	good = good && (!strstr(text[1], "allow") || (compile(text[1], &b) &&
						       memcmp(a.view.identity, b.view.identity, CAVE_DIGEST_SIZE)));
	for (int i = 0; i < 2; i++)
		free(text[i]);
	free(a.data);
	free(b.data);
	return good;
}

int main(void)
{
	const char *set = getenv("CAVE_SEED");
	unsigned seed = set ? (unsigned)strtoul(set, NULL, 10) : 5, one = 0, exact = 0;

	for (int i = 0; i < WORLDS; i++) {
		struct world w = random_world(&seed);

		one += is_one(&seed, &w);
		exact += is_exact(&seed, w);
	}
	check(one == WORLDS, "equal reach is one artefact, however it is written: %u of %d sets", one, WORLDS);
	check(exact == WORLDS, "one destination more or less is another: %u of %d sets", exact, WORLDS);
	return unit_done();
}
