/* SPDX-License-Identifier: MIT */
/* From text to statements and comments.  The text has been parsed: nothing here has to find errors. */
#include <string.h>

#include "compiler/fmt.h"

/* --- tokens, as grammar/cave.l has them ---------------------------------------------------------- */

static bool is_word_byte(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("_./:*@%~+[]-", c));
}

static size_t string_length(const char *s, size_t n)
{
	size_t at = 1;

	while (at < n && s[at] != '"')
		at += s[at] == '\\' ? 2 : 1;
	return at < n ? at + 1 : n;
}

static size_t set_length(const char *s, size_t n)
{
	size_t at = 1;

	while (at < n && ((s[at] >= 'a' && s[at] <= 'z') || (at > 1 && ((s[at] >= '0' && s[at] <= '9') || s[at] == '-'))))
		at++;
	return at > 1 && at < n && s[at] == '>' ? at + 1 : 0;
}

static size_t sign_length(const char *s, size_t n)
{
	static const char *const pairs[] = { "&&", "||", "==", "!=", "<=", ">=" };

	for (size_t i = 0; n > 1 && i < sizeof pairs / sizeof *pairs; i++)
		if (memcmp(s, pairs[i], 2) == 0)
			return 2;
	return 1;
}

static struct fmt_token token_at(const char *s, size_t n)
{
	struct fmt_token t = { .text = s, .kind = FMT_SIGN };

