/* SPDX-License-Identifier: MIT */
/* The artefact's checks: sound ones open, damaged ones are refused with a sentence, none is read outside. */
#include "bpf/limits.h"
#include "tests/unit/artefact_build.h"
#include "tests/unit/unit.h"

static struct build_bytes sound_manifest, sound, damaged;

/* Opens a copy of exactly `size` bytes, so that a sanitizer sees any read past them. */
static bool opens(const void *data, size_t size, struct artefact_error *error)
{
	void *copy = malloc(size ? size : 1);
	struct artefact a;
	bool ok;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	*error = (struct artefact_error){ "" };
	ok = artefact_open(copy, size, &a, error);
	if (ok)
		build_walk(&a);
	free(copy);
	return ok;
}

static void opens_sound(bool egress)
{
	struct artefact a;
	struct artefact_error error = { "" };
	bool ok = artefact_open(sound.data, sound.size, &a, &error);

	check(ok, "a sound artefact opens: %s", error.text);
	if (!ok)
		return;
	check(a.filter[ARTEFACT_X86_64].n == 26 && a.filter[ARTEFACT_X86_64].npatches == 9 &&
		      !a.filter[ARTEFACT_AARCH64].n,
	      "its filter is there");
	check(!!a.program[CAVE_HOOK_CONNECT4].n == egress, "its programs are there if it has any");
	check(artefact_section(&a, "cave.policy") && !artefact_section(&a, "cave.nothing"),
	      "its sections have names");
}

static void truncated(void)
{
	struct artefact_error error;
	bool refused = true, said = true;

	for (size_t n = 0; n < sound.size; n++) {
		refused = refused && !opens(sound.data, n, &error);
		said = said && error.text[0];
	}
	check(refused && said, "refused when truncated at every length");
	refused = true;
	for (size_t n = CAVE_DIGEST_SIZE; n < sound.size; n++) {
		memcpy(damaged.data, sound.data, n);
		damaged.size = n;
		build_seal_digest(&damaged);
		refused = refused && !opens(damaged.data, n, &error);
	}
	check(refused, "refused when truncated and given a right digest");
}

static void flipped(void)
{
	struct artefact_error error;
	bool refused = true, said = true;

	for (size_t i = 0; i < sound.size; i++) {
		for (unsigned bits = 1; bits < 0x100; bits = bits << 2 | 1) {
			damaged = sound;
			damaged.data[i] ^= (uint8_t)bits;
			refused = refused && !opens(damaged.data, damaged.size, &error);
			said = said && error.text[0];
		}
	}
	check(refused && said, "refused with any byte flipped");
}

/* With the digest corrected only what changes no meaning may pass: spare fields of headers, padding. */
static void flipped_and_sealed(void)
{
	struct artefact_error error;
	size_t accepted = 0;
	bool part_refused = true;

	for (size_t i = 0; i < sound.size - CAVE_DIGEST_SIZE; i++) {
		size_t size;
		uint8_t *manifest = build_find(&sound, "cave.manifest", &size);
		bool in_manifest = sound.data + i >= manifest && sound.data + i < manifest + size;

		damaged = sound;
		damaged.data[i] ^= 0xff;
		build_seal_digest(&damaged);
		if (!opens(damaged.data, damaged.size, &error))
			continue;
		accepted++;
		part_refused = part_refused && !in_manifest;
	}
	check(part_refused, "a manifest changed under a right digest is refused");
	check(accepted < sound.size / 3, "few bytes are free (%zu of %zu)", accepted, sound.size);
}

/* With the identity corrected as well: whatever is accepted can be read whole. */
static void flipped_and_identified(void)
{
	static const char *const parts[] = { "cave.manifest", "cave.seccomp.x86_64", "cave.policy",
					     "cgroup/connect4" };
	struct artefact_error error;
	size_t tried = 0;

	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		size_t size, at;
		uint8_t *part = build_find(&sound, parts[p], &size);

		for (size_t i = 0; part && i < size * 8; i++) {
			at = (size_t)(part - sound.data) + i / 8;
			damaged = sound;
			damaged.data[at] ^= (uint8_t)(1u << i % 8);
			build_seal(&damaged);
			opens(damaged.data, damaged.size, &error);
			tried++;
		}
	}
	check(tried > 1000, "read whole with %zu bits flipped and everything sealed", tried);
}

