/* SPDX-License-Identifier: MIT */
/*
 * Every way that a call's arguments can be told apart by a filter or by rules: one input for each, so that a filter can
 * be judged on all of them.  Used by the proof and by expectations; nothing here knows how a filter was made.
 */
#ifndef CAVE_COMPILER_SYSCALLS_POINTS_H
#define CAVE_COMPILER_SYSCALLS_POINTS_H

#include <linux/seccomp.h>

#include "bpf/program.h"
#include "bpf/vm.h"
#include "compiler/syscalls_data.h"

/*
 * What the runtime would put into the patches.  The returns get answers that nothing else gives, so
 * that the proof can tell them apart.
 */
enum {
	SAMPLE_SELF = 0x01234567,
	SAMPLE_METADATA = SECCOMP_RET_ERRNO | 0xe01,
	SAMPLE_SIGNAL = SECCOMP_RET_ERRNO | 0xe02,
};

extern const uint32_t sample_token[6];

/* A filter completed with the samples. */
struct filter_view {
	struct arena *arena;
	uint32_t arch; /* AUDIT_ARCH_* */
	struct sock_filter *insn;
	size_t n;
	uint32_t *seen; /* room for following the filter, one for each instruction */
};

/* Returns NULL, or what is wrong with the filter or its patches. */
const char *filter_view(struct arena *a, uint32_t arch, const struct filter_program *f, struct filter_view *out);

/*
 * Arguments are taken as 32-bit words, low half first.  A mark is a value of the bits `mask` of a
 * word from which on an answer may be another: because a rule says so, or because the filter
 * compares with it on the way of this call. Between two marks of a whole word neither the policy
 * nor the filter can tell values apart, so one of them stands for all.
 */
enum { WORDS = 2 * SYS_ARGS };

struct mark {
	uint32_t mask, value;
};

struct marks {
	struct mark *item;
	size_t n, cap;
};

struct values {
	uint32_t *item;
	size_t n, cap;
};

/* Adds the marks of a test, and of every comparison that the filter makes on the way of call `nr`. */
void points_of_test(const struct filter_view *p, const struct sys_test *t, struct marks m[WORDS]);
void points_of_filter(const struct filter_view *p, uint32_t nr, struct marks m[WORDS]);

/*
 * What to try for a word: each mask's values crossed with the others', on zeros and on ones; the whole ones as is.
 * Incomplete if that is more than explore() takes.
 */
struct values word_values(const struct filter_view *p, const struct marks *m);
void add_value(const struct filter_view *p, struct values *v, uint32_t value);

void set_word(struct seccomp_data *data, unsigned word, uint32_t value);

/* Bit of a half of an argument in a set of words of struct seccomp_data; half 0 is the low one. */
uint32_t word_of(unsigned arg, unsigned half);

/* Whether a conditional jump is taken with `v` in the accumulator. */
bool jump_taken(const struct sock_filter *f, uint32_t v);

/* Whether the test holds; adds to *looked the words that this depends on. */
bool test_holds(const struct sys_test *t, const struct seccomp_data *data, uint32_t *looked);

/*
 * Judges a call on every combination of values that can matter: a word is only varied where the judgement looked at it,
 * so what is not looked at costs nothing, and nothing is left out.
 */
struct explorer {
	const struct filter_view *filter;
	/* Returns false to end the search; adds to *looked the words that the judgement depends on. */
	bool (*judge)(const void *context, const struct seccomp_data *data, uint32_t *looked);
	const void *context;
	struct values values[WORDS];
	struct seccomp_data data; /* what was judged last */
	size_t runs;
	bool too_many;
};

/* True if every judgement was; false if one was not, or (too_many) if there would be too many. */
bool explore(struct explorer *e, uint32_t nr, const struct marks marks[WORDS]);

#endif
