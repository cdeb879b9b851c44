/* SPDX-License-Identifier: MIT */
/*
 * cave-load: loads the egress programs of an artefact and attaches them to a control group.
 *
 * Started by caverun with its descriptors (runtime/load_protocol.h).  Answers in one sentence and ends; the
 * programs live as long as the group.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/artefact.h"
#include "runtime/kept_record.h"
#include "runtime/load_info.h"
#include "runtime/load_maps.h"
#include "runtime/load_protocol.h"

enum { LOG_SIZE = 16 << 20, LOG_SHOWN = 500, THREADS_MAX = 4 };

static const struct hook {
	const char *section;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
} hooks[CAVE_HOOK_COUNT] = {
#define X(symbol, section_name, prog_type, attach_type) { section_name, prog_type, attach_type },
	CAVE_HOOKS(X)
#undef X
};

/* What one thread needs to know to load a program, and what all of them have done. */
struct loading {
	const struct artefact *artefact;
	char **argv;
	struct load_info info;
	struct load_maps maps;
	size_t n;
	atomic_size_t next; /* the one that nobody has begun to load */
	int program[CAVE_HOOK_COUNT];
};

/* Held by the one thread that answers, for ever. */
static pthread_mutex_t answering = PTHREAD_MUTEX_INITIALIZER;

/* Answers and ends; what comes after the format's text is the kernel's version, which decides so often. */
__attribute__((noreturn, format(printf, 2, 3))) static void answer(int error, const char *format, ...)
{
	char text[LOAD_ANSWER_MAX];
	struct utsname kernel;
	va_list ap;
	int n;

	pthread_mutex_lock(&answering);
	va_start(ap, format);
	n = vsnprintf(text, sizeof text - 160, format, ap);
	va_end(ap);
	if (n > (int)sizeof text - 161)
		n = (int)sizeof text - 161;
	if (error && !uname(&kernel))
		n += snprintf(text + n, sizeof text - (size_t)n, ": %s (errno %d, Linux %.60s)",
			      strerror(error), error, kernel.release);
	if (write(LOAD_FD_FIRST + LOAD_ANSWER, text, (size_t)n) != n)
		_exit(2);
	_exit(strcmp(text, LOAD_OK) ? 1 : 0);
}

static void open_artefact(struct artefact *out)
{
	struct artefact_error error;
	struct stat st;
	void *data;

	if (fstat(LOAD_FD_FIRST + LOAD_ARTEFACT, &st))
		answer(errno, "cave-load is started by caverun; its first descriptor");
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, LOAD_FD_FIRST + LOAD_ARTEFACT, 0);
	if (data == MAP_FAILED)
		answer(errno, "cannot map the policy");
	if (!artefact_open(data, (size_t)st.st_size, out, &error))
		answer(EINVAL, "the policy is invalid: %s", error.text);
	if (!(out->requires & CAVE_REQUIRE_EGRESS))
		answer(EINVAL, "the policy has no network programs");
}

/* The licence is asked for by helpers of the kernel that are for GPL-compatible programs only. */
static const char *license(const struct artefact *a)
{
	const struct artefact_section *s = artefact_section(a, "license");

	return s && s->size && s->size <= 128 && !((const char *)s->data)[s->size - 1] ? s->data : "";
}

/* The end of the verifier's log, on one line and without its statistics: what it found, and the profile's line. */
static const char *end_of(char *log)
{
	char *stats = strstr(log, "\nprocessed ");
	size_t n;

	if (stats)
		*stats = 0;
	n = strlen(log);
	for (size_t i = 0; i < n; i++)
		if (log[i] < ' ' || log[i] > '~')
			log[i] = log[i] == '\n' ? '|' : ' ';
	while (n && (log[n - 1] == '|' || log[n - 1] == ' '))
		log[--n] = 0;
	return n > LOG_SHOWN ? log + n - LOG_SHOWN : log;
}

/* Why the kernel did not take the program: each cause has its own sentence. */
__attribute__((noreturn)) static void load_failed(const struct hook *hook, int error, char *log)
{
	/* caverun has seen the capabilities. */
	if (error == EPERM && !*log)
		answer(error, "loading %s is not permitted although the capabilities are there: "
			      "this is a user namespace, or the kernel is locked down", hook->section);
	if (*log)
		answer(error, "the verifier refuses the policy's program for %s; its log ends in \"%s\"",
		       hook->section, end_of(log));
	if (error == ENOMEM)
		answer(error, "loading %s; kernels before 5.11 count it against RLIMIT_MEMLOCK",
		       hook->section);
	answer(error, "this kernel does not take a program for %s", hook->section);
}