/* --- single faults -------------------------------------------------------------------------------- */

static void expect_refused(const char *what, const struct build_bytes *file, const char *text)
{
	struct artefact_error error;
	bool ok = opens(file->data, file->size, &error);

	check(!ok && strstr(error.text, text), "refused: %s (%s)", what, ok ? "opened" : error.text);
}

/* A manifest with `requires` and one record more or less than a sound one has. */
static struct build_bytes begin(unsigned requires)
{
	struct build_bytes m;

	build_manifest_begin(&m, requires);
	build_text(&m, CAVE_RECORD_NAME, 0, "test");
	return m;
}

static void finish(struct build_bytes *m, const char *what, const char *text)
{
	build_filter_record(m, build_patches, sizeof build_patches / sizeof *build_patches);
	build_manifest_end(m);
	build_around(m, false, &damaged);
	expect_refused(what, &damaged, text);
}

static void one_record(const char *what, unsigned type, unsigned flags, const char *payload, size_t n,
		       const char *text)
{
	struct build_bytes m = begin(0);

	build_record(&m, type, flags, payload, n);
	finish(&m, what, text);
}

static void bad_records(void)
{
	one_record("an unknown type", 99, 0, "x", 1, "unknown record type 99");
	one_record("a second name", CAVE_RECORD_NAME, 0, "x", 1, "is no name");
	one_record("a variable with a digit", CAVE_RECORD_ENV_PASS, 0, "1A", 2, "names no variable");
	one_record("a variable with =", CAVE_RECORD_CREDENTIAL, 0, "A=B", 3, "names no variable");
	one_record("a variable with NUL", CAVE_RECORD_CREDENTIAL, 0, "A\0B", 3, "names no variable");
	one_record("an empty variable", CAVE_RECORD_ENV_PASS, 0, "", 0, "names no variable");
	one_record("flags on a credential", CAVE_RECORD_CREDENTIAL, 1, "A", 1, "unknown flags");
	one_record("a set without value", CAVE_RECORD_ENV_SET, 0, "A", 1, "holds no value");
	one_record("a value with NUL", CAVE_RECORD_ENV_SET, 0, "A\0b\0c", 5, "holds no value");
	one_record("a value with a newline", CAVE_RECORD_ENV_SET, 0, "A\0b\nc", 5, "holds no value");
	one_record("a workspace byte unflagged", CAVE_RECORD_ENV_SET, 0, "A\0\001", 3, "holds no value");
	one_record("a path with NUL", CAVE_RECORD_FILE, 1, "/a\0b", 4, "holds no path");
	one_record("a path with a newline", CAVE_RECORD_FILE, 1, "/a\nb", 4, "holds no path");
	one_record("a path that goes up", CAVE_RECORD_FILE, 1, "/a/../b", 7, "has a '..'");
	one_record("at its end", CAVE_RECORD_FILE, 1, "/proc/self/..", 13, "has a '..'");
	one_record("at its beginning", CAVE_RECORD_FILE, 9, "../a", 4, "has a '..'");
	one_record("write without read", CAVE_RECORD_FILE, CAVE_FILE_WRITE, "/a", 2, "flags 0x2");
	one_record("execute without read", CAVE_RECORD_FILE, CAVE_FILE_EXECUTE, "/a", 2, "flags 0x40");
	one_record("a folder that is not executed", CAVE_RECORD_FILE, CAVE_FILE_READ | CAVE_FILE_FOLDER, "/a", 2,
		   "flags 0x1001");
	one_record("an unknown file flag", CAVE_RECORD_FILE, 0x8001, "/a", 2, "flags 0x8001");
	one_record("a relative path unflagged", CAVE_RECORD_FILE, 1, "a", 1, "disagree");
	one_record("an absolute path flagged relative", CAVE_RECORD_FILE, 9, "/a", 2, "disagree");
	one_record("two bases", CAVE_RECORD_FILE, 0x19, "a", 1, "two bases");
	one_record("an empty path", CAVE_RECORD_FILE, 1, "", 0, "disagree");
	one_record("a denial that reads", CAVE_RECORD_FILE, CAVE_FILE_DENY | CAVE_FILE_READ, "/a", 2, "flags 0x81");
	one_record("a grant that denies writing", CAVE_RECORD_FILE, CAVE_FILE_READ | CAVE_FILE_ONLY_WRITE, "/a", 2,
		   "flags 0x2001");
	one_record("a denial in system", CAVE_RECORD_FILE, CAVE_FILE_DENY | CAVE_FILE_SYSTEM, "/a", 2, "flags 0xa0");
	one_record("a private shm that is read only", CAVE_RECORD_FILE, CAVE_FILE_SHM | CAVE_FILE_READ, "", 0,
		   "flags 0x401");
	one_record("a path in a private shm", CAVE_RECORD_FILE, CAVE_FILE_SHM | 3, "a", 1, "disagree");
	one_record("home and tmp", CAVE_RECORD_FILE, CAVE_FILE_HOME | CAVE_FILE_TMP | 1, "a", 1, "two bases");
	one_record("a slot in system", CAVE_RECORD_FILE, CAVE_FILE_SLOT | CAVE_FILE_SYSTEM | 1, "in", 2, "two bases");
	one_record("a slot without a name", CAVE_RECORD_FILE, CAVE_FILE_SLOT | 1, "", 0, "disagree");
	one_record("a slot with a strange name", CAVE_RECORD_FILE, CAVE_FILE_SLOT | 1, "i n/a", 5, "disagree");
	one_record("a slot with an absolute path", CAVE_RECORD_FILE, CAVE_FILE_SLOT | 1, "/in", 3, "disagree");
	one_record("a slot that goes up", CAVE_RECORD_FILE, CAVE_FILE_SLOT | 1, "in/..", 5, "has a '..'");
	one_record("a place unflagged", CAVE_RECORD_ENV_SET, 0, "A\0\002", 3, "holds no value");
	one_record("a slot unflagged", CAVE_RECORD_ENV_SET, 0, "A\0\004in\004", 6, "holds no value");
	one_record("an open slot", CAVE_RECORD_ENV_SET, CAVE_ENV_PLACES, "A\0\004in", 5, "holds no value");
	one_record("an empty slot", CAVE_RECORD_ENV_SET, CAVE_ENV_PLACES, "A\0\004\004", 4, "holds no value");
	one_record("a slot with a strange name in a value", CAVE_RECORD_ENV_SET, CAVE_ENV_PLACES, "A\0\004i/\004", 6,
		   "holds no value");
	one_record("another control byte", CAVE_RECORD_ENV_SET, CAVE_ENV_PLACES, "A\0\005", 3, "holds no value");
	one_record("a short filter record", CAVE_RECORD_FILTER, 0, "abc", 3, "describes no filter");
}

