/* SPDX-License-Identifier: MIT */
/*
 * Decision trees.  A word is decided by bisection over the values at which something changes; where
 * something changes within one value of the word, the next word decides.
 */
#include "bpf/egress_tree.h"

#include <string.h>

/*
 * From `start` of the current word on: a leaf, or the segments that the next words decide between.
 */
struct branch {
	uint32_t start;
	asm_label leaf;
	line_id line;
	const struct tree_segment *within; /* NULL: a leaf */
	size_t nwithin;
};

struct branches {
	struct branch *item;
	size_t n, cap;
};

struct tree {
	struct assembler *s;
	const uint8_t *reg;
	unsigned words;
};

static void emit_word(const struct tree *t, unsigned word, const struct tree_segment *segment,
		      size_t n);

static void add_leaf(struct arena *a, struct branches *b, uint32_t start,
		     const struct tree_segment *leaf)
{
	*ARENA_PUSH(a, b->item, b->n, b->cap) =
		(struct branch){ .start = start, .leaf = leaf->leaf, .line = leaf->line };
}

/* True if the segment starts at the first value that its words up to `word` leave open. */
static bool starts_whole(const struct tree *t, const struct tree_segment *segment, unsigned word)
{
	for (unsigned w = word + 1; w < t->words; w++)
		if (segment->start[w])
			return false;
	return true;
}

/*
 * Adds the branches for the `n` segments that start within one value of the word; `before` is the
 * one in force when that value begins.  Returns true if the last of them is in force from the
 * value's beginning on.
 */
static bool add_value(const struct tree *t, unsigned word, struct branches *b,
		      const struct tree_segment *before, const struct tree_segment *segment,
		      size_t n)
{
	bool whole = starts_whole(t, segment, word);
	struct tree_segment *within;
	size_t head = whole ? 0 : 1;

	if (n == 1 && whole) {
		add_leaf(t->s->arena, b, segment->start[word], segment);
		return true;
	}
	within = ARENA_ARRAY(t->s->arena, n + head, struct tree_segment);
	if (head)
		within[0] = *before;
	memcpy(within + head, segment, n * sizeof *segment);
	memset(within[0].start, 0, sizeof within[0].start);
	*ARENA_PUSH(t->s->arena, b->item, b->n,
		    b->cap) = (struct branch){ .start = segment->start[word],
					       .line = segment->line,
					       .within = within,
					       .nwithin = n + head };
	return false;
}

static struct branches branches_of(const struct tree *t, unsigned word,
				   const struct tree_segment *segment, size_t n)
{
	struct branches b = { 0 };

	for (size_t i = 0; i < n;) {
		uint32_t value = segment[i].start[word];
		size_t end = i + 1;

		while (end < n && segment[end].start[word] == value)
			end++;
		if (!add_value(t, word, &b, i ? &segment[i - 1] : NULL, &segment[i], end - i) &&
		    value != UINT32_MAX && (end == n || segment[end].start[word] != value + 1))
			add_leaf(t->s->arena, &b, value + 1, &segment[end - 1]);
		i = end;
	}
	return b;
}

static void emit_branch(const struct tree *t, unsigned word, const struct branch *b)
{
	t->s->current = b->line;
	if (b->within)
		emit_word(t, word + 1, b->within, b->nwithin);
	else
		asm_goto(t->s, b->leaf);
}

/* True if the three branches are one value taken out of a leaf. */
static bool is_one_value(const struct branch *b, size_t n)
{
	return n == 3 && !b[0].within && !b[2].within && b[0].leaf == b[2].leaf &&
	       b[2].start == b[1].start + 1;
}

static void compare(const struct tree *t, unsigned word, uint8_t op, const struct branch *b,
		    asm_label to)
{
	t->s->current = b->line;
	asm_jump(t->s, (uint8_t)(BPF_JMP32 | op | BPF_K), t->reg[word], b->start, to);
}

static void bisect(const struct tree *t, unsigned word, const struct branch *b, size_t n)
{
	size_t middle = n / 2;
	asm_label right;

	if (n == 1) {
		emit_branch(t, word, b);
	} else if (is_one_value(b, n)) {
		compare(t, word, BPF_JNE, &b[1], b[0].leaf);
		emit_branch(t, word, &b[1]);
	} else if (n - middle == 1 && !b[middle].within) {
		compare(t, word, BPF_JGE, &b[middle], b[middle].leaf);
		bisect(t, word, b, middle);
	} else if (middle == 1 && !b[0].within) {
		compare(t, word, BPF_JLT, &b[1], b[0].leaf);
		bisect(t, word, b + 1, n - 1);
	} else {
		right = asm_new_label(t->s);
		compare(t, word, BPF_JGE, &b[middle], right);
		bisect(t, word, b, middle);
		asm_place(t->s, right);
		bisect(t, word, b + middle, n - middle);
	}
}

static void emit_word(const struct tree *t, unsigned word, const struct tree_segment *segment,
		      size_t n)
{
	struct branches b = branches_of(t, word, segment, n);

	bisect(t, word, b.item, b.n);
}

void tree_emit(struct assembler *s, const uint8_t *reg, unsigned words,
	       const struct tree_segment *segment, size_t n)
{
	const struct tree t = { s, reg, words };
	line_id outer = s->current;

	emit_word(&t, 0, segment, n);
	s->current = outer;
}
