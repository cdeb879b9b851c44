/* SPDX-License-Identifier: MIT */
#include "runtime/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/arch.h"

enum {
	HEAD = 256, /* BINPRM_BUF_SIZE, include/uapi/linux/binfmts.h: how much of a #! line counts */
	START = 1024, /* what is read at once: most often the ELF headers and the interpreter's path are in it */
};

static const char default_search[] = "/usr/local/bin:/usr/bin:/bin";

/* --- PATH ----------------------------------------------------------------------------------------- */

/* 0 if `path` is a file that may be executed, else an errno. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

static char *absolute(struct memory *m, const char *path)
{
	char cwd[PATH_MAX];

	if (*path == '/')
		return memory_string(m, path, strlen(path));
	while (path[0] == '.' && path[1] == '/')
		path += 2 + strspn(path + 2, "/");
	return getcwd(cwd, sizeof cwd) ? memory_printf(m, "%s/%s", cwd[1] ? cwd : "", path) : NULL;
}

/*
 * Looks through the caller's PATH.  Elements that are empty or relative are passed over: what they mean
 * depends on where the caller happens to stand.
 */
static const char *search_path(struct memory *m, const char *name, const char *search, int *error)
{
	size_t n;

	*error = ENOENT;
	for (; *search; search += n + (search[n] == ':')) {
		char *path;
		int found;

		n = strcspn(search, ":");
		if (*search != '/')
			continue;
		path = memory_printf(m, "%.*s/%s", (int)n, search, name);
		found = executable(path);
		if (!found)
			return path;
		if (found == EACCES)
			*error = EACCES;
	}
	return NULL;
}

/* The absolute path of `name`, sought as a shell would; NULL with *error. */
static const char *locate(struct memory *m, const char *name, const char *search, int *error)
{
	const char *path;

	if (!strchr(name, '/'))
		return search_path(m, name, search ? search : default_search, error);
	path = absolute(m, name);
	*error = path ? executable(path) : errno;
	return *error ? NULL : path;
}

/* --- #! ------------------------------------------------------------------------------------------- */

static size_t count(char *const *v)
{
	size_t n = 0;

	while (v[n])
		n++;
	return n;
}

/* The words of a #! line before the script's own path; NULL at the end. */
struct words {
	char *word[16];
	size_t n;
	const char *path; /* what to execute: word[0], or where env would find it */
	int error; /* of seeking it, if that failed; else 0 */
};

static bool add_word(struct words *w, char *word)
{
	if (w->n + 1 >= sizeof w->word / sizeof *w->word)
		return false;
	w->word[w->n++] = word;
	w->word[w->n] = NULL;
	return true;
}

/* `env -S` splits its argument; anything but plain words is left to the author to write plainly. */
static bool split(struct words *w, char *text)
{
	if (strpbrk(text, "\"'\\$#"))
		return false;
	for (char *save, *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save))
		if (!add_word(w, word))
			return false;
	return w->n > 0;
}

/* Takes `env` out: its argument is the program, sought in PATH.  NULL, or what cannot be done. */
static const char *resolve_env(struct memory *m, struct words *w, const char *search)
{
	struct words rest = { .n = 0 };
	char *argument = w->word[1];

	if (!argument)
		return "its #! line names no program after env";
	if (!strncmp(argument, "-S", 2)) {
		if (!split(&rest, argument + 2))
			return "its #! line has an env -S that is more than plain words";
	} else if (!add_word(&rest, argument)) {
		return "its #! line is too long";
	}
	if (*rest.word[0] == '-' || strchr(rest.word[0], '='))
		return "its #! line gives env an option or a variable: use env { set … } of the profile";
	rest.path = locate(m, rest.word[0], search, &w->error);
	if (!rest.path)
		return "the program that its #! line gives to env is not found in PATH";
	*w = rest;
	return NULL;
}

static bool is_env(const char *path)
{
	return !strcmp(path, "/usr/bin/env") || !strcmp(path, "/bin/env");
}

/* Splits "#!INTERPRETER ARGUMENT" as load_script() does (fs/binfmt_script.c): one argument, blanks and all. */
static const char *parse_line(struct memory *m, const char *head, size_t n, struct words *w)
{
	const char *newline = memchr(head, '\n', n);
	char *line, *argument;
	size_t length;

	if (!newline && n == HEAD && !memchr(head + 2, ' ', n - 2) && !memchr(head + 2, '\t', n - 2))
		return "its #! line is too long";
	line = memory_string(m, head + 2, (newline ? (size_t)(newline - head) : n) - 2);
	line += strspn(line, " \t");
	for (length = strlen(line); length && strchr(" \t", line[length - 1]); length--)
		line[length - 1] = 0;
	if (*line != '/')
		return "its #! line names no absolute path";
	argument = line + strcspn(line, " \t");
	if (*argument) {
		*argument++ = 0;
		argument += strspn(argument, " \t");
	}
	w->path = line;
	add_word(w, line);
	if (*argument)
		add_word(w, argument);
	return NULL;
}

/* argv of a script becomes: the words of its line, its own path, and its arguments. */
static char **script_argv(struct memory *m, const struct words *w, const char *path, char **argv)
{
	size_t n = count(argv);
	char **out = MEMORY_ARRAY(m, w->n + n + 2, char *);

	memcpy(out, w->word, w->n * sizeof *out);
	out[w->n] = (char *)path;
	if (n)
		memcpy(out + w->n + 1, argv + 1, (n - 1) * sizeof *out);
	return out;
}

