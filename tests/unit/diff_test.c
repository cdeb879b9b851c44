/* SPDX-License-Identifier: MIT */
/*
 * Differential test of diff: random pairs of profiles, and what the report says against the rules read one by one, at
 * sampled points and at every boundary.  A miss, and a claim too many, are failures.
 */
#include "cave/artefact.h"
#include "compiler/diff.h"
#include "tests/unit/review_policies.h"
#include "tests/unit/unit.h"

enum { NET_PAIRS = 600, NAME_PAIRS = 1500, CALL_PAIRS = 500, FILE_PAIRS = 600 };

/* Is the address in the range as it is reported: ADDRESS, ADDRESS/BITS or ADDRESS-ADDRESS? */
static bool in_text(const char *s, enum net_family family, struct net_addr at)
{
	size_t n = strcspn(s, "/-");
	enum net_family of;
	struct net_addr lo = parse_addr(s, n, &of), hi = lo;
	unsigned bits;

	if (of != family)
		return false;
	if (s[n] == '-')
		hi = parse_addr(s + n + 1, strlen(s + n + 1), &of);
	if (s[n] == '/') {
		bits = (family == NET_V4 ? 32 : 128) - (unsigned)atoi(s + n + 1);
		hi.lo |= bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
		hi.hi |= bits > 64 ? (UINT64_C(1) << (bits - 64)) - 1 : 0;
	}
	return net_addr_cmp(lo, at) <= 0 && net_addr_cmp(at, hi) <= 0;
}

/* How often the entries name the destination: at most once, if they are minimal. */
static unsigned named(const struct diff_entries *e, const char *kind, enum diff_way way, int proto, struct point at,
		      uint16_t port)
{
	unsigned n = 0;

	for (size_t i = 0; i < e->n; i++) {
		json_t *d = e->item[i].detail, *range, *ports_of;
		bool by_address = false, by_port = false;
		size_t k;

		if (strcmp(e->item[i].kind->name, kind) != 0 || e->item[i].way != way || !json_object_get(d, "protocol") ||
		    strcmp(json_string_value(json_object_get(d, "protocol")), proto == NET_TCP ? "tcp" : "udp") != 0)
			continue;
		json_array_foreach(json_object_get(d, "addresses"), k, range)
			by_address |= in_text(json_string_value(range), at.family, at.addr);
		json_array_foreach(json_object_get(d, "ports"), k, ports_of)
			by_port |= json_integer_value(json_object_get(ports_of, "from")) <= port &&
				   port <= json_integer_value(json_object_get(ports_of, "to"));
		n += by_address && by_port;
	}
	return n;
}

struct asked {
	struct diff diff;
	struct side old, new;
	struct arena scratch;
	bool old_holds, new_holds; /* the credential */
};

static const char *wrong_at(struct asked *q, int proto, struct point at, uint16_t port)
{
	bool old = reaches(&q->old, proto, at, port), new = reaches(&q->new, proto, at, port);
	bool heard_old = reference_listens(&q->old.own, proto, at, port);
	bool heard_new = reference_listens(&q->new.own, proto, at, port);
	bool held = new && q->new_holds && !(old && q->old_holds);

	if (named(&q->diff.found, "destination", DIFF_GRANTED, proto, at, port) != (new && !old))
		return "newly granted";
	if (named(&q->diff.found, "destination", DIFF_REFUSED, proto, at, port) != (old && !new))
		return "newly refused";
	if (named(&q->diff.found, "listen", DIFF_GRANTED, proto, at, port) != (heard_new && !heard_old))
		return "newly heard";
	if (named(&q->diff.held, "destination", DIFF_GRANTED, proto, at, port) != held)
		return "while a credential is held";
	return NULL;
}

