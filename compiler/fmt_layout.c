/* SPDX-License-Identifier: MIT */
/*
 * The layout.  Four columns for each block.  A block of one short statement stands on one line, any other has a line
 * for each statement.  A statement stands on one line if it fits; otherwise its lists are opened, their elements fill
 * lines, and what is not in a list goes on behind a comma, && or ||.
 */
#include <string.h>

#include "compiler/fmt.h"

enum { STEP = 4, WIDTH = 100 };

static bool is_sign(const struct fmt_token *t, const char *sign)
{
	return t->kind == FMT_SIGN && t->n == strlen(sign) && memcmp(t->text, sign, t->n) == 0;
}

/* Is there a blank between two tokens of a line? */
static bool parted(const struct fmt_token *a, const struct fmt_token *b)
{
	if (is_sign(b, ",") || is_sign(b, ")") || is_sign(a, "(") || is_sign(a, "!"))
		return false;
	return !(is_sign(b, "(") && a->kind == FMT_WORD);
}

/* A comma before a closing brace means nothing. */
static bool is_idle(const struct fmt_item *s, size_t i)
{
	size_t next = i + 1;

	while (next < s->n && s->token[next].kind == FMT_COMMENT)
		next++;
	return is_sign(&s->token[i], ",") && next < s->n && is_sign(&s->token[next], "}");
}

/* --- one line ------------------------------------------------------------------------------------ */

static void put_flat(struct buffer *to, const struct fmt_item *s)
{
	const struct fmt_token *last = NULL;

	for (size_t i = 0; i < s->n; i++) {
		if (is_idle(s, i))
			continue;
		if (last && parted(last, &s->token[i]))
			buffer_add(to, " ", 1);
		buffer_add(to, s->token[i].text, s->token[i].n);
		last = &s->token[i];
	}
}

static bool has_comments(const struct fmt_item *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->token[i].kind == FMT_COMMENT)
			return true;
	return false;
}

/* Columns, of which a character takes one. */
static size_t columns(const char *s, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += ((unsigned char)s[i] & 0xc0) != 0x80;
	return used;
}

static struct buffer flat(struct arena *a, const struct fmt_item *s)
{
	struct buffer b = { .arena = a };

	put_flat(&b, s);
	return b;
}

static bool fits(struct arena *a, const struct fmt_item *s, size_t indent, size_t more)
{
	struct buffer b = flat(a, s);

	return !has_comments(s) && indent + columns(b.data, b.n) + more <= WIDTH;
}

/* --- several lines ------------------------------------------------------------------------------- */

struct lines {
	struct buffer *to;
	size_t indent; /* of the statement */
	size_t used; /* columns of the line so far; 0: nothing stands on it */
	const struct fmt_token *last; /* on the line */
};

static void put_blanks(struct buffer *to, size_t n)
{
	while (n--)
		buffer_add(to, " ", 1);
}

static void end_line(struct lines *l)
{
	if (l->used)
		buffer_add(l->to, "\n", 1);
	l->used = 0;
	l->last = NULL;
}

static void put_token(struct lines *l, const struct fmt_token *t, size_t indent)
{
	size_t width = columns(t->text, t->n);
	bool blank = l->last && parted(l->last, t);

	if (!l->used) {
		put_blanks(l->to, indent);
		l->used = indent;
	}
	if (t->kind == FMT_COMMENT && l->last)
		buffer_add(l->to, " ", 1);
	if (blank)
		buffer_add(l->to, " ", 1);
	buffer_add(l->to, t->text, t->n);
	l->used += width + blank;
	l->last = t;
	if (t->kind == FMT_COMMENT)
		end_line(l);
}

/* Columns up to and with the next place where a line may be broken, or to the end of the list, which begins a line. */
static size_t next_part(const struct fmt_item *s, size_t i, size_t lists)
{
	size_t used = 0;

	for (; i < s->n && s->token[i].kind != FMT_COMMENT; i++) {
		if (is_idle(s, i))
			continue;
		if (lists == 1 && is_sign(&s->token[i], "}"))
			break;
		used += columns(s->token[i].text, s->token[i].n) + 1;
		if (is_sign(&s->token[i], ",") || is_sign(&s->token[i], "&&") || is_sign(&s->token[i], "||") ||
		    is_sign(&s->token[i], "{"))
			break;
	}
	return used;
}