/* Returns what is wrong with it; *error is what a shell would make of it. */
static const char *follow_script(struct memory *m, struct program *p, const char *head, size_t n,
				 const char *search, int *error)
{
	struct words w = { .n = 0 };
	const char *fault = parse_line(m, head, n, &w);

	if (!fault && p->nscripts == PROGRAM_SCRIPTS_MAX)
		fault = "too many #! lines lead from one to the next";
	if (!fault && is_env(w.word[0]))
		fault = resolve_env(m, &w, search);
	if (fault) {
		*error = w.error ? w.error : ENOEXEC;
		return fault;
	}
	p->script[p->nscripts++] = p->path;
	p->argv = script_argv(m, &w, p->path, p->argv);
	p->path = w.path;
	return NULL;
}

/* --- ELF ------------------------------------------------------------------------------------------ */

/* An executable file, of which the first bytes have been read. */
struct image {
	int fd;
	char start[START];
	size_t n;
};

static bool read_at(const struct image *i, void *to, size_t n, uint64_t offset)
{
	if (offset > i->n || n > i->n - offset)
		return offset < INT64_MAX && pread(i->fd, to, n, (off_t)offset) == (ssize_t)n;
	memcpy(to, i->start + offset, n);
	return true;
}

/* The path in PT_INTERP, which the kernel opens by itself. */
static const char *read_loader(struct memory *m, const struct image *i, const Elf64_Phdr *segment, struct program *p)
{
	char path[PATH_MAX];

	if (segment->p_filesz < 2 || segment->p_filesz > sizeof path ||
	    !read_at(i, path, segment->p_filesz, segment->p_offset) ||
	    path[segment->p_filesz - 1] || *path != '/')
		return "its ELF interpreter is no absolute path";
	p->loader = memory_string(m, path, strlen(path));
	return NULL;
}

static const char *parse_elf(struct memory *m, const struct image *image, struct program *p)
{
	Elf64_Ehdr h;
	Elf64_Phdr segment;

	if (image->n < sizeof h || memcmp(image->start, ELFMAG, SELFMAG))
		return "it is neither an ELF executable nor a script with a #! line";
	memcpy(&h, image->start, sizeof h);
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != ARCH_ELF_MACHINE)
		return "it is made for another architecture";
	if (h.e_phentsize != sizeof segment)
		return "its ELF header is damaged";
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (!read_at(image, &segment, sizeof segment, h.e_phoff + i * sizeof segment))
			return "its ELF header is damaged";
		if (segment.p_type == PT_INTERP)
			return read_loader(m, image, &segment, p);
	}
	return NULL;
}

/* One file on the way: *done once it is one that the kernel starts by itself. */
static bool examine(struct memory *m, struct program *p, const char *search, bool *done,
		    struct refusal *r)
{
	struct image i;
	const char *fault;
	struct stat st;
	ssize_t n;
	int error = p->nscripts ? executable(p->path) : 0; /* PROGRAM itself was sought as one */

	if (error)
		return refuse_program(r, error, p->path, NULL);
	/* Who may write beside it can have made it another thing meanwhile, such as a pipe that nobody writes to. */
	i.fd = memory_hold(m, openat(AT_FDCWD, p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (i.fd >= 0 && (fstat(i.fd, &st) || !S_ISREG(st.st_mode))) {
		memory_close(m, i.fd);
		return refuse_program(r, EACCES, p->path, "it is no regular file");
	}
	if (i.fd >= 0)
		p->seen[p->nscripts] = (struct program_file){ st.st_dev, st.st_ino };
	if (i.fd < 0 && errno != EACCES)
		return refuse_errno(r, CAVE_FAILED, errno, "cannot read %s", p->path);
	if (i.fd < 0)
		return refuse_program(r, EACCES, p->path, "it must be readable as well");
	error = ENOEXEC;
	n = read(i.fd, i.start, sizeof i.start);
	i.n = n < 0 ? 0 : (size_t)n;
	*done = i.n < 2 || i.start[0] != '#' || i.start[1] != '!';
	if (n < 0)
		fault = "it cannot be read";
	else
		fault = *done ? parse_elf(m, &i, p) :
				follow_script(m, p, i.start, i.n < HEAD ? i.n : HEAD, search, &error);
	memory_close(m, i.fd);
	return fault ? refuse_program(r, error, p->path, fault) : true;
}

bool program_find(struct memory *m, const char *name, const char *script, const char *search,
		  struct program *out, struct refusal *r)
{
	struct program p = { .path = NULL };
	bool done = false;
	int error;

	p.path = locate(m, name, search, &error);
	if (!p.path)
		return refuse_program(r, error, name, strchr(name, '/') ? NULL : "sought in PATH");
	p.argv = MEMORY_ARRAY(m, 3, char *);
	p.argv[0] = (char *)name;
	p.argv[1] = (char *)script;
	while (!done)
		if (!examine(m, &p, search, &done, r))
			return false;
	*out = p;
	return true;
}

char **program_arguments(struct memory *m, const struct program *p, char *const *argv)
{
	size_t before = count(p->argv), n = count(argv);
	char **out = MEMORY_ARRAY(m, before + n + 1, char *);

	memcpy(out, p->argv, before * sizeof *out);
	if (!p->nscripts)
		out[0] = argv[0]; /* a script is named by its path, as the kernel does it */
	memcpy(out + before, argv + 1, (n - 1) * sizeof *out);
	return out;
}

bool program_is_privileged(const char *path)
{
	struct stat st;

	return stat(path, &st) || st.st_mode & (S_ISUID | S_ISGID) ||
	       getxattr(path, "security.capability", NULL, 0) >= 0;
}