/* Every boundary of every operand, and of every port range. */
static const char *wrong_anywhere(struct asked *q, uint64_t *seed)
{
	static const uint16_t at_port[] = { 1, 2, 3, 4, 78, 79, 80, 81, 82, 90, 91, 100, 101, 442, 443, 444,
					    7999, 8000, 8010, 8011, 65534, 65535 };
	static const char *const at[] = { "9.255.255.255", "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4",
					  "10.0.0.7", "10.0.0.8", "10.0.0.20", "10.0.0.21", "10.0.0.254", "10.0.0.255",
					  "10.0.1.0", "10.0.1.255", "10.0.2.0", "10.0.255.255", "10.1.0.0", "192.0.2.6",
					  "192.0.2.7", "192.0.2.8", "126.255.255.255", "127.0.0.0", "127.0.0.1", "127.0.0.2",
					  "127.0.0.3", "10.255.255.254", "10.255.255.255", "11.0.0.0", "8.8.8.8", "8.8.8.9",
					  "fcff::ffff", "fd00::", "fd00::1", "fd00::2", "fd00::7", "fd00::8", "fd00::10",
					  "fd00::11", "fd00::ffff:ffff:ffff:ffff", "fd00:0:0:1::", "2001:db8::",
					  "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" };

	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		for (unsigned k = 0; k < 5; k++) {
			struct point p = { 0 };
			uint16_t port = at_port[pick(seed, sizeof at_port / sizeof *at_port)];
			int proto = (int)pick(seed, 2);
			const char *wrong;

			p.addr = parse_addr(at[i], strlen(at[i]), &p.family);
			wrong = wrong_at(q, proto, p, port);
			if (wrong)
				return wrong;
		}
	return NULL;
}

static bool compare_networks(uint64_t *seed, unsigned *differing)
{
	char *old_text = random_network(seed), *new_text = random_network(seed);
	struct compile *old = resolve(old_text), *new = resolve(new_text);
	const char *wrong = old && new ? NULL : "resolved";

	if (!wrong) {
		struct asked q = { .old_holds = old->policy.ncredentials, .new_holds = new->policy.ncredentials };

		diff_policies(&new->arena, old, new, &q.diff);
		side_init(&q.old, &q.scratch, &old->policy);
		side_init(&q.new, &q.scratch, &new->policy);
		wrong = wrong_anywhere(&q, seed);
		*differing += q.diff.found.n > 0;
		diff_end(&q.diff);
		arena_free(&q.scratch);
	}
	if (wrong)
		fprintf(stderr, "%s:\n--- old\n%s--- new\n%s", wrong, old_text, new_text);
	if (old)
		compile_end(old);
	if (new)
		compile_end(new);
	free(old_text);
	free(new_text);
	return !wrong;
}

static void test_networks(void)
{
	uint64_t seed = 7;
	unsigned agreed = 0, differing = 0;

	while (agreed < NET_PAIRS && compare_networks(&seed, &differing))
		agreed++;
	check(agreed == NET_PAIRS, "%u pairs of networks agree with the rules at every boundary", (unsigned)NET_PAIRS);
	check(differing > NET_PAIRS / 2, "most of the pairs differ (%u)", differing);
}

/* --- names --------------------------------------------------------------------------------------- */

struct name_point {
	const char *name;
	struct point at;
	bool public, own;
	int proto;
	uint16_t port;
};

static bool in_list(json_t *list, const struct point *at)
{
	json_t *range;
	size_t i;

	json_array_foreach(list, i, range)
		if (in_text(json_string_value(range), at->family, at->addr))
			return true;
	return false;
}

static bool pattern_matches(const char *text, const char *name)
{
	const bool below = strncmp(text, "*.", 2) == 0;

	return host_matches(&(struct host_pattern){ .name = below ? text + 2 : text, .below = below }, name);
}

static bool entry_names(json_t *d, const struct name_point *p)
{
	json_t *except, *ports_of, *within = json_object_get(d, "within");
	bool by_port = false;
	size_t i;

	if (strcmp(json_string_value(json_object_get(d, "protocol")), p->proto == NET_TCP ? "tcp" : "udp") != 0 ||
	    !pattern_matches(json_string_value(json_object_get(d, "name")), p->name) ||
	    (json_is_true(json_object_get(d, "own_addresses")) && !p->own))
		return false;
	json_array_foreach(json_object_get(d, "except"), i, except)
		if (pattern_matches(json_string_value(except), p->name))
			return false;
	json_array_foreach(json_object_get(d, "ports"), i, ports_of)
		by_port |= json_integer_value(json_object_get(ports_of, "from")) <= p->port &&
			   p->port <= json_integer_value(json_object_get(ports_of, "to"));
	if (!by_port)
		return false;
	if (within)
		return in_list(within, &p->at);
	return p->public && !in_list(json_object_get(d, "except_addresses"), &p->at);
}

