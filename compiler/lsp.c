/* SPDX-License-Identifier: MIT */
/* cavec lsp: the command line, messages and documents.  What comes in is bounded before it is looked at. */
#include "compiler/lsp.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/compile.h"

enum { MAX_MESSAGE = 32 << 20, MAX_TEXT = 4 << 20, MAX_DOCUMENTS = 256, MAX_HEADER = 1024, MAX_HEADERS = 32 };

/* Errors of JSON-RPC and of the protocol. */
enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	UNKNOWN_METHOD = -32601,
	INVALID_PARAMETERS = -32602,
	NOT_INITIALIZED = -32002,
	REQUEST_FAILED = -32803,
};

static const char help[] =
	"usage: cavec lsp [options]\n"
	"\n"
	"A language server: an editor starts it and speaks to it by standard input and output.\n"
	"Errors and findings while one types, explanations, includes, layout.\n"
	"\n"
	"      --stdio             by standard input and output, as is so without it\n"
	"      --root DIR, --config DIR|FILE, --capabilities FILE   as for a compile\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 the editor ended it; 1 it went away without a word; 2 usage, or what came in\n"
	"is not the protocol.\n";

struct server {
	struct review_options rules;
	struct lsp_document document[MAX_DOCUMENTS];
	size_t ndocuments;
	bool initialized, shut, ended;
};

/* --- messages ------------------------------------------------------------------------------------ */

static void send_message(json_t *message)
{
	char *text;

	json_object_set_new(message, "jsonrpc", json_string("2.0"));
	text = json_dumps(message, JSON_COMPACT);
	if (text) {
		printf("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
		fflush(stdout);
	}
	free(text);
	json_decref(message);
}

/* Takes `result` over. */
static void respond(const json_t *id, json_t *result)
{
	send_message(json_pack("{s:O, s:o}", "id", id, "result", result));
}

static void respond_error(const json_t *id, int code, const char *text)
{
	json_t *to = id ? json_deep_copy(id) : json_null();

	send_message(json_pack("{s:o, s:{s:i, s:s}}", "id", to, "error", "code", code, "message", text));
}

/* One line of the header without its end; false at the end of the input, or if it is too long. */
static bool read_line(char line[MAX_HEADER])
{
	size_t n;

	if (!fgets(line, MAX_HEADER, stdin))
		return false;
	n = strlen(line);
	if (!n || line[n - 1] != '\n')
		return false;
	while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		line[--n] = '\0';
	return true;
}

static bool read_length(const char *text, size_t *out)
{
	char *end;
	unsigned long n;

	text += strspn(text, " \t");
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || n == 0 || n > MAX_MESSAGE)
		return false;
	*out = n;
	return true;
}

/* The bytes of a message, malloc'd; NULL with *good telling the end of the input from what is not the protocol. */
static char *read_message(size_t *size, bool *good)
{
	static const char length[] = "Content-Length:";
	char line[MAX_HEADER], *text;
	size_t n = 0;

	*good = true;
	if (!read_line(line)) {
		*good = feof(stdin) != 0;
		return NULL;
	}
	*good = false;
	for (int i = 0; *line; i++) {
		if (strncasecmp(line, length, strlen(length)) == 0 && !read_length(line + strlen(length), &n))
			return NULL;
		if (i == MAX_HEADERS || !read_line(line))
			return NULL;
	}
	text = n ? malloc(n) : NULL;
	if (!text)
		return NULL;
	if (fread(text, 1, n, stdin) != n) {
		free(text);
		return NULL;
	}
	*good = true;
	*size = n;
	return text;
}

/* --- documents ----------------------------------------------------------------------------------- */

static struct lsp_document *find(struct server *s, const char *uri)
{
	for (size_t i = 0; i < s->ndocuments; i++)
		if (strcmp(s->document[i].uri, uri) == 0)
			return &s->document[i];
	return NULL;
}

static void document_free(struct lsp_document *d)
{
	free(d->uri);
	free(d->text);
	free(d->path);
}

static void publish(const struct lsp_document *d, json_t *diagnostics)
{
	send_message(json_pack("{s:s, s:{s:s, s:I, s:o}}", "method", "textDocument/publishDiagnostics", "params", "uri",
			       d->uri, "version", d->version, "diagnostics", diagnostics));
}

