/* SPDX-License-Identifier: MIT */
/*
 * The grammar of profiles.  It builds the tree of compiler/ast.h and looks nothing up: which names exist,
 * what a word means and what may stand where is the business of the resolver, which can say it better.
 *
 * No word is reserved: a keyword is one only where the grammar asks for it.
 */
%define api.prefix {cave_}
%define api.pure full
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac full
%expect 0
%locations
%param {struct parser *p}

%code requires {
#include "compiler/parse.h"

struct node_list {
	struct node *first, *last;
};
}

%union {
	const char *text;
	struct node *node;
	struct node_list list;
}

%code {
#include <string.h>

#define YYLLOC_DEFAULT(Current, Rhs, N)                                                            \
	((Current) = (N) ? span_join(YYRHSLOC(Rhs, 1), YYRHSLOC(Rhs, N)) :                         \
			   (struct span){ YYRHSLOC(Rhs, 0).file, YYRHSLOC(Rhs, 0).end, YYRHSLOC(Rhs, 0).end })

/* grammar/cave.l */
int cave_scan(CAVE_STYPE *value, struct span *at, void *scanner);
void cave_scan_begin(struct parser *p, const char *text, size_t size);
void cave_scan_end(struct parser *p);

static int cave_lex(CAVE_STYPE *value, struct span *at, struct parser *p);
static void cave_error(const struct span *at, struct parser *p, const char *text);

static struct node *node(struct parser *p, enum node_kind kind, struct span at, const char *text,
			 struct node *kids)
{
	struct node *n = arena_alloc(p->arena, sizeof *n);

	*n = (struct node){ .kind = kind, .at = at, .name = at, .text = text, .kids = kids };
	return n;
}

/* A node whose text stands at `name` within it. */
static struct node *named(struct parser *p, enum node_kind kind, struct span at, struct span name,
			  const char *text, struct node *kids)
{
	struct node *n = node(p, kind, at, text, kids);

	n->name = name;
	return n;
}

static struct node *pair(struct parser *p, enum node_kind kind, struct span at, const char *text,
			 struct node *left, struct node *right)
{
	left->next = right;
	return node(p, kind, at, text, left);
}

static struct node_list append(struct node_list list, struct node *n)
{
	if (!n)
		return list;
	if (list.last)
		list.last->next = n;
	else
		list.first = n;
	while (n->next)
		n = n->next;
	list.last = n;
	return list;
}

static struct node_list join(struct node_list a, struct node_list b)
{
	return append(a, b.first);
}

static const struct node_list none;
}

%token <text> WORD "a word" STRING "a string" SET "a set in angle brackets"
%token <text> ALLOW DENY LISTEN
%token <text> INCLUDE PROFILE FILTER SANDBOX NETWORK CHILDREN CREDENTIALS ENV FILES LIMITS SYSCALLS
%token <text> EXPECT USE
%token <text> PORT "'port'" EXCEPT "'except'" WITHIN "'within'" LIST "'list'"
%token <text> PASS SET_VARIABLE READ WRITE EXECUTE SHM BASE OPTIONAL FOLDER
%token <text> WITH "'with'" LOGGED "'logged'" IN "'in'" DEFAULT UNKNOWN
%token NEWLINE "the end of the line"
%token AND "'&&'" OR "'||'" EQ "'=='" NE "'!='" LE "'<='" GE "'>='"
%token BAD "an error"
%token END 0 "the end of the file"

%left OR
%left AND
%precedence '!'

%type <text> any_word plain top_word clause_word net_word sys_word cond_word file_word file_verb compare
%type <text> top_stranger net_stranger env_stranger file_stranger sys_stranger filter_stranger rule
%type <node> statement net_statement env_statement file_statement sys_statement filter_statement
%type <node> setting expectation net_operand net_clause file_operand file_path sys_item value term
%type <node> condition expect_item sys_option outcome env_value setting_operand
%type <list> statements net_statements env_statements file_statements sys_statements filter_statements
%type <list> settings expectations net_operands net_clauses file_operands sys_items sys_options
%type <list> operand_list words sets expect_items setting_operands value_list operand_group