/* How often the entries name it.  What a global place lacks is the host's own, of which it says nothing. */
static unsigned name_named(const struct diff_entries *e, enum diff_way way, const struct name_point *p)
{
	unsigned n = 0;

	for (size_t i = 0; i < e->n; i++)
		if (strcmp(e->item[i].kind->name, "name") == 0 && e->item[i].way == way)
			n += entry_names(e->item[i].detail, p);
	return n;
}

static bool name_held(const struct policy *c, const struct name_point *p)
{
	return name_reaches(c, p->name, p->at.family, p->at.addr, p->public, p->own, p->proto, p->port);
}

static const char *names_wrong_at(const struct diff *d, const struct name_point *p)
{
	bool old = name_held(&d->old->policy, p), new = name_held(&d->new->policy, p);
	bool held = new && d->new->policy.ncredentials && !(old && d->old->policy.ncredentials);
	unsigned granted = name_named(&d->found, DIFF_GRANTED, p), refused = name_named(&d->found, DIFF_REFUSED, p);

	/* An entry is about all addresses; that it is not about the host's own is not said, as no name leads there. */
	if (p->own ? granted < (new && !old) : granted != (new && !old))
		return "newly granted";
	if (p->own ? refused < (old && !new) : refused != (old && !new))
		return "newly refused";
	if (p->own ? name_named(&d->held, DIFF_GRANTED, p) < held : name_named(&d->held, DIFF_GRANTED, p) != held)
		return "while a credential is held";
	return NULL;
}

/* Every name at every address; of ports, protocols and whose address it is a part at a time. */
static const char *names_wrong_anywhere(const struct diff *d, uint64_t *seed)
{
	static const char *const names[] = {
		"a.example.com", "b.example.com", "example.com", "z.example.com", "x.a.example.com", "z.a.example.com",
		"y.x.a.example.com", "z.x.a.example.com", "z.y.x.a.example.com", "aa.example.com", "z.aa.example.com",
		"c.example.net", "example.net", "z.c.example.net", "z.example.net", "d.example.org", "xexample.com",
		"z.d.example.org", "org", "com",
	};
	static const struct {
		const char *text;
		bool public;
	} at[] = {
		{ "8.8.8.8", true }, { "8.8.8.9", true }, { "8.8.9.0", true }, { "8.7.255.255", true }, { "8.9.0.0", true },
		{ "10.0.0.0", false }, { "10.1.0.0", false }, { "10.1.255.255", false }, { "10.2.0.0", false },
		{ "10.127.255.255", false }, { "10.128.0.0", false }, { "11.0.0.0", true }, { "198.51.0.0", true },
		{ "198.51.100.1", false }, { "127.0.0.1", false }, { "169.254.169.254", false }, { "2606:4700::1", true },
		{ "fd00::1", false }, { "fd01::1", false }, { "::1", false },
	};
	static const uint16_t port[] = { 1, 2, 79, 80, 81, 82, 90, 91, 100, 101, 443, 8000, 8011, 65535 };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (size_t k = 0; k < sizeof at / sizeof *at; k++)
			for (unsigned m = 0; m < 5; m++) {
				struct name_point p = { .name = names[i], .public = at[k].public, .proto = (int)pick(seed, 2),
							.own = pick(seed, 2), .port = port[pick(seed, sizeof port / sizeof *port)] };
				const char *wrong;

				p.at.addr = parse_addr(at[k].text, strlen(at[k].text), &p.at.family);
				wrong = names_wrong_at(d, &p);
				if (wrong)
					return arena_printf(d->arena, "%s: %s at %s%s, %s port %u", wrong, p.name, at[k].text,
							    p.own ? ", the host's own" : "", p.proto ? "udp" : "tcp", p.port);
			}
	return NULL;
}