static void bad_manifests(void)
{
	struct build_bytes m;

	m = begin(0x80);
	finish(&m, "an unknown requirement", "unknown requirements");
	m = begin(CAVE_REQUIRE_EGRESS);
	finish(&m, "egress without programs", "missing");
	m = begin(0);
	build_text(&m, CAVE_RECORD_ENV_PASS, 0, "A");
	build_text(&m, CAVE_RECORD_CREDENTIAL, 0, "B");
	finish(&m, "records out of order", "out of order");
	m = begin(0);
	build_text(&m, CAVE_RECORD_CREDENTIAL, 0, "A");
	build_record(&m, CAVE_RECORD_ENV_SET, 0, "A\0b", 3);
	finish(&m, "a variable granted twice", "twice");
	m = begin(0);
	for (unsigned i = 0; i < ARTEFACT_ENV_MAX + 1; i++) {
		char name[16];

		snprintf(name, sizeof name, "V%u", i);
		build_text(&m, CAVE_RECORD_ENV_PASS, 0, name);
	}
	finish(&m, "more variables than the cap", "more than");
	build_manifest_begin(&m, 0);
	finish(&m, "no name", "no name");
	m = begin(0);
	build_manifest_end(&m);
	build_around(&m, false, &damaged);
	expect_refused("a filter that no record completes", &damaged, "does not mention");
}