%%

start: statements { p->statements = $1.first; }

separator: NEWLINE | ';'

statements:
  statement { $$ = append(none, $1); }
| statements separator statement { $$ = append($1, $3); }

statement:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| INCLUDE STRING { $$ = named(p, N_INCLUDE, @$, @2, $2, NULL); }
| PROFILE any_word '{' statements '}' { $$ = named(p, N_PROFILE, @$, @2, $2, $4.first); }
| FILTER any_word '{' filter_statements '}' { $$ = named(p, N_FILTER, @$, @2, $2, $4.first); }
| SANDBOX any_word { $$ = named(p, N_SANDBOX, @$, @2, $2, NULL); }
| NETWORK any_word { $$ = named(p, N_NETWORK, @$, @1, NULL, node(p, N_WORD, @2, $2, NULL)); }
| NETWORK '{' net_statements '}' { $$ = named(p, N_NETWORK, @$, @1, NULL, node(p, N_BLOCK, @$, NULL, $3.first)); }
| CHILDREN any_word { $$ = named(p, N_CHILDREN, @$, @1, NULL, node(p, N_WORD, @2, $2, NULL)); }
| CHILDREN '{' settings '}' { $$ = named(p, N_CHILDREN, @$, @1, NULL, node(p, N_BLOCK, @$, NULL, $3.first)); }
| CREDENTIALS words { $$ = named(p, N_CREDENTIALS, @$, @1, NULL, $2.first); }
| ENV '{' env_statements '}' { $$ = named(p, N_ENV, @$, @1, NULL, $3.first); }
| FILES '{' file_statements '}' { $$ = named(p, N_FILES, @$, @1, NULL, $3.first); }
| LIMITS '{' settings '}' { $$ = named(p, N_LIMITS, @$, @1, NULL, $3.first); }
| SYSCALLS '{' sys_statements '}' { $$ = named(p, N_SYSCALLS, @$, @1, NULL, $3.first); }
| EXPECT '{' expectations '}' { $$ = named(p, N_EXPECT, @$, @1, NULL, $3.first); }
| USE sets { $$ = named(p, N_USE, @$, @1, NULL, $2.first); }
| top_stranger junk { $$ = named(p, N_STRANGER, @$, @1, $1, NULL); }

/* network */

net_statements:
  net_statement { $$ = append(none, $1); }
| net_statements separator net_statement { $$ = append($1, $3); }

net_statement:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| rule net_operands net_clauses { $$ = named(p, N_NET_RULE, @$, @1, $1, join($2, $3).first); }
| LISTEN net_operands net_clauses { $$ = named(p, N_NET_RULE, @$, @1, $1, join($2, $3).first); }
| net_stranger junk { $$ = named(p, N_STRANGER, @$, @1, $1, NULL); }

rule: ALLOW | DENY

net_operands:
  net_operand { $$ = append(none, $1); }
| net_operands net_operand { $$ = append($1, $2); }

net_operand:
  net_word { $$ = node(p, N_WORD, @$, $1, NULL); }
| STRING { $$ = node(p, N_STRING, @$, $1, NULL); }
| SET { $$ = node(p, N_SET, @$, $1, NULL); }
| LIST STRING { $$ = named(p, N_LIST_FILE, @$, @2, $2, NULL); }
| operand_group { $$ = node(p, N_GROUP, @$, NULL, $1.first); }

operand_group:
  '{' operand_list newline_opt '}' { $$ = $2; }
| '{' operand_list ',' '}' { $$ = $2; }
| '{' '}' { $$ = none; }

operand_list:
  net_word { $$ = append(none, node(p, N_WORD, @1, $1, NULL)); }
| SET { $$ = append(none, node(p, N_SET, @1, $1, NULL)); }
| operand_list ',' net_word { $$ = append($1, node(p, N_WORD, @3, $3, NULL)); }
| operand_list ',' SET { $$ = append($1, node(p, N_SET, @3, $3, NULL)); }

newline_opt: %empty | NEWLINE

net_clauses:
  %empty { $$ = none; }