static bool compare_names(uint64_t *seed, unsigned *differing)
{
	char *old_text = random_names(seed), *new_text = random_names(seed);
	struct compile *old = resolve(old_text), *new = resolve(new_text);
	const char *wrong = old && new ? NULL : "resolved";
	struct diff d;

	if (!wrong) {
		diff_policies(&new->arena, old, new, &d);
		wrong = names_wrong_anywhere(&d, seed);
		*differing += d.found.n > 0;
	}
	if (wrong) {
		fprintf(stderr, "%s:\n--- old\n%s--- new\n%s", wrong, old_text, new_text);
		if (old && new)
			diff_print(&d, &(struct diff_names){ "old", "new", false }, false, stderr);
	}
	if (old && new)
		diff_end(&d);
	if (old)
		compile_end(old);
	if (new)
		compile_end(new);
	free(old_text);
	free(new_text);
	return !wrong;
}

static void test_names(void)
{
	uint64_t seed = 17;
	unsigned agreed = 0, differing = 0;

	while (agreed < NAME_PAIRS && compare_names(&seed, &differing))
		agreed++;
	check(agreed == NAME_PAIRS, "%u pairs of names agree with the rules at every name, address and port",
	      (unsigned)NAME_PAIRS);
	check(differing > NAME_PAIRS / 2, "most of the pairs differ (%u)", differing);
}

/* --- system calls -------------------------------------------------------------------------------- */

/* The entry about socket that goes a way, or NULL. */
static const struct diff_entry *about_socket(const struct diff *d, enum diff_way way)
{
	for (size_t i = 0; i < d->found.n; i++) {
		json_t *call = json_object_get(d->found.item[i].detail, "call");

		if (d->found.item[i].way == way && call && strcmp(json_string_value(call), "socket") == 0)
			return &d->found.item[i];
	}
	return NULL;
}

/* A filter that allows exactly what the report says; NULL if it says nothing, or not exactly. */
static struct compile *said(const struct diff_entry *e)
{
	json_t *condition = e ? json_object_get(e->detail, "condition") : NULL;
	char text[4096];

	if (!condition || json_is_null(condition))
		return NULL;
	snprintf(text, sizeof text, "filter f { allow socket%s%s%s }\n", *json_string_value(condition) ? "(" : "",
		 json_string_value(condition), *json_string_value(condition) ? ")" : "");
	return resolve(text);
}

struct calls {
	const struct compile *old, *new, *said[2];
	const struct diff_entry *entry[2];
};

static bool right_about(const struct calls *c, const struct seccomp_data *data)
{
	bool old = lets(c->old, data), new = lets(c->new, data);
	bool gone[2] = { new && !old, old && !new };

	for (int way = DIFF_GRANTED; way <= DIFF_REFUSED; way++) {
		if (gone[way] && !c->entry[way])
			return false;
		if (c->said[way] && lets(c->said[way], data) != gone[way])
			return false;
	}
	return true;
}

static bool right_everywhere(const struct calls *c)
{
	static const uint64_t domain[] = { 0, 1, 2, 3, 4, 6, 15, 16, 17, 18, 37, 38, 39, 0x100000002, UINT64_MAX };
	static const uint64_t type[] = { 0, 1, 2, 3, 0x800, 0x801, 0x802, 0xf, 0x11, UINT64_MAX };
	static const uint64_t protocol[] = { 0, 1, 5, 6, 7, 99, 100, 101, 0x7fffffff, 0x80000000, UINT64_MAX };

	for (size_t i = 0; i < sizeof domain / sizeof *domain; i++)
		for (size_t j = 0; j < sizeof type / sizeof *type; j++)
			for (size_t k = 0; k < sizeof protocol / sizeof *protocol; k++) {
				struct seccomp_data data = { .nr = 41, .arch = sys_arch_audit(SYS_X86_64),
							     .args = { domain[i], type[j], protocol[k] } };

				if (!right_about(c, &data))
					return false;
			}
	return true;
}