/* A record that comes after the filter's. */
static void one_after(const char *what, unsigned type, unsigned flags, const void *payload, size_t n, const char *text)
{
	struct build_bytes m = begin(0);
	struct artefact_error error;

	build_filter_record(&m, build_patches, sizeof build_patches / sizeof *build_patches);
	build_record(&m, type, flags, payload, n);
	build_manifest_end(&m);
	build_around(&m, false, &damaged);
	if (text)
		expect_refused(what, &damaged, text);
	else
		check(opens(damaged.data, damaged.size, &error), "taken: %s (%s)", what, error.text);
}

static void limits_and_children(void)
{
	struct cave_limits limits = limits_standard();
	struct cave_children children = { 0, 0 };

	one_after("limits", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits, NULL);
	one_after("flags on limits", CAVE_RECORD_LIMITS, 1, &limits, sizeof limits, "holds no limits");
	one_after("a limit too few", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits - 8, "holds no limits");
	one_after("no limits", CAVE_RECORD_LIMITS, 0, &limits, 0, "holds no limits");
	for (unsigned i = 0; i < CAVE_LIMITS; i++) {
		limits = limits_standard();
		limits.value[i] = limit_table[i].max;
		one_after("the most", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits, NULL);
		limits.value[i] += limit_table[i].multiple;
		one_after("more than the most", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits, "is none");
		limits.value[i] = UINT64_MAX;
		one_after("all bits", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits, "is none");
		limits.value[i] = limit_table[i].min - 1;
		one_after("less than the least", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits,
			  limit_table[i].min == 1 ? NULL : "is none");
	}
	limits = limits_standard();
	limits.value[CAVE_LIMIT_MEMORY] = limit_table[CAVE_LIMIT_MEMORY].min + 1;
	one_after("half a page", CAVE_RECORD_LIMITS, 0, &limits, sizeof limits, "is none");
	one_after("children of a filter with one exec", CAVE_RECORD_CHILDREN, 0, &children, sizeof children,
		  "6 patches for its own execve");
	one_after("flags on children", CAVE_RECORD_CHILDREN, 2, &children, sizeof children, "describes no children");
	one_after("children cut short", CAVE_RECORD_CHILDREN, 0, &children, 4, "describes no children");
	children.max = CAVE_CHILDREN_MAX + 1;
	one_after("too many children", CAVE_RECORD_CHILDREN, 0, &children, sizeof children, "4097 children");
	children = (struct cave_children){ 1, 1 };
	one_after("a reserved bit", CAVE_RECORD_CHILDREN, 0, &children, sizeof children, "1 children");
}

/* Places of name servers in programs that have none. */
static void one_place(const char *what, unsigned flags, const struct cave_resolver_patch *place, size_t n,
		      const char *text)
{
	struct build_bytes m = begin(CAVE_REQUIRE_EGRESS);

	build_filter_record(&m, build_patches, sizeof build_patches / sizeof *build_patches);
	for (unsigned i = 0; i < CAVE_HOOK_NAMES; i++)
		build_text(&m, CAVE_RECORD_PROGRAM, 0, artefact_hook_name(i));
	build_record(&m, CAVE_RECORD_RESOLVER, flags, (const char *)place, n);
	build_record(&m, CAVE_RECORD_REACH, 0, &(struct cave_reach){ 0, 0 }, sizeof(struct cave_reach));
	build_manifest_end(&m);
	build_around(&m, true, &damaged);
	expect_refused(what, &damaged, text);
}