| net_clauses net_clause { $$ = append($1, $2); }

net_clause:
  EXCEPT net_operand { $$ = named(p, N_EXCEPT, @$, @1, $1, $2); }
| PORT net_operand { $$ = named(p, N_PORT, @$, @1, $1, $2); }
| WITHIN net_operand { $$ = named(p, N_WITHIN, @$, @1, $1, $2); }

/* env */

env_statements:
  env_statement { $$ = append(none, $1); }
| env_statements separator env_statement { $$ = append($1, $3); }

env_statement:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| PASS words { $$ = named(p, N_ENV_PASS, @$, @1, $1, $2.first); }
| SET_VARIABLE any_word env_value { $$ = named(p, N_ENV_SET, @$, @2, $2, $3); }
| env_stranger junk { $$ = named(p, N_STRANGER, @$, @1, $1, NULL); }

env_value:
  any_word { $$ = node(p, N_WORD, @$, $1, NULL); }
| STRING { $$ = node(p, N_STRING, @$, $1, NULL); }

words:
  any_word { $$ = append(none, node(p, N_WORD, @1, $1, NULL)); }
| words ',' any_word { $$ = append($1, node(p, N_WORD, @3, $3, NULL)); }

sets:
  SET { $$ = append(none, node(p, N_SET, @1, $1, NULL)); }
| sets SET { $$ = append($1, node(p, N_SET, @2, $2, NULL)); }
| sets ',' SET { $$ = append($1, node(p, N_SET, @3, $3, NULL)); }

/* files */

file_statements:
  file_statement { $$ = append(none, $1); }
| file_statements separator file_statement { $$ = append($1, $3); }

file_statement:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| file_verb file_operands { $$ = named(p, N_FILE_RULE, @$, @1, $1, $2.first); }
| DENY file_operands { $$ = named(p, N_FILE_RULE, @$, @1, $1, $2.first); }
| DENY WRITE file_operands { $$ = named(p, N_FILE_RULE, @$, span_join(@1, @2), "deny write", $3.first); }
| SHM { $$ = named(p, N_FILE_RULE, @$, @1, $1, NULL); }
| BASE any_word { $$ = named(p, N_BASE, @$, @2, $2, NULL); }
| USE sets { $$ = named(p, N_USE, @$, @1, NULL, $2.first); }
| file_stranger junk { $$ = named(p, N_STRANGER, @$, @1, $1, NULL); }

file_verb: READ | WRITE | EXECUTE

file_operands:
  file_operand { $$ = append(none, $1); }
| file_operands ',' file_operand { $$ = append($1, $3); }

file_operand:
  file_path
| OPTIONAL file_path { $$ = node(p, N_OPTIONAL, @$, NULL, $2); }
| FOLDER any_word { $$ = named(p, N_FOLDER, @$, @2, $2, NULL); }

file_path:
  file_word { $$ = node(p, N_WORD, @$, $1, NULL); }
| STRING { $$ = node(p, N_STRING, @$, $1, NULL); }

/* limits, childProcess */

settings:
  setting { $$ = append(none, $1); }
| settings separator setting { $$ = append($1, $3); }

setting:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| any_word setting_operands { $$ = named(p, N_SETTING, @$, @1, $1, $2.first); }

setting_operands:
  setting_operand { $$ = append(none, $1); }
| setting_operands ',' setting_operand { $$ = append($1, $3); }

setting_operand:
  any_word { $$ = node(p, N_WORD, @$, $1, NULL); }
| STRING { $$ = node(p, N_STRING, @$, $1, NULL); }

/* syscalls */

sys_statements:
  sys_statement { $$ = append(none, $1); }
| sys_statements separator sys_statement { $$ = append($1, $3); }

sys_statement:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| rule sys_items sys_options { $$ = named(p, N_SYS_RULE, @$, @1, $1, join($2, $3).first); }
| BASE any_word { $$ = named(p, N_BASE, @$, @2, $2, NULL); }
| sys_stranger junk { $$ = named(p, N_STRANGER, @$, @1, $1, NULL); }