/* What keeps a text from being a document's. */
static void complain(const char *uri, const char *text)
{
	send_message(json_pack("{s:s, s:{s:i, s:o}}", "method", "window/showMessage", "params", "type", 1, "message",
			       json_sprintf("%s: %s", uri, text)));
}

static void set_text(struct server *s, struct lsp_document *d, const json_t *text, json_int_t version)
{
	size_t size = json_string_length(text);
	char *copy = size <= MAX_TEXT ? malloc(size + 1) : NULL;

	if (!copy) {
		complain(d->uri, "the text is too long; what it was before is kept");
		return;
	}
	memcpy(copy, json_string_value(text), size + 1);
	free(d->text);
	d->text = copy;
	d->size = size;
	d->version = version;
	publish(d, lsp_diagnostics(d, &s->rules));
}

static void did_open(struct server *s, json_t *params)
{
	const char *uri;
	json_t *text;
	json_int_t version = 0;
	struct lsp_document *d;

	if (json_unpack(params, "{s:{s:s, s?I, s:o}}", "textDocument", "uri", &uri, "version", &version, "text", &text) ||
	    !json_is_string(text))
		return;
	d = find(s, uri);
	if (!d && s->ndocuments == MAX_DOCUMENTS) {
		complain(uri, "there are too many open documents");
		return;
	}
	if (!d) {
		d = &s->document[s->ndocuments];
		*d = (struct lsp_document){ .uri = strdup(uri), .text = calloc(1, 1), .path = lsp_path(uri) };
		if (!d->uri || !d->text) {
			document_free(d);
			return;
		}
		s->ndocuments++;
	}
	set_text(s, d, text, version);
}

/* Texts come whole; of several the last one counts. */
static void did_change(struct server *s, json_t *params)
{
	const char *uri;
	json_t *changes, *text, *last;
	json_int_t version = 0;
	struct lsp_document *d;

	if (json_unpack(params, "{s:{s:s, s?I}, s:o}", "textDocument", "uri", &uri, "version", &version, "contentChanges",
			&changes))
		return;
	d = find(s, uri);
	last = json_array_size(changes) ? json_array_get(changes, json_array_size(changes) - 1) : NULL;
	text = json_object_get(last, "text");
	if (!d || !json_is_string(text))
		return;
	if (json_object_get(last, "range"))
		complain(uri, "a part of a text was sent; this server takes whole ones");
	else
		set_text(s, d, text, version);
}

static void did_close(struct server *s, json_t *params)
{
	const char *uri;
	struct lsp_document *d;

	if (json_unpack(params, "{s:{s:s}}", "textDocument", "uri", &uri) || !(d = find(s, uri)))
		return;
	publish(d, json_array());
	document_free(d);
	*d = s->document[--s->ndocuments];
}

/* --- requests ------------------------------------------------------------------------------------ */

static void initialize(struct server *s, const json_t *id, json_t *params)
{
	(void)params;
	s->initialized = true;
	respond(id, json_pack("{s:{s:s, s:{s:b, s:i}, s:b, s:b, s:b}, s:{s:s, s:s}}", "capabilities", "positionEncoding",
			      "utf-16", "textDocumentSync", "openClose", 1, "change", 1, "hoverProvider", 1,
			      "definitionProvider", 1, "documentFormattingProvider", 1, "serverInfo", "name", "cavec",
			      "version", CAVE_VERSION));
}

static void shut_down(struct server *s, const json_t *id, json_t *params)
{
	(void)params;
	s->shut = true;
	respond(id, json_null());
}

/* The document that a request is about; NULL after it was answered with an error. */
static struct lsp_document *asked(struct server *s, const json_t *id, json_t *params)
{
	const char *uri;
	struct lsp_document *d = NULL;

	if (json_unpack(params, "{s:{s:s}}", "textDocument", "uri", &uri) == 0)
		d = find(s, uri);
	if (!d)
		respond_error(id, INVALID_PARAMETERS, "there is no such open document");
	return d;
}

static void at_place(struct server *s, const json_t *id, json_t *params,
		     json_t *(*answer)(const struct lsp_document *, const struct review_options *, size_t))
{
	json_int_t line, character;
	struct lsp_document *d = asked(s, id, params);

	if (!d)
		return;
	if (json_unpack(params, "{s:{s:I, s:I}}", "position", "line", &line, "character", &character))
		respond_error(id, INVALID_PARAMETERS, "there is no position");
	else
		respond(id, answer(d, &s->rules, lsp_offset(d->text, d->size, line, character)));
}