static bool compare_calls(uint64_t *seed, unsigned *exact, unsigned *claims)
{
	char *old_text = random_filter(seed), *new_text = random_filter(seed);
	struct compile *old = resolve(old_text), *new = resolve(new_text);
	struct calls c = { .old = old, .new = new };
	struct diff d;
	bool right;

	diff_policies(&new->arena, old, new, &d);
	for (int way = DIFF_GRANTED; way <= DIFF_REFUSED; way++) {
		c.entry[way] = about_socket(&d, (enum diff_way)way);
		c.said[way] = said(c.entry[way]);
		*claims += c.entry[way] != NULL;
		*exact += c.said[way] != NULL;
	}
	right = right_everywhere(&c);
	if (!right)
		fprintf(stderr, "--- old\n%s--- new\n%s", old_text, new_text);
	for (int way = DIFF_GRANTED; way <= DIFF_REFUSED; way++)
		if (c.said[way])
			compile_end((struct compile *)c.said[way]);
	diff_end(&d);
	compile_end(old);
	compile_end(new);
	free(old_text);
	free(new_text);
	return right;
}

static void test_calls(void)
{
	uint64_t seed = 11;
	unsigned agreed = 0, exact = 0, claims = 0;

	while (agreed < CALL_PAIRS && compare_calls(&seed, &exact, &claims))
		agreed++;
	check(agreed == CALL_PAIRS, "%u pairs of filters agree with the clauses on every argument", (unsigned)CALL_PAIRS);
	check(exact * 10 > claims * 9, "nearly all conditions are told exactly (%u of %u)", exact, claims);
}

/* --- files --------------------------------------------------------------------------------------- */

/* One that ends in a slash may be executed as a folder. */
static const char *const paths[] = {
	"/a", "/a/b", "/a/b/c", "/a/bc", "/d", "/usr/lib", "/usr/lib/x", "/usr", "./r", "./r/s", "workspace", "workspace/w",
};

static char *random_files(uint64_t *seed)
{
	struct arena a = { NULL };
	char *text = arena_printf(&a, "profile p {\n files {\n base %s\n", pick(seed, 2) ? "none" : "system"), *copy;
	unsigned n = pick(seed, 5);

	for (unsigned i = 0; i < n; i++) {
		const char *path = paths[pick(seed, sizeof paths / sizeof *paths)];
		const char *quote = strncmp(path, "workspace", 9) == 0 ? "" : "\"";

		text = arena_printf(&a, "%s%s %s%s%s\n", text, pick(seed, 3) ? "read" : "write", quote, path, quote);
		if (*quote && !pick(seed, 3))
			text = arena_printf(&a, "%sexecute \"%s%s\"\n", text, path, pick(seed, 2) ? "/" : "");
	}
	copy = strdup(arena_printf(&a, "%s }\n}\n", text));
	arena_free(&a);
	return copy;
}

/* What the policy says of one path, read from its rules. */
static bool may(const struct compile *c, const char *path, unsigned right)
{
	unsigned place = *path == '/' ? 0 : *path == '.' ? CAVE_FILE_RELATIVE : CAVE_FILE_WORKSPACE;
	const char *rest = place == CAVE_FILE_RELATIVE ? path + 2 : place ? path + strlen("workspace") : path;

	rest += place == CAVE_FILE_WORKSPACE && *rest == '/';
	for (size_t i = 0; i < c->policy.nfiles; i++) {
		const struct file_rule *f = &c->policy.file[i];
		size_t n = strlen(f->path);

		if ((f->flags & (CAVE_FILE_RELATIVE | CAVE_FILE_WORKSPACE)) != place ||
		    !(f->flags & right))
			continue;
		if (!n || (strncmp(rest, f->path, n) == 0 && rest[n] == '\0'))
			return true;
		if (strncmp(rest, f->path, n) == 0 && rest[n] == '/' &&
		    (right != CAVE_FILE_EXECUTE || f->flags & CAVE_FILE_FOLDER))
			return true;
	}
	return right == CAVE_FILE_READ && c->policy.base_files && strncmp(path, "/usr/lib", 8) == 0 &&
	       (!path[8] || path[8] == '/');
}