/* How much of the world: with a network exactly one, without none. */
static void one_reach(const char *what, bool egress, unsigned n, unsigned flags, size_t size, const char *text)
{
	static const char payload[32];
	struct build_bytes m = begin(egress ? CAVE_REQUIRE_EGRESS : 0);

	build_filter_record(&m, build_patches, sizeof build_patches / sizeof *build_patches);
	for (unsigned i = 0; egress && i < CAVE_HOOK_NAMES; i++)
		build_text(&m, CAVE_RECORD_PROGRAM, 0, artefact_hook_name(i));
	while (n--)
		build_record(&m, CAVE_RECORD_REACH, flags, payload, size);
	build_manifest_end(&m);
	build_around(&m, egress, &damaged);
	expect_refused(what, &damaged, text);
}

static void bad_reaches(void)
{
	one_reach("a network without its reach", true, 0, 0, 0, "a reach is missing");
	one_reach("a reach without a network", false, 1, 0, 16, "there without a network");
	one_reach("two reaches", true, 2, 0, 16, "is no reach");
	one_reach("a reach with flags", true, 1, 1, 16, "is no reach");
	one_reach("half a reach", true, 1, 0, 8, "is no reach");
	one_reach("a longer reach", true, 1, 0, 24, "is no reach");
}

static void bad_places(void)
{
	static const struct cave_resolver_patch sound_place = { 0, 0, 0, 0 };
	struct cave_resolver_patch p = sound_place;

	one_place("no place of a name server", 0, &p, 0, "holds no places");
	one_place("half a place", 0, &p, 8, "holds no places");
	one_place("a place with flags", 1, &p, sizeof p, "holds no places");
	one_place("a place that is no comparison", 0, &p, sizeof p, "place 0");
	p = (struct cave_resolver_patch){ .hook = CAVE_HOOK_COUNT };
	one_place("a place in no program", 0, &p, sizeof p, "place 0");
	p = (struct cave_resolver_patch){ .insn = UINT32_MAX };
	one_place("a place outside of its program", 0, &p, sizeof p, "place 0");
	p = (struct cave_resolver_patch){ .slot = CAVE_RESOLVERS };
	one_place("a place for a fourth name server", 0, &p, sizeof p, "place 0");
	p = (struct cave_resolver_patch){ .field = CAVE_RESOLVER_FIELDS };
	one_place("a place for an unknown field", 0, &p, sizeof p, "place 0");
}

/* A manifest that names nested profiles, whose identity is that of `sound`. */
static struct build_bytes naming(const char *const *name, size_t n)
{
	struct build_bytes m = begin(0);
	struct artefact_error error;
	struct artefact a;

	if (!artefact_open(sound.data, sound.size, &a, &error))
		abort();
	build_filter_record(&m, build_patches, sizeof build_patches / sizeof *build_patches);
	for (size_t i = 0; i < n; i++) {
		char payload[CAVE_DIGEST_SIZE + 64];

		memcpy(payload, a.identity, CAVE_DIGEST_SIZE);
		memcpy(payload + CAVE_DIGEST_SIZE, name[i], strlen(name[i]));
		build_record(&m, CAVE_RECORD_PROFILE, 0, payload, CAVE_DIGEST_SIZE + strlen(name[i]));
	}
	build_manifest_end(&m);
	return m;
}

static void one_nested(const char *what, const char *const *name, size_t n, const char *text)
{
	struct build_bytes m = naming(name, n);

	build_with(&m, false, "cave.profile.inner", sound.data, sound.size, &damaged);
	expect_refused(what, &damaged, text);
}

/* Opens the profile of that name within `damaged`, of which every byte is checked. */
static bool opens_nested(const char *name, struct artefact_error *error)
{
	struct artefact outer, inner;
	bool ok = artefact_open(damaged.data, damaged.size, &outer, error);

	if (!check(ok, "the artefact around it opens: %s", error->text))
		return false;
	ok = artefact_nested(&outer, name, &inner, error);
	if (ok) {
		build_walk(&inner);
		check(inner.around == outer.identity, "it knows what it is nested in");
	}
	return ok;
}

static void nested_within(const char *what, const struct build_bytes *inner, const char *text)
{
	static const char *const names[] = { "inner" };
	struct build_bytes m = naming(names, 1);
	struct artefact_error error;

	build_with(&m, false, "cave.profile.inner", inner->data, inner->size, &damaged);
	check(!opens_nested("inner", &error) && strstr(error.text, text), "refused: %s: %s", what, error.text);
}