sys_items:
  sys_item { $$ = append(none, $1); }
| sys_items ',' sys_item { $$ = append($1, $3); }

sys_item:
  sys_word { $$ = node(p, N_SYS_ITEM, @$, $1, NULL); }
| sys_word '(' condition ')' { $$ = named(p, N_SYS_ITEM, @$, @1, $1, $3); }

sys_options:
  %empty { $$ = none; }
| sys_options sys_option { $$ = append($1, $2); }

sys_option:
  LOGGED { $$ = node(p, N_LOGGED, @$, $1, NULL); }
| WITH sys_word { $$ = named(p, N_WITH, @$, @2, $2, NULL); }
| WITH sys_word sys_word { $$ = named(p, N_WITH, @$, @2, $2, node(p, N_WORD, @3, $3, NULL)); }

filter_statements:
  filter_statement { $$ = append(none, $1); }
| filter_statements separator filter_statement { $$ = append($1, $3); }

filter_statement:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| rule sys_items sys_options { $$ = named(p, N_SYS_RULE, @$, @1, $1, join($2, $3).first); }
| DEFAULT outcome { $$ = $2; $$->kind = N_DEFAULT; $$->at = @$; }
| UNKNOWN outcome { $$ = $2; $$->kind = N_UNKNOWN; $$->at = @$; }
| filter_stranger junk { $$ = named(p, N_STRANGER, @$, @1, $1, NULL); }

outcome:
  any_word { $$ = node(p, N_DEFAULT, @$, $1, NULL); }
| any_word any_word { $$ = named(p, N_DEFAULT, @$, @1, $1, node(p, N_WORD, @2, $2, NULL)); }

/* conditions */

condition:
  condition OR condition { $$ = pair(p, N_OR, @$, NULL, $1, $3); }
| condition AND condition { $$ = pair(p, N_AND, @$, NULL, $1, $3); }
| '!' condition { $$ = node(p, N_NOT, @$, NULL, $2); }
| '(' condition ')' { $$ = $2; }
| term { $$ = node(p, N_TRUTH, @$, NULL, $1); }
| term compare term { $$ = pair(p, N_COMPARE, @$, $2, $1, $3); }
| term IN '{' value_list newline_opt '}' { $1->next = $4.first; $$ = node(p, N_IN, @$, NULL, $1); }
| term IN '{' value_list ',' '}' { $1->next = $4.first; $$ = node(p, N_IN, @$, NULL, $1); }

compare:
  EQ { $$ = "=="; }
| NE { $$ = "!="; }
| '<' { $$ = "<"; }
| LE { $$ = "<="; }
| '>' { $$ = ">"; }
| GE { $$ = ">="; }

term:
  value
| term '&' value { $$ = pair(p, N_MASK, @$, NULL, $1, $3); }
| term '&' '(' term ')' { $$ = pair(p, N_MASK, @$, NULL, $1, $4); }
| term '|' value { $$ = pair(p, N_UNION, @$, NULL, $1, $3); }

value: cond_word { $$ = node(p, N_WORD, @$, $1, NULL); }

value_list:
  value { $$ = append(none, $1); }
| value_list ',' value { $$ = append($1, $3); }

/* expect */

expectations:
  expectation { $$ = append(none, $1); }
| expectations separator expectation { $$ = append($1, $3); }

expectation:
  %empty { $$ = NULL; }
| error { $$ = NULL; }
| any_word expect_items { $$ = named(p, N_EXPECTATION, @$, @1, $1, $2.first); }

expect_items:
  expect_item { $$ = append(none, $1); }
| expect_items expect_item { $$ = append($1, $2); }

expect_item:
  any_word { $$ = node(p, N_WORD, @$, $1, NULL); }
| STRING { $$ = node(p, N_STRING, @$, $1, NULL); }
| SET { $$ = node(p, N_SET, @$, $1, NULL); }
| any_word '(' condition ')' { $$ = named(p, N_SYS_ITEM, @$, @1, $1, $3); }

/* words, by where they may stand */

