/* SPDX-License-Identifier: MIT */
/*
 * A filter, and rules, followed for sets of inputs instead of one input after the other.
 *
 * A region is a set of inputs: what is known of each word of struct seccomp_data.  The filter is followed with all
 * inputs at once; where a comparison can go both ways the region is parted, so that each return is reached with the
 * region of exactly the inputs that get its answer.  There, clauses are read in the same manner.  Nothing is sampled:
 * every input of the 2^512 lies in one of the regions.  Nothing here knows how a filter was made.
 */
#ifndef CAVE_COMPILER_SYSCALLS_REGIONS_H
#define CAVE_COMPILER_SYSCALLS_REGIONS_H

#include <linux/seccomp.h>

#include "bpf/program.h"
#include "bpf/vm.h"

/*
 * What the runtime would put into the patches.  The returns get answers that nothing else gives, so
 * that the proof can tell them apart.
 */
enum {
	SAMPLE_SELF = 0x01234567,
	SAMPLE_METADATA = SECCOMP_RET_ERRNO | 0xe01,
	SAMPLE_SIGNAL = SECCOMP_RET_ERRNO | 0xe02,
};

enum { TOKEN_WORDS = 6 };

extern const uint32_t sample_token[TOKEN_WORDS];

/* A filter completed with the samples. */
struct filter_view {
	struct sock_filter *insn;
	size_t n;
};

/* Returns NULL, or what is wrong with the filter or its patches. */
const char *filter_view(struct arena *a, const struct filter_program *f, struct filter_view *out);

/* The 32-bit words of struct seccomp_data, in its order; of an argument the low half comes first. */
enum {
	WORD_NUMBER = 0,
	WORD_ARCH = 1,
	WORD_ARGUMENTS = 4,
	WORD_TOKEN = WORD_ARGUMENTS + 6, /* arguments 3 to 5 */
	WORDS = sizeof(struct seccomp_data) / sizeof(uint32_t),
};

/* Bit of a half of an argument in a set of words; half 0 is the low one. */
static inline uint32_t word_of(unsigned arg, unsigned half)
{
	return 1u << (WORD_ARGUMENTS + 2 * arg + half);
}

/* The bits `mask` of a word are, as a number, from `lo` to `hi`. */
struct fact {
	const struct fact *next; /* about other bits of the word; it holds besides this one */
	const struct fact *before; /* what was known before this one was added */
	uint32_t mask, lo, hi;
	uint32_t known, value; /* the bits of the word that all facts so far leave one value, and these */
};

struct region {
	const struct fact *word[WORDS];
};

struct judge {
	const struct filter_view *filter;
	struct region region;
	size_t parts; /* how often a region was parted */
	bool too_many; /* it was too often: nothing is known */
	void *context;
	/* Called at each return of the filter with the words that were looked at on the way there. */
	bool (*answered)(struct judge *j, uint32_t answer, uint32_t words);
	/* Called with the clause that decides for the whole region, or NULL. */
	bool (*decided)(struct judge *j, const struct sys_clause *best);
};

/* Follows the filter from its first instruction, for the inputs of j->region.  True if every call of answered() was. */
bool judge_filter(struct judge *j);

/* Reads the clauses for the inputs of j->region, parted as need be.  True if every call of decided() was. */
bool judge_clauses(struct judge *j, const struct sys_clause *clause, size_t n);

/* The least and greatest value that the bits `mask` of a word can have; false if the region is seen to be empty. */
bool region_bounds(const struct region *r, unsigned word, uint32_t mask, uint32_t *lo, uint32_t *hi);

/*
 * Leaves of the region what has the bits `mask` of a word between lo and hi, which are within its bounds.  False if
 * that is nothing, and the region is as it was.  region_widen() takes it back.
 */
bool region_narrow(struct region *r, unsigned word, uint32_t mask, uint32_t lo, uint32_t hi, struct fact *room);

static inline void region_widen(struct region *r, unsigned word)
{
	r->word[word] = r->word[word]->before;
}

/* True if all facts about the word allow `value`. */
bool region_allows(const struct region *r, unsigned word, uint32_t value);

/* Whether there is an input in the region, and one. */
enum found { FOUND, FOUND_NONE, FOUND_TOO_MANY };
enum found region_input(const struct region *r, struct seccomp_data *out);

#endif