static void nested(void)
{
	static const char *const one[] = { "inner" }, *const other[] = { "other" }, *const twice[] = { "inner", "inner" };
	static const char *const none[] = { "" }, *const control[] = { "in\nner" };
	static struct build_bytes inner;
	struct build_bytes m = naming(one, 1), plain;
	struct artefact_error error;

	build_with(&m, false, "cave.profile.inner", sound.data, sound.size, &damaged);
	check(opens_nested("inner", &error), "a nested profile opens: %s", error.text);
	check(!opens_nested("inne", &error) && !error.text[0], "there is none of a shorter name");
	check(!opens_nested("inner2", &error) && !error.text[0], "there is none of a longer name");
	inner = damaged;
	nested_within("a nested profile with nested ones", &inner, "is not the one");
	plain = begin(0);
	build_filter_record(&plain, build_patches, sizeof build_patches / sizeof *build_patches);
	build_manifest_end(&plain);
	build_around(&plain, false, &inner);
	nested_within("another artefact than the one that is named", &inner, "is not the one");
	inner = sound;
	inner.data[inner.size / 2] ^= 1;
	nested_within("a damaged nested profile", &inner, "digest");
	inner = sound;
	inner.size -= 8;
	nested_within("a nested profile that is cut off", &inner, "");
	inner.size = 0;
	nested_within("an empty one", &inner, "");
	one_nested("a nested profile without its section", other, 1, "no section for the nested profile");
	one_nested("one name twice", twice, 2, "out of order, or twice");
	one_nested("a nested profile without a name", none, 1, "is no nested profile");
	one_nested("a name with a newline", control, 1, "is no nested profile");
	m = begin(0);
	build_filter_record(&m, build_patches, sizeof build_patches / sizeof *build_patches);
	build_record(&m, CAVE_RECORD_PROFILE, 0, "0123456789", 10);
	build_manifest_end(&m);
	build_around(&m, false, &damaged);
	expect_refused("half an identity", &damaged, "is no nested profile");
}

#define CALL_FUNCTION(imm_) { .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = (imm_) }
#define RETURN(imm_) { .code = BPF_ALU | BPF_MOV | BPF_K, .imm = (imm_) }, { .code = BPF_JMP | BPF_EXIT }

/* Programs that call what is in .text. */
static void build_calls(const struct bpf_insn *program, size_t n, const struct bpf_insn *text, size_t ntext)
{
	struct build_bytes m = { .size = 0 };

	build_manifest(&m, true);
	build_program = program;
	build_program_size = n * sizeof *program;
	build_with(&m, true, ntext ? CAVE_FUNCTIONS : NULL, text, ntext * sizeof *text, &damaged);
	build_program = NULL;
}