top_word: INCLUDE | PROFILE | FILTER | SANDBOX | NETWORK | CHILDREN | CREDENTIALS | ENV | FILES | LIMITS
	| SYSCALLS | EXPECT
clause_word: PORT | EXCEPT | WITHIN | LIST
plain: WORD | PASS | SET_VARIABLE | DEFAULT | UNKNOWN

any_word: plain | top_word | clause_word | ALLOW | DENY | LISTEN | USE | READ | WRITE | EXECUTE | SHM | BASE
	| OPTIONAL | FOLDER | WITH | LOGGED | IN
net_word: plain | top_word | ALLOW | DENY | LISTEN | USE | READ | WRITE | EXECUTE | SHM | BASE
	| OPTIONAL | FOLDER | WITH | LOGGED | IN
file_word: plain | top_word | clause_word | ALLOW | DENY | LISTEN | USE | READ | WRITE | EXECUTE | SHM | BASE
	| WITH | LOGGED | IN
sys_word: plain | top_word | clause_word | ALLOW | DENY | LISTEN | USE | READ | WRITE | EXECUTE | SHM | BASE
	| OPTIONAL | FOLDER | IN
cond_word: plain | top_word | clause_word | ALLOW | DENY | LISTEN | USE | READ | WRITE | EXECUTE | SHM | BASE
	| OPTIONAL | FOLDER | WITH | LOGGED

/* a word that no statement of the block begins with: the resolver says so, and what was meant */

top_stranger: plain | clause_word | ALLOW | DENY | LISTEN | READ | WRITE | EXECUTE | SHM | BASE | OPTIONAL
	| FOLDER | WITH | LOGGED | IN
net_stranger: plain | top_word | clause_word | USE | READ | WRITE | EXECUTE | SHM | BASE | OPTIONAL | FOLDER
	| WITH | LOGGED | IN
env_stranger: WORD | DEFAULT | UNKNOWN | top_word | clause_word | ALLOW | DENY | LISTEN | USE | READ | WRITE
	| EXECUTE | SHM | BASE | OPTIONAL | FOLDER | WITH | LOGGED | IN
file_stranger: plain | top_word | clause_word | ALLOW | LISTEN | OPTIONAL | FOLDER | WITH | LOGGED | IN
sys_stranger: plain | top_word | clause_word | LISTEN | USE | READ | WRITE | EXECUTE | SHM | OPTIONAL | FOLDER
	| WITH | LOGGED | IN
filter_stranger: WORD | PASS | SET_VARIABLE | top_word | clause_word | LISTEN | USE | READ | WRITE | EXECUTE
	| SHM | BASE | OPTIONAL | FOLDER | WITH | LOGGED | IN

junk: %empty | junk junk_item
junk_item: any_word | STRING | SET | ',' | '&' | '|' | '!' | AND | OR | EQ | NE | LE | GE | '<' | '>'
	| '(' junk ')' | '{' junk_lines '}'
junk_lines: junk | junk_lines separator junk

%%

/* What is made of a condition is as deep as it has operators. */
enum { MAX_NESTING = 100, MAX_OPERATORS = 4096 };

/* Where a line may go on: a newline there is no token. */
static bool continues(int previous)
{
	return previous == NEWLINE || previous == '{' || previous == ',' || previous == ';' || previous == AND ||
	       previous == OR;
}

/* A block that is still open is closed here, so that all of it is looked at; the error is given once. */
static int end_of_file(struct span *at, struct parser *p)
{
	*at = (struct span){ p->file, p->offset, p->offset };
	if (!p->braces || p->parens)
		return END;
	if (!p->unclosed)
		diag_error(p->diags, CAVE_SYNTAX, *at, "the file ends within a block: '}' is missing");
	p->unclosed = p->failed = true;
	return '}';
}

/* From a word that is followed by names of variables to the end of its statement. */
static bool is_secret(bool before, int token)
{
	if (token == CREDENTIALS || token == PASS)
		return true;
	return before && token != NEWLINE && token != ';' && token != '}' && token != END;
}

static bool is_operator(int token)
{
	return token == AND || token == OR || token == '&' || token == '|' || token == '!';
}