static bool gains(const struct compile *old, const struct compile *new, const char *path, unsigned right)
{
	return may(new, path, right) && !may(old, path, right);
}

static bool holds_string(json_t *list, const char *s)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (strcmp(json_string_value(item), s) == 0)
			return true;
	return false;
}

/* Does an entry about the path, or about one above it, say that this right is gained? */
static bool told(const struct diff *d, const char *path, unsigned right)
{
	for (size_t i = 0; i < d->found.n; i++) {
		const struct diff_entry *e = &d->found.item[i];
		json_t *of = json_object_get(e->detail, "path");
		const char *top = of ? json_string_value(of) : NULL;
		const char *access = of ? json_string_value(json_object_get(e->detail, "access")) : NULL;
		size_t n = top ? strlen(top) : 0;

		if (e->way == DIFF_GRANTED && right == CAVE_FILE_READ && strncmp(path, "/usr/lib", 8) == 0 &&
		    holds_string(json_object_get(e->detail, "paths"), "/usr/lib"))
			return true;
		if (e->way != DIFF_GRANTED || !top || strncmp(path, top, n) != 0 ||
		    (path[n] && path[n] != '/'))
			continue;
		if (right == CAVE_FILE_READ || (right == CAVE_FILE_WRITE && strstr(access, "write")) ||
		    (right == CAVE_FILE_EXECUTE && strstr(access, "execute")))
			return true;
	}
	return false;
}

/* What an entry says of its own path, or of what is beneath, is so. */
static bool is_so(const struct diff_entry *e, const struct compile *old, const struct compile *new)
{
	json_t *path = json_object_get(e->detail, "path");
	const char *access = path ? json_string_value(json_object_get(e->detail, "access")) : "";
	char within[64];
	unsigned right;

	if (e->way != DIFF_GRANTED || !path)
		return true;
	right = strstr(access, "write")	  ? CAVE_FILE_WRITE :
		strstr(access, "execute") ? CAVE_FILE_EXECUTE :
					    CAVE_FILE_READ;
	snprintf(within, sizeof within, "%s/within", json_string_value(path));
	return gains(old, new, json_string_value(path), right) || gains(old, new, within, right);
}

static bool right_about_files(const struct diff *d, const struct compile *old, const struct compile *new)
{
	static const char *const asked[] = { "/a", "/a/x", "/a/b", "/a/b/x", "/a/b/c", "/a/b/c/x", "/a/bc", "/a/bcd", "/d",
					     "/e", "/usr", "/usr/x", "/usr/lib", "/usr/lib/x", "/usr/lib/x/y", "/usr/libx",
					     "./r", "./r/s", "./r/s/t", "./q", "workspace", "workspace/w", "workspace/v" };
	static const unsigned rights[] = { CAVE_FILE_READ, CAVE_FILE_WRITE, CAVE_FILE_EXECUTE };
	bool right = true;

	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		for (size_t k = 0; k < 3; k++)
			right &= !gains(old, new, asked[i], rights[k]) || told(d, asked[i], rights[k]);
	for (size_t i = 0; i < d->found.n; i++)
		right &= is_so(&d->found.item[i], old, new);
	return right;
}

static bool compare_files(uint64_t *seed)
{
	char *old_text = random_files(seed), *new_text = random_files(seed);
	struct compile *old = resolve(old_text), *new = resolve(new_text);
	struct diff d;
	bool right;

	diff_policies(&new->arena, old, new, &d);
	right = right_about_files(&d, old, new);
	if (!right)
		fprintf(stderr, "--- old\n%s--- new\n%s", old_text, new_text);
	diff_end(&d);
	compile_end(old);
	compile_end(new);
	free(old_text);
	free(new_text);
	return right;
}

static void test_files(void)
{
	uint64_t seed = 13;
	unsigned agreed = 0;

	while (agreed < FILE_PAIRS && compare_files(&seed))
		agreed++;
	check(agreed == FILE_PAIRS, "%u pairs of file grants agree with the rules on every path", (unsigned)FILE_PAIRS);
}

int main(void)
{
	test_networks();
	test_names();
	test_calls();
	test_files();
	return unit_done();
}