/* "cgroup/connect4" is shown as cave_connect4, as far as BPF_OBJ_NAME_LEN (linux/bpf.h) goes. */
static void name_of(const struct hook *hook, char name[BPF_OBJ_NAME_LEN])
{
	snprintf(name, BPF_OBJ_NAME_LEN, "cave_%.10s", strrchr(hook->section, '/') + 1);
}

/* The name servers that caverun has read; a policy without places for them has no use for any. */
static size_t read_resolvers(char **argv, struct artefact_address out[CAVE_RESOLVERS])
{
	size_t n = 0;

	for (; argv[n + 1]; n++) {
		struct artefact_address a;
		unsigned six;

		if (n == CAVE_RESOLVERS || sscanf(argv[n + 1], "%u:%x:%x:%x:%x", &six, &a.word[0], &a.word[1],
						  &a.word[2], &a.word[3]) != 5)
			answer(EINVAL, "cave-load is started by caverun; its arguments");
		a.six = six != 0;
		out[n] = a;
	}
	return n;
}

/* The program with its functions, the name servers in their places, and its maps. */
static struct bpf_insn *complete(const struct artefact *a, size_t i, const struct artefact_whole *whole, char **argv,
				 const struct load_maps *maps)
{
	struct artefact_address address[CAVE_RESOLVERS];
	size_t n = read_resolvers(argv, address);
	struct bpf_insn *insn;

	if (a->nresolver && !n)
		answer(EINVAL, "the policy grants the host's name servers, and none was given");
	insn = malloc(whole->n * sizeof *insn);
	if (!insn)
		answer(ENOMEM, "no memory for a program");
	artefact_link(a, (enum cave_hook)i, whole, insn);
	load_maps_refer(maps, insn, whole->n);
	artefact_resolver_fill(a->resolver, a->nresolver, (enum cave_hook)i, address, n, insn);
	return insn;
}

static int try_load(const struct hook *hook, const struct artefact *a, const struct artefact_whole *whole,
		    const struct bpf_insn *insn, const struct load_info *info, char *log)
{
	union bpf_attr attr;
	void *records[2];
	int fd;

	memset(&attr, 0, sizeof attr);
	attr.prog_type = hook->type;
	attr.expected_attach_type = hook->attach;
	attr.license = (uintptr_t)license(a);
	attr.insns = (uintptr_t)insn;
	attr.insn_cnt = (uint32_t)whole->n;
	name_of(hook, attr.prog_name);
	load_info_fill(info, hook->section, whole, &attr, records);
	if (log) {
		attr.log_buf = (uintptr_t)log;
		attr.log_size = LOG_SIZE;
		attr.log_level = 1;
	}
	fd = load_bpf(BPF_PROG_LOAD, &attr);
	free(records[0]);
	free(records[1]);
	return fd;
}

static int load(const struct loading *l, size_t i)
{
	const struct artefact *a = l->artefact;
	struct artefact_whole whole;
	struct bpf_insn *insn;
	int fd, error;
	char *log;

	artefact_whole(a, (enum cave_hook)i, &whole);
	insn = complete(a, i, &whole, l->argv, &l->maps);
	fd = try_load(&hooks[i], a, &whole, insn, &l->info, NULL);
	error = errno;

	if (fd < 0) {
		/* Again, for the log: it costs too much to ask for it every time. */
		log = calloc(1, LOG_SIZE);
		fd = log ? try_load(&hooks[i], a, &whole, insn, &l->info, log) : -1;
		if (fd < 0)
			load_failed(&hooks[i], error, log ? log : (char[]){ "" });
		free(log);
	}
	free(insn);
	return fd;
}

/* The packets' programs, which are last, take the longest. */
static void *load_some(void *of)
{
	struct loading *l = of;
	size_t done;

	while ((done = atomic_fetch_add(&l->next, 1)) < l->n) {
		size_t i = l->n - 1 - done;

		l->program[i] = load(l, i);
	}
	return NULL;
}

/* The verifier takes nearly all the time, and takes as many programs at once as there are processors. */
static void load_all(struct loading *l)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[THREADS_MAX];
	long n = 1;

	/* Where there is no thread to be had, it takes longer. */
	while (n < processors && n < THREADS_MAX && !pthread_create(&thread[n], NULL, load_some, l))
		n++;
	load_some(l);
	while (--n > 0)
		pthread_join(thread[n], NULL);
}

static void create_maps(const struct artefact *a, const struct load_info *info, struct load_maps *out)
{
	const char *bad = load_maps_create(a, info, out);

	if (bad)
		answer(errno, "cannot create the map %s of the policy's programs", bad);
}