static int cave_lex(CAVE_STYPE *value, struct span *at, struct parser *p)
{
	int token;

	do {
		token = cave_scan(value, at, p->scanner);
	} while (token == NEWLINE && (p->parens || continues(p->previous)));
	if (token == END)
		token = end_of_file(at, p);
	p->parens += token == '(';
	p->parens -= token == ')' && p->parens;
	p->braces += token == '{';
	p->braces -= token == '}' && p->braces;
	if (p->parens + p->braces > MAX_NESTING) {
		diag_error(p->diags, CAVE_SYNTAX, *at, "nested more than %d deep", MAX_NESTING);
		p->failed = true;
		token = END;
	}
	p->operators = p->parens ? p->operators + is_operator(token) : 0;
	if (p->operators == MAX_OPERATORS + 1 && is_operator(token)) {
		diag_note(p->diags,
			  diag_error(p->diags, CAVE_SYNTAX, *at, "a condition has %d operators at most", MAX_OPERATORS),
			  (struct span){ 0, 0, 0 }, "many values of one argument are: in { 1, 5, 8-20 }");
		p->failed = true;
		token = BAD;
	}
	p->secret_before = p->secret;
	p->secret = is_secret(p->secret, token);
	p->previous = token;
	return token;
}

/* Of bison's own: its stack is full. */
static void cave_error(const struct span *at, struct parser *p, const char *text)
{
	diag_error(p->diags, CAVE_SYNTAX, *at, "%s",
		   strcmp(text, "memory exhausted") == 0 ? "this goes too deep: write it in parts" : text);
	p->failed = true;
}

/* Where a word may stand every keyword may as well: then only the word is named. */
static bool worth_naming(yysymbol_kind_t symbol, bool word_expected)
{
	if (symbol == YYSYMBOL_NEWLINE || symbol == YYSYMBOL_BAD)
		return false;
	if (symbol < YYSYMBOL_ALLOW || symbol > YYSYMBOL_UNKNOWN)
		return true;
	return !word_expected && yysymbol_name(symbol)[0] == '\'';
}

static const char *expectation(struct parser *p, const yypcontext_t *context)
{
	yysymbol_kind_t expected[YYNTOKENS];
	int n = yypcontext_expected_tokens(context, expected, YYNTOKENS), named = 0;
	const char *list = "";
	bool word = false;

	for (int i = 0; i < n; i++)
		word |= expected[i] == YYSYMBOL_WORD;
	for (int i = 0; i < n; i++)
		if (worth_naming(expected[i], word) && named++ < 5)
			list = arena_printf(p->arena, "%s%s%s", list, *list ? " or " : "",
					    yysymbol_name(expected[i]));
	return list;
}

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *p)
{
	yysymbol_kind_t token = yypcontext_token(context);
	const struct span *at = yypcontext_location(context);
	const char *wanted = expectation(p, context), *seen;
	bool secret = p->secret || p->secret_before;

	p->failed = true;
	if (token == YYSYMBOL_BAD) /* the lexer has said it */
		return 0;
	if (secret && token != YYSYMBOL_NEWLINE && token != YYSYMBOL_YYEOF)
		seen = "this";
	else if (token == YYSYMBOL_NEWLINE || token == YYSYMBOL_YYEOF)
		seen = yysymbol_name(token);
	else
		seen = arena_printf(p->arena, "'%.*s'", (int)(at->end - at->begin),
				    p->diags->sources->file[at->file].text + at->begin);
	diag_error(p->diags, CAVE_SYNTAX, *at, "%s is not expected here%s%s", seen, *wanted ? "; expected " : "",
		   wanted)
		->secret = secret;
	return 0;
}

bool parse_statements(struct diags *d, uint32_t file, struct node **out)
{
	struct parser p = { .diags = d, .arena = d->sources->arena, .file = file, .previous = NEWLINE };
	const struct source_file *f = &d->sources->file[file];

	cave_scan_begin(&p, f->text, f->size);
	if (cave_parse(&p) != 0)
		p.failed = true;
	cave_scan_end(&p);
	*out = p.statements;
	return !p.failed;
}