static void hover(struct server *s, const json_t *id, json_t *params)
{
	at_place(s, id, params, lsp_hover);
}

static void definition(struct server *s, const json_t *id, json_t *params)
{
	at_place(s, id, params, lsp_definition);
}

static void formatting(struct server *s, const json_t *id, json_t *params)
{
	struct lsp_document *d = asked(s, id, params);
	const char *error = NULL;
	json_t *edits;

	if (!d)
		return;
	edits = lsp_formatting(d, &error);
	if (edits)
		respond(id, edits);
	else
		respond_error(id, REQUEST_FAILED, error ? error : "out of memory");
}

static void request(struct server *s, const json_t *id, const char *method, json_t *params)
{
	static const struct {
		const char *method;
		void (*run)(struct server *s, const json_t *id, json_t *params);
	} requests[] = {
		{ "initialize", initialize },
		{ "shutdown", shut_down },
		{ "textDocument/hover", hover },
		{ "textDocument/definition", definition },
		{ "textDocument/formatting", formatting },
	};
	bool first = strcmp(method, "initialize") == 0;

	if (!s->initialized && !first) {
		respond_error(id, NOT_INITIALIZED, "initialize comes first");
		return;
	}
	if (s->shut || (s->initialized && first)) {
		respond_error(id, INVALID_REQUEST, s->shut ? "the server was shut down" : "initialize comes once");
		return;
	}
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		if (strcmp(requests[i].method, method) == 0) {
			requests[i].run(s, id, params);
			return;
		}
	respond_error(id, UNKNOWN_METHOD, "this server does not know the method");
}

static void notification(struct server *s, const char *method, json_t *params)
{
	static const struct {
		const char *method;
		void (*run)(struct server *s, json_t *params);
	} notifications[] = {
		{ "textDocument/didOpen", did_open },
		{ "textDocument/didChange", did_change },
		{ "textDocument/didClose", did_close },
	};

	s->ended = strcmp(method, "exit") == 0;
	for (size_t i = 0; s->initialized && !s->shut && i < sizeof notifications / sizeof *notifications; i++)
		if (strcmp(notifications[i].method, method) == 0)
			notifications[i].run(s, params);
}

static void take(struct server *s, const char *text, size_t size)
{
	json_error_t error;
	json_t *message = json_loadb(text, size, 0, &error);
	json_t *id = json_object_get(message, "id"), *method = json_object_get(message, "method");

	if (!message)
		respond_error(NULL, PARSE_ERROR, "the message is not JSON");
	else if (!json_is_object(message) || (id && !json_is_string(id) && !json_is_integer(id)))
		respond_error(NULL, INVALID_REQUEST, "the message is no request");
	else if (json_is_string(method) && id)
		request(s, id, json_string_value(method), json_object_get(message, "params"));
	else if (json_is_string(method))
		notification(s, json_string_value(method), json_object_get(message, "params"));
	else if (!json_object_get(message, "result") && !json_object_get(message, "error"))
		respond_error(id, INVALID_REQUEST, "the message has no method");
	json_decref(message);
}

static int serve(struct server *s)
{
	bool good = true;
	size_t size;
	char *text;

	while (!s->ended && (text = read_message(&size, &good))) {
		take(s, text, size);
		free(text);
	}
	for (size_t i = 0; i < s->ndocuments; i++)
		document_free(&s->document[i]);
	if (!good)
		fputs("cavec lsp: what comes in is not the protocol, cut short, or too long\n", stderr);
	return !good ? EXIT_TROUBLE : s->ended && s->shut ? EXIT_DONE : EXIT_REFUSED;
}

int lsp_main(int argc, char **argv)
{
	enum { OPT_STDIO = 256 };
	static const struct option options[] = {
		{ "stdio", no_argument, NULL, OPT_STDIO },
		REVIEW_OPTIONS,
	};
	struct server *s;
	struct review_options rules = { .programs = true };
	int c, status;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case OPT_STDIO:
			break;
		default:
			if (!review_option(&rules, c, optarg, "lsp", help, &status))
				return status;
		}
	}
	s = optind == argc ? calloc(1, sizeof *s) : NULL;
	if (!s) {
		fputs("cavec lsp: it takes no file; an editor sends them\n", stderr);
		return EXIT_TROUBLE;
	}
	s->rules = rules;
	status = serve(s);
	free(s);
	return status;
}