static void calls(void)
{
	static const struct bpf_insn text[] = { RETURN(1), RETURN(2), RETURN(3), CALL_FUNCTION(-1) };
	static const struct bpf_insn program[] = { CALL_FUNCTION(3), CALL_FUNCTION(-1), CALL_FUNCTION(3),
						   { .code = BPF_JMP | BPF_EXIT } };
	static const struct bpf_insn late[] = { CALL_FUNCTION(1), { .code = BPF_JMP | BPF_EXIT } };
	struct bpf_insn out[8], far[] = { CALL_FUNCTION(5), { .code = BPF_JMP | BPF_EXIT } }, many[20];
	static struct bpf_insn long_text[20];
	struct artefact_whole whole;
	struct artefact_error error;
	struct artefact a;

	build_calls(program, 4, text, 6);
	if (check(artefact_open(damaged.data, damaged.size, &a, &error), "functions open: %s", error.text)) {
		build_walk(&a);
		artefact_whole(&a, CAVE_HOOK_BIND4, &whole);
		check(whole.n == 10 && whole.npieces == 3, "the functions that are called come behind the program");
		check(whole.piece[1].from == 0 && whole.piece[1].n == 4 && whole.piece[1].at == 4 &&
			      whole.piece[2].from == 4 && whole.piece[2].n == 2 && whole.piece[2].at == 8,
		      "each where it begins, up to the next one");
	}
	build_calls(late + 0, 2, text, 4);
	expect_refused("a section whose beginning nobody calls", &damaged, "does not begin with a function");
	build_calls(program, 4, NULL, 0);
	expect_refused("calls without functions", &damaged, "calls no function");
	build_calls(far, 2, text, 5);
	expect_refused("a call behind the functions", &damaged, "calls no function");
	far[0].imm = -2;
	build_calls(far, 2, text, 6);
	expect_refused("a call before the functions", &damaged, "calls no function");
	far[0].imm = INT32_MAX;
	build_calls(far, 2, text, 6);
	expect_refused("a call to where no number leads", &damaged, "calls no function");
	far[0].imm = -1;
	build_calls(far, 2, text, 7);
	expect_refused("a function that calls one", &damaged, "calls no helper");
	memcpy(out, program, sizeof program);
	out[2].src_reg = BPF_PSEUDO_KFUNC_CALL;
	build_calls(out, 4, text, 6);
	expect_refused("a call of the kernel's functions", &damaged, "calls no helper");
	build_calls(program + 3, 1, text, 6);
	expect_refused("functions that nobody calls", &damaged, "does not begin with a function");
	for (int i = 0; i < 20; i++) {
		const struct bpf_insn exit = { .code = BPF_JMP | BPF_EXIT }, call = CALL_FUNCTION(i - 1);

		long_text[i] = exit;
		many[i] = i < 19 ? call : exit;
	}
	build_calls(many, 20, long_text, 20);
	expect_refused("more functions than there may be", &damaged, "calls no function");
	build_calls(program, 4, text, 6);
	artefact_open(damaged.data, damaged.size, &a, &error);
	artefact_whole(&a, CAVE_HOOK_EGRESS, &whole);
	if (check(whole.n <= 10, "a program is as long as its pieces")) {
		struct bpf_insn *insn = malloc(whole.n * sizeof *insn);

		artefact_link(&a, CAVE_HOOK_EGRESS, &whole, insn);
		check(insn[0].imm == 7 && insn[1].imm == 2 && insn[2].imm == 5, "calls lead to where the functions stand");
		memcpy(out, insn + 4, 6 * sizeof *out);
		check(!memcmp(out, text, 6 * sizeof *out), "which are as they were");
		free(insn);
	}
}

static void one_patch(const char *what, size_t at, struct cave_patch patch, const char *text)
{
	struct cave_patch patches[sizeof build_patches / sizeof *build_patches];
	struct build_bytes m = begin(0);

	memcpy(patches, build_patches, sizeof patches);
	patches[at] = patch;
	build_filter_record(&m, patches, sizeof patches / sizeof *patches);
	build_manifest_end(&m);
	build_around(&m, false, &damaged);
	expect_refused(what, &damaged, text);
}

static void bad_patches(void)
{
	one_patch("a patch of unknown kind", 0, (struct cave_patch){ 8, 9 }, "unknown kind");
	one_patch("a patch outside", 8, (struct cave_patch){ 26, CAVE_PATCH_EXEC_5 }, "misplaced");
	one_patch("patches out of order", 1, (struct cave_patch){ 8, CAVE_PATCH_RET_SIGNAL },
		  "misplaced");
	one_patch("a patch on a load", 3, (struct cave_patch){ 12, CAVE_PATCH_EXEC_0 }, "cannot be");
	one_patch("a comparison patched as a return", 0,
		  (struct cave_patch){ 8, CAVE_PATCH_RET_METADATA }, "cannot be");
	one_patch("a patch on a constant", 0, (struct cave_patch){ 4, CAVE_PATCH_SELF }, "cannot be");
	one_patch("an exec patch missing", 8, (struct cave_patch){ 23, CAVE_PATCH_SELF }, "5 patches for its own execve");
	one_patch("an exec patch twice", 8, (struct cave_patch){ 23, CAVE_PATCH_EXEC_0 }, "twice");
	one_patch("a return patch twice", 2, (struct cave_patch){ 10, CAVE_PATCH_RET_SIGNAL }, "twice");
}