static bool may_break(const struct lines *l)
{
	return l->last && (is_sign(l->last, ",") || is_sign(l->last, "&&") || is_sign(l->last, "||"));
}

/* On the line of token `i`. */
static bool comment_follows(const struct fmt_item *s, size_t i)
{
	return i + 1 < s->n && s->token[i + 1].kind == FMT_COMMENT && !s->token[i + 1].first;
}

static void put_broken(struct buffer *to, const struct fmt_item *s, size_t indent)
{
	struct lines l = { .to = to, .indent = indent };
	size_t lists = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct fmt_token *t = &s->token[i];
		bool closes = is_sign(t, "}");

		if (is_idle(s, i))
			continue;
		/* An opened list begins and ends on lines of its own, a comment that stands alone stays alone. */
		if ((closes && lists == 1) || (t->kind == FMT_COMMENT && t->first))
			end_line(&l);
		else if (may_break(&l) && l.used + next_part(s, i, lists) > WIDTH)
			end_line(&l);
		lists -= closes;
		put_token(&l, t, i == 0 || (closes && !lists) ? indent : indent + STEP);
		if (is_sign(t, "{") && !lists++ && !comment_follows(s, i))
			end_line(&l);
	}
	if (!l.used && to->n && to->data[to->n - 1] == '\n')
		to->n--; /* it ends in a comment: the caller ends the line */
}

/* --- items --------------------------------------------------------------------------------------- */

static void put_kids(struct buffer *to, const struct fmt_item *block, size_t indent);

static void put_comment(struct buffer *to, const char *comment)
{
	if (comment)
		buffer_printf(to, "  %s", comment);
}

/* A block with one statement, which has none itself, and no comment in it. */
static bool on_one_line(struct arena *a, const struct fmt_item *s, size_t indent)
{
	const struct fmt_item *kid = s->kids;
	struct buffer head;

	if (s->opening)
		return false;
	if (s->nkids == 0)
		return true;
	if (s->nkids != 1 || kid->has_block || kid->comment || !kid->n)
		return false;
	head = flat(a, s);
	return fits(a, kid, indent + columns(head.data, head.n) + strlen(" { "), strlen(" }"));
}

static void put_block(struct buffer *to, const struct fmt_item *s, size_t indent)
{
	if (on_one_line(to->arena, s, indent)) {
		buffer_printf(to, " { ");
		if (s->nkids) {
			put_flat(to, s->kids);
			buffer_printf(to, " ");
		}
		buffer_printf(to, "}");
		return;
	}
	buffer_printf(to, " {");
	put_comment(to, s->opening);
	buffer_add(to, "\n", 1);
	put_kids(to, s, indent + STEP);
	put_blanks(to, indent);
	buffer_printf(to, "}");
}

static void put_item(struct buffer *to, const struct fmt_item *s, size_t indent)
{
	if (s->blank)
		buffer_add(to, "\n", 1);
	if (!s->n) {
		put_blanks(to, indent);
		buffer_printf(to, "%s\n", s->comment);
		return;
	}
	if (s->has_block || fits(to->arena, s, indent, 0)) {
		put_blanks(to, indent);
		put_flat(to, s);
	} else {
		put_broken(to, s, indent);
	}
	if (s->has_block)
		put_block(to, s, indent);
	put_comment(to, s->comment);
	buffer_add(to, "\n", 1);
}

static void put_kids(struct buffer *to, const struct fmt_item *block, size_t indent)
{
	for (size_t i = 0; i < block->nkids; i++)
		put_item(to, &block->kids[i], indent);
}

void fmt_layout(const struct fmt_item *file, struct buffer *out)
{
	put_kids(out, file, 0);
}