	if (*s == '\n') {
		t.kind = FMT_NEWLINE;
		t.n = 1;
	} else if (*s == '#') {
		t.kind = FMT_COMMENT;
		while (t.n < n && s[t.n] != '\n')
			t.n++;
	} else if (*s == '"') {
		t.kind = FMT_STRING;
		t.n = string_length(s, n);
	} else if (is_word_byte((unsigned char)*s)) {
		t.kind = FMT_WORD;
		while (t.n < n && is_word_byte((unsigned char)s[t.n]))
			t.n++;
	} else if (*s == '<' && (t.n = set_length(s, n)) != 0) {
		t.kind = FMT_SET;
	} else {
		t.n = sign_length(s, n);
	}
	return t;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct fmt_tokens fmt_scan(struct arena *a, const char *text, size_t size)
{
	struct fmt_tokens out = { NULL, 0, 0 };
	unsigned line = 1;
	bool first = true;

	for (size_t at = 0; at < size;) {
		struct fmt_token t;

		if (is_blank(text[at])) {
			at++;
			continue;
		}
		t = token_at(text + at, size - at);
		at += t.n;
		t.line = line;
		t.first = first;
		first = t.kind == FMT_NEWLINE;
		line += first;
		while (t.kind == FMT_COMMENT && t.n > 1 && is_blank(t.text[t.n - 1]))
			t.n--;
		*ARENA_PUSH(a, out.item, out.n, out.cap) = t;
	}
	return out;
}

/* --- statements ---------------------------------------------------------------------------------- */

struct reader {
	struct arena *arena;
	const struct fmt_token *at, *end;
};

static bool is_sign(const struct fmt_token *t, const char *sign)
{
	return t->kind == FMT_SIGN && t->n == strlen(sign) && memcmp(t->text, sign, t->n) == 0;
}

static bool is_word(const struct fmt_token *t, const char *word)
{
	return t->kind == FMT_WORD && t->n == strlen(word) && memcmp(t->text, word, t->n) == 0;
}

/* A brace behind these words holds statements; any other one a list. */
static bool opens_block(const struct fmt_item *s)
{
	static const char *const words[] = { "network", "childProcess", "env",	   "files",
					     "limits",	"syscalls",	"expect" };

	if (s->n == 2)
		return is_word(&s->token[0], "profile") || is_word(&s->token[0], "filter");
	for (size_t i = 0; s->n == 1 && i < sizeof words / sizeof *words; i++)
		if (is_word(&s->token[0], words[i]))
			return true;
	return false;
}

/* A newline behind these is none (grammar/cave.y). */
static bool continues(const struct fmt_item *s)
{
	for (size_t i = s->n; i-- > 0;) {
		const struct fmt_token *t = &s->token[i];

		if (t->kind != FMT_COMMENT)
			return is_sign(t, ",") || is_sign(t, "&&") || is_sign(t, "||") || is_sign(t, "{");
	}
	return false;
}

static void take(struct reader *r, struct fmt_item *s)
{
	*ARENA_PUSH(r->arena, s->token, s->n, s->cap) = *r->at++;
}

/* Up to the end of the statement, or the brace of its block. */
static void read_statement(struct reader *r, struct fmt_item *s)
{
	unsigned parens = 0, lists = 0;

	for (; r->at < r->end; s->line = r->at[-1].line) {
		bool inside = parens || lists;

		if (!inside && (is_sign(r->at, ";") || is_sign(r->at, "}")))
			return;
		if (r->at->kind == FMT_COMMENT && !inside && !continues(s))
			return;
		if (r->at->kind == FMT_NEWLINE) {
			if (!inside && !continues(s))
				return;
			r->at++;
			continue;
		}
		if (is_sign(r->at, "{") && !inside && opens_block(s)) {
			s->has_block = true;
			return;
		}
		parens += is_sign(r->at, "(");
		parens -= is_sign(r->at, ")");
		lists += is_sign(r->at, "{");
		lists -= is_sign(r->at, "}");
		take(r, s);
	}
}

static const char *comment_text(struct arena *a, const struct fmt_token *t)
{
	return arena_strndup(a, t->text, t->n);
}

/* A suppression is about every statement of its line, and stays with each. */
static bool is_suppression(const char *comment)
{
	const char *at = comment + 1;

	at += strspn(at, " \t");
	return strncmp(at, "cave:", 5) == 0;
}

/* The comment at the end of a line goes to the last statement of it. */
static void attach(struct fmt_item *block, const char *comment, unsigned line)
{
	for (size_t i = block->nkids; i-- > 0 && block->kids[i].line == line;) {
		if (!block->kids[i].comment)
			block->kids[i].comment = comment;
		if (!is_suppression(comment))
			return;
	}
}

static void read_block(struct reader *r, struct fmt_item *block);

/* A statement, with its block. */
static void read_item(struct reader *r, struct fmt_item *block, bool blank)
{
	struct fmt_item s = { .blank = blank };

	read_statement(r, &s);
	if (s.has_block) {
		r->at++;
		if (r->at < r->end && r->at->kind == FMT_COMMENT && !r->at->first)
			s.opening = comment_text(r->arena, r->at++);
		read_block(r, &s);
		if (r->at < r->end) {
			s.line = r->at->line;
			r->at++; /* the closing brace */
		}
	}
	*ARENA_PUSH(r->arena, block->kids, block->nkids, block->kids_cap) = s;
}

/* At the end of a line, or alone. */
static void read_comment(struct reader *r, struct fmt_item *block, bool blank)
{
	struct fmt_item *kid;

	if (!r->at->first && block->nkids && block->kids[block->nkids - 1].line == r->at->line) {
		attach(block, comment_text(r->arena, r->at), r->at->line);
		r->at++;
		return;
	}
	kid = ARENA_PUSH(r->arena, block->kids, block->nkids, block->kids_cap);
	*kid = (struct fmt_item){ .blank = blank, .comment = comment_text(r->arena, r->at) };
	r->at++;
}

static void read_block(struct reader *r, struct fmt_item *block)
{
	unsigned newlines = 0;

	while (r->at < r->end && !is_sign(r->at, "}")) {
		if (r->at->kind == FMT_NEWLINE) {
			newlines++;
			r->at++;
		} else if (is_sign(r->at, ";")) {
			r->at++;
		} else {
			bool blank = newlines > 1 && block->nkids;

			newlines = 0;
			if (r->at->kind == FMT_COMMENT)
				read_comment(r, block, blank);
			else
				read_item(r, block, blank);
		}
	}
}

void fmt_items(struct arena *a, const struct fmt_tokens *tokens, struct fmt_item *out)
{
	struct reader r = { a, tokens->item, tokens->n ? tokens->item + tokens->n : NULL };

	*out = (struct fmt_item){ .has_block = true };
	read_block(&r, out);
}