static void attach(size_t i, int program)
{
	if (!load_bpf_attach(program, LOAD_FD_FIRST + LOAD_CGROUP, hooks[i].attach))
		return;
	if (errno == EPERM)
		answer(errno, "attaching %s is not permitted: a program higher up in the hierarchy was "
			      "attached so that none may be below it", hooks[i].section);
	answer(errno, "cannot attach a program to %s", hooks[i].section);
}

enum { EFFECTIVE_MAX = 2048 }; /* BPF_CGROUP_MAX_PROGS (kernel/bpf/cgroup.c) for each of 32 levels */

struct attached {
	uint32_t id[EFFECTIVE_MAX];
	uint32_t n;
};

static void query(int cgroup, size_t i, uint32_t how, struct attached *out)
{
	out->n = EFFECTIVE_MAX;
	if (load_bpf_query(cgroup, hooks[i].attach, how, out->id, &out->n))
		answer(errno, "cannot ask what is attached to %s", hooks[i].section);
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* What was asked for is not what counts: the group must hold this program on this hook, and no other. */
static void verify(size_t i, int program)
{
	struct attached own;
	uint32_t id = load_bpf_id(program);

	query(LOAD_FD_FIRST + LOAD_CGROUP, i, 0, &own);
	if (own.n != 1 || !id || own.id[0] != id)
		answer(EBADE, "%s holds %u programs in place of the policy's one", hooks[i].section, own.n);
}

/*
 * What binds the caller must bind the tool: a program that is attached with BPF_F_ALLOW_OVERRIDE is passed over
 * in a group that has one of its own (compute_effective_progs(), kernel/bpf/cgroup.c).
 */
static void verify_inherited(size_t i, int program)
{
	struct attached callers, tools;

	query(LOAD_FD_FIRST + LOAD_PARENT, i, BPF_F_QUERY_EFFECTIVE, &callers);
	query(LOAD_FD_FIRST + LOAD_CGROUP, i, BPF_F_QUERY_EFFECTIVE, &tools);
	if (callers.n < EFFECTIVE_MAX)
		callers.id[callers.n++] = load_bpf_id(program);
	qsort(callers.id, callers.n, sizeof *callers.id, ascending);
	qsort(tools.id, tools.n, sizeof *tools.id, ascending);
	if (callers.n != tools.n || memcmp(callers.id, tools.id, tools.n * sizeof *tools.id))
		answer(EBADE, "a program on %s that binds the caller would not bind the tool; attach it to the "
			      "caller's group with 'multi' in place of 'override'", hooks[i].section);
}

/* Last of all: from here on the group counts as finished. */
static void record(const struct artefact *a, const int *program, size_t n)
{
	struct kept_record kept = { .name = "" };
	struct artefact_record r;
	int error;

	memcpy(kept.identity, a->identity, sizeof kept.identity);
	for (size_t at = 0; artefact_next(a, &at, &r);)
		if (r.type == CAVE_RECORD_NAME)
			memcpy(kept.name, r.payload, r.length);
	for (size_t i = 0; i < n; i++)
		kept.id[i] = load_bpf_id(program[i]);
	error = kept_record_write(LOAD_FD_FIRST + LOAD_CGROUP, &kept);
	if (error)
		answer(error, "cannot enter on the control group which programs are the policy's");
}

/* Before Linux 5.11 programs and maps count against this limit. */
static void raise_limit(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	/* Where it is not permitted, the kernel says so if it matters. */
	if (setrlimit(RLIMIT_MEMLOCK, &all))
		return;
}

int main(int argc, char **argv)
{
	static struct loading l;
	struct artefact a;

	if (argc < 1)
		answer(EINVAL, "cave-load is started by caverun; its arguments");
	raise_limit();
	open_artefact(&a);
	l.artefact = &a;
	l.argv = argv;
	l.n = a.host_record ? CAVE_HOOK_COUNT : CAVE_HOOK_NAMES;
	load_info_open(&a, &l.info);
	create_maps(&a, &l.info, &l.maps);
	load_all(&l);
	for (size_t i = 0; i < l.n; i++)
		attach(i, l.program[i]);
	for (size_t i = 0; i < l.n; i++)
		verify(i, l.program[i]);
	for (size_t i = 0; i < l.n; i++)
		verify_inherited(i, l.program[i]);
	record(&a, l.program, l.n);
	load_info_close(&l.info);
	load_maps_close(&l.maps);
	answer(0, LOAD_OK);
}