static void one_insn(const char *what, size_t at, struct sock_filter insn)
{
	size_t size;
	uint8_t *filter;

	damaged = sound;
	filter = build_find(&damaged, "cave.seccomp.x86_64", &size);
	memcpy(filter + at * sizeof insn, &insn, sizeof insn);
	build_seal(&damaged);
	expect_refused(what, &damaged, "not one that the kernel takes");
}

static void bad_filters(void)
{
	one_insn("an unknown opcode", 3, (struct sock_filter){ 0xffff, 0, 0, 0 });
	one_insn("a jump past the end", 4, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 21, 0));
	one_insn("a far jump", 4, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffff, 0, 0));
	one_insn("an unaligned load", 3, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2));
	one_insn("a load outside", 3, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64));
	one_insn("no return at the end", 25, (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0));
}

/* A file whose sections are a sound one's, but for one that is left out, renamed or given another size. */
static void one_section(const char *what, const char *name, const char *as, size_t size, const char *text)
{
	static const char *const names[] = { "cave.seccomp.x86_64", "cave.policy", "cave.manifest",
					     "cave.identity" };
	struct build_file f = { .n = 0 };

	for (size_t i = 0; i < 4; i++) {
		size_t whole;
		const uint8_t *data = build_find(&sound, names[i], &whole);

		if (strcmp(names[i], name))
			build_section(&f, names[i], data, whole);
		else if (as)
			build_section(&f, as, data, size ? size : whole);
	}
	build_write(&f, &damaged);
	expect_refused(what, &damaged, text);
}

static void bad_sections(void)
{
	one_section("no manifest", "cave.manifest", NULL, 0, "no section cave.manifest");
	one_section("no policy", "cave.policy", NULL, 0, "no section cave.policy");
	one_section("no identity", "cave.identity", NULL, 0, "no section cave.identity");
	one_section("no filter", "cave.seccomp.x86_64", NULL, 0, "no section cave.seccomp.x86_64");
	one_section("two sections of one name", "cave.policy", "cave.manifest", 0, "two sections");
	one_section("a section without name", "cave.policy", "", 0, "no name");
	one_section("a manifest cut short", "cave.manifest", "cave.manifest", 16, "and says");
	one_section("a filter of odd size", "cave.seccomp.x86_64", "cave.seccomp.x86_64", 9, "cannot be");
	one_section("a program without network", "cave.policy", "cgroup/bind4", 0, "no section");
}

static void bad_headers(void)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;

	memcpy(&h, sound.data, sizeof h);
	damaged = sound;
	memcpy(&s, sound.data + h.e_shoff + sizeof s, sizeof s);
	s.sh_size = UINT64_MAX - s.sh_offset + 1;
	memcpy(damaged.data + h.e_shoff + sizeof s, &s, sizeof s);
	build_seal_digest(&damaged);
	expect_refused("a section size that wraps", &damaged, "outside");
	damaged = sound;
	memcpy(&s, sound.data + h.e_shoff + sizeof s, sizeof s);
	s.sh_offset = 0;
	memcpy(damaged.data + h.e_shoff + sizeof s, &s, sizeof s);
	build_seal_digest(&damaged);
	expect_refused("a section over the header", &damaged, "overlaps");
	damaged = sound;
	h.e_shoff = UINT64_MAX - 7;
	memcpy(damaged.data, &h, sizeof h);
	build_seal_digest(&damaged);
	expect_refused("section headers that wrap", &damaged, "outside");
}

int main(void)
{
	build_manifest(&sound_manifest, true);
	build_around(&sound_manifest, true, &sound);
	opens_sound(true);
	build_manifest(&sound_manifest, false);
	build_around(&sound_manifest, false, &sound);
	opens_sound(false);
	truncated();
	flipped();
	flipped_and_sealed();
	flipped_and_identified();
	bad_records();
	bad_manifests();
	calls();
	bad_patches();
	bad_places();
	limits_and_children();
	bad_reaches();
	nested();
	bad_filters();
	bad_sections();
	bad_headers();
	return unit_done();
}
