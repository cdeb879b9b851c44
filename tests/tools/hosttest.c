/* SPDX-License-Identifier: MIT */
/*
 * hosttest FOLDER PROBE: a host that uses the library as hosts do, and worse.  FOLDER holds plain.bpf (no grants),
 * write.bpf (writes the workspace), relative.bpf (reads a relative path), pass.bpf (passes WORD), output.bpf (limits
 * its output), family.bpf (may have a child) and a folder w.
 * Prints results as tests/run counts them.
 */
#include <cave.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 9 }; /* a number that the library gets nothing under, which a shell can name */

static const char *folder, *probe;
static struct cave_error error;

static void check(bool holds, const char *name)
{
	if (holds)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %s\n", name, error.text);
	fflush(stdout);
	memset(&error, 0, sizeof error);
}

static const char *in(const char *name)
{
	static char path[8][512];
	static int next;

	next = (next + 1) % 8;
	snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
	return path[next];
}

static struct cave_policy *policy(const char *name)
{
	struct cave_policy *p = NULL;

	if (cave_policy_open(in(name), &p, &error)) {
		check(false, name);
		exit(1);
	}
	return p;
}

static struct cave_options options(void)
{
	return (struct cave_options){ .size = sizeof(struct cave_options), .program = probe };
}

static struct cave_prepared *prepare(struct cave_policy *p, const struct cave_options *o)
{
	struct cave_prepared *prepared = NULL;

	if (cave_prepare(p, o, &prepared, &error)) {
		check(false, "cave_prepare");
		exit(1);
	}
	return prepared;
}

static struct cave_spawn spawning(char **argv)
{
	return (struct cave_spawn){ .size = sizeof(struct cave_spawn), .argv = argv, .standard = { -1, -1, -1 } };
}

/* The number of descriptors that are open. */
static int descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	int n = 0;

	while (list && readdir(list))
		n++;
	if (list)
		closedir(list);
	return n;
}

static int finish(struct cave_tool *tool)
{
	struct cave_result result = { .size = sizeof result };

	if (cave_wait(tool, -1, NULL, &result, &error))
		result.status = -2;
	if (cave_tool_free(tool, &error))
		result.status = -2;
	return result.status;
}

/* The wait status of the probe with these words, its output in `out`; -2 if it was not started. */
static int ask(struct cave_prepared *prepared, char **argv, unsigned flags, char *out, size_t max)
{
	struct cave_spawn s = spawning(argv);
	struct cave_tool *tool;
	size_t n = 0;
	ssize_t got;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return -2;
	s.standard[1] = pipes[1];
	s.flags = flags;
	if (cave_spawn(prepared, &s, &tool, &error)) {
		close(pipes[0]);
		close(pipes[1]);
		return -2;
	}
	close(pipes[1]);
	while (n + 1 < max && (got = read(pipes[0], out + n, max - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = 0;
	close(pipes[0]);
	return finish(tool);
}

static bool says(struct cave_prepared *prepared, char **argv, const char *what)
{
	char out[4096] = "";

	if (ask(prepared, argv, 0, out, sizeof out) == -2)
		return false;
	if (strstr(out, what))
		return true;
	snprintf(error.text, sizeof error.text, "it says '%.200s', not '%s'", out, what);
	return false;
}

#define WORDS(...) ((char *[]){ (char *)probe, __VA_ARGS__, NULL })

/* --- policies ------------------------------------------------------------------------------------- */

static void *file(const char *name, size_t *size)
{
	int fd = open(in(name), O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data;

	fstat(fd, &st);
	data = malloc((size_t)st.st_size);
	*size = (size_t)read(fd, data, (size_t)st.st_size);
	close(fd);
	return data;
}

static void test_policies(void)
{
	struct cave_policy *out = (struct cave_policy *)&error, *p = policy("plain.bpf"), *other = NULL;
	size_t size;
	char *data = file("plain.bpf", &size);
	int fd = open(in("plain.bpf"), O_RDONLY | O_CLOEXEC), before = descriptors();

	check(!strcmp(cave_policy_name(p), "plain"), "a policy has its profile's name");
	check(!cave_policy_open_fd(fd, &other, &error) &&
	      !memcmp(cave_policy_identity(p), cave_policy_identity(other), 32), "the same from a descriptor");
	cave_policy_free(other);
	check(!cave_policy_open_memory(data, size, &other, &error) &&
	      !memcmp(cave_policy_identity(p), cave_policy_identity(other), 32), "the same from memory");
	memset(data, 0, size);
	check(!strcmp(cave_policy_name(other), "plain"), "which is copied");
	cave_policy_free(other);
	check(cave_policy_open_memory(data, size, &out, &error) == CAVE_POLICY_INVALID && error.status == 125 &&
	      out == (struct cave_policy *)&error, "a damaged one is refused, and what was to be set is untouched");
	check(cave_policy_open(in("none.bpf"), &out, NULL) == CAVE_FAILED, "one that is not there, with no error to fill");
	check(cave_policy_open(folder, &out, &error) == CAVE_POLICY_INVALID, "a folder in its place");
	check(cave_policy_open_fd(-1, &out, &error) == CAVE_FAILED, "a descriptor that is none");
	check(descriptors() == before, "policies that were freed or refused leave no descriptor");
	cave_policy_free(p);
	cave_policy_free(NULL);
	close(fd);
	free(data);
}

static enum cave_code refuse_all(void *context, const struct cave_policy *p, char why[CAVE_ERROR_TEXT])
{
	*(const struct cave_policy **)context = p;
	strcpy(why, "not today");
	return CAVE_POLICY_UNTRUSTED;
}

static void test_preparing(void)
{
	const struct cave_policy *asked = NULL;
	struct cave_policy *p = policy("plain.bpf"), *memory = NULL;
	struct cave_prepared *out = NULL;
	struct cave_options o = options();
	int before = descriptors();
	size_t size;
	char *data;

	o.accept = refuse_all;
	o.context = &asked;
	check(cave_prepare(p, &o, &out, &error) == CAVE_POLICY_UNTRUSTED && asked == p &&
	      !strcmp(error.text, "not today"), "the host's rule is asked");
	o = options();
	o.program = "no-such-program";
	check(cave_prepare(p, &o, &out, &error) == CAVE_FAILED && error.status == 127, "no program: 127");
	o.program = folder;
	check(cave_prepare(p, &o, &out, &error) == CAVE_FAILED && error.status == 126, "a folder: 126");
	o = options();
	o.size = 4;
	check(cave_prepare(p, &o, &out, &error) == CAVE_FAILED, "options without their size");
	o = options();
	o.workspace = folder;
	check(cave_prepare(p, &o, &out, &error) == CAVE_FAILED, "a workspace that the policy does not grant");
	data = file("relative.bpf", &size);
	check(!cave_policy_open_memory(data, size, &memory, &error), "a policy with relative grants opens from memory");
	o = options();
	check(cave_prepare(memory, &o, &out, &error) == CAVE_FAILED && strstr(error.text, "relative"),
	      "and cannot be prepared, having no folder");
	cave_policy_free(memory);
	memory = policy("relative.bpf");
	check(!cave_prepare(memory, &o, &out, &error), "control: from its file it can");
	cave_prepared_free(out);
	cave_policy_free(memory);
	check(descriptors() == before, "what was refused or freed leaves no descriptor");
	cave_policy_free(p);
	free(data);
}

/* --- what a tool gets ----------------------------------------------------------------------------- */

static void test_files(void)
{
	struct cave_policy *p = policy("write.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared;
	char path[600];
	int before = descriptors();

	o.workspace = in("w");
	prepared = prepare(p, &o);
	for (int again = 0; again < 3; again++)
		check(says(prepared, WORDS("create", "./made", ",", "unlink", "./made"), "unlink ./made: allow"),
		      "the workspace is written, start after start");
	snprintf(path, sizeof path, "%s/outside", folder);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	check(says(prepared, WORDS("chmod", path), "refused EROFS"), "other files keep their modes, in kept mounts");
	check(says(prepared, WORDS("read", path), "refused EACCES"), "and are not read");
	check(says(prepared, WORDS("setns", "/proc/1/ns/mnt"), "refused"), "no namespace is entered");
	cave_prepared_free(prepared);
	/* A fresh one for each. */
	o.workspace = NULL;
	o.tmpdir = folder;
	prepared = prepare(p, &o);
	for (int again = 0; again < 2; again++)
		check(says(prepared, WORDS("create", "./made"), "create ./made: allowed"), "a fresh workspace is fresh");
	cave_prepared_free(prepared);
	check(descriptors() == before, "and no descriptor is left");
	cave_policy_free(p);
}

static void test_environment(void)
{
	char *const environment[] = { "WORD=passed", "OTHER=kept back", NULL };
	struct cave_policy *p = policy("pass.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared;
	struct cave_spawn s = spawning((char *[]){ "sh", "-c", "echo \"<$WORD><$OTHER>\"; read x; echo \"$x\" >&2", NULL });
	struct cave_tool *tool;
	char text[64] = "";
	int input[2], output[2], errors[2], status;

	o.program = "/bin/sh";
	prepared = prepare(p, &o);
	if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC) || pipe2(errors, O_CLOEXEC))
		exit(1);
	s.environment = environment;
	/* Crossed over: what becomes 1 is our 2, and so on. */
	dup3(input[0], 1, O_CLOEXEC);
	dup3(output[1], 2, O_CLOEXEC);
	dup3(errors[1], 0, O_CLOEXEC);
	s.standard[0] = 1;
	s.standard[1] = 2;
	s.standard[2] = 0;
	status = cave_spawn(prepared, &s, &tool, &error);
	close(input[0]);
	close(output[1]);
	close(errors[1]);
	/* Back to what they were. */
	dup2(3, 0);
	dup2(4, 1);
	dup2(5, 2);
	check(!status, "descriptors 0 to 2 in each other's places");
	if (!status) {
		check(write(input[1], "word\n", 5) == 5 && read(output[0], text, sizeof text) > 0 &&
		      !strcmp(text, "<passed><>\n"), "only what the policy passes of the environment arrives");
		memset(text, 0, sizeof text);
		check(read(errors[0], text, sizeof text) > 0 && !strcmp(text, "word\n"), "each descriptor is in its place");
		check(!finish(tool), "and it ends");
	}
	close(input[1]);
	close(output[0]);
	close(errors[0]);
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

static void test_descriptors(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared;
	struct cave_spawn s;
	struct cave_tool *tool = NULL;
	int pipes[2], null[2], before;
	char byte[32] = "";

	o.program = "/bin/sh";
	prepared = prepare(p, &o);
	if (pipe2(pipes, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, null))
		exit(1);
	s = spawning((char *[]){ "sh", "-c", ":", NULL });
	check(!cave_spawn(prepared, &s, &tool, &error) && !finish(tool), "a first start"); /* its thread stays */
	before = descriptors();
	s = spawning((char *[]){ "sh", "-c", "echo kept >&9", NULL });
	s.keep = (int[]){ KEPT };
	s.nkeep = 1;
	dup3(pipes[1], KEPT, O_CLOEXEC);
	check(!cave_spawn(prepared, &s, &tool, &error) && !finish(tool) && read(pipes[0], byte, sizeof byte) == 5,
	      "one that is close-on-exec in the host is kept if asked for");
	s.nkeep = 0;
	s.argv = (char *[]){ "sh", "-c", "echo kept >&9", NULL };
	check(!cave_spawn(prepared, &s, &tool, &error) && finish(tool), "and is not, if not");
	dup3(0, KEPT, O_CLOEXEC);
	s.standard[0] = null[0];
	check(cave_spawn(prepared, &s, &tool, &error) == CAVE_FAILED && strstr(error.text, "socket"),
	      "a datagram socket is refused");
	s.standard[0] = -1;
	s.keep = (int[]){ KEPT, KEPT - 1 };
	s.nkeep = 2;
	check(cave_spawn(prepared, &s, &tool, &error) == CAVE_FAILED, "and descriptors out of order");
	s.keep = (int[]){ 1 };
	s.nkeep = 1;
	check(cave_spawn(prepared, &s, &tool, &error) == CAVE_FAILED, "and 0 to 2 among them");
	check(descriptors() == before, "none is left of either");
	close(pipes[0]);
	close(pipes[1]);
	close(null[0]);
	close(null[1]);
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

/* --- tools beside each other ---------------------------------------------------------------------- */

static struct cave_tool *waiting(struct cave_prepared *prepared, unsigned flags)
{
	struct cave_spawn s = spawning(WORDS("wait", "60000"));
	struct cave_tool *tool = NULL;

	s.flags = flags;
	return cave_spawn(prepared, &s, &tool, &error) ? NULL : tool;
}

/* The library passes on output that is limited; whoever reads it to the end has not asked for the tool's end yet. */
/* The child of a fork has no part in what its parent has prepared and started. */
static void test_fork(void)
{
	struct cave_options o = options();
	struct cave_policy *p = policy("plain.bpf");
	struct cave_prepared *prepared = prepare(p, &o);
	struct cave_spawn s = spawning(WORDS("wait", "5000"));
	struct cave_tool *tool, *other;
	bool ended = true;
	int status = 0;
	pid_t child;

	ask(prepared, WORDS("exit", "0"), 0, (char[8]){ "" }, 8);
	if (cave_spawn(prepared, &s, &tool, &error)) {
		check(false, "a tool before a fork");
		return;
	}
	child = fork();
	if (!child) {
		alarm(20);
		if (cave_spawn(prepared, &s, &other, &error) != CAVE_FAILED || !strstr(error.text, "forked"))
			_exit(1);
		cave_tool_free(tool, NULL);
		cave_prepared_free(prepared);
		_exit(0);
	}
	waitpid(child, &status, 0);
	check(child > 0 && !status, "a forked child is told that it starts nothing");
	check(!cave_wait(tool, 0, &ended, NULL, &error) && !ended, "and ends nothing");
	cave_tool_free(tool, NULL);
	check(says(prepared, WORDS("ids"), "uid"), "the parent goes on");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

static void test_output(void)
{
	struct cave_options o = options();
	struct cave_policy *p = policy("output.bpf");
	struct cave_prepared *prepared = prepare(p, &o);
	char out[4096] = "";
	int before, status;

	alarm(60);
	ask(prepared, WORDS("exit", "0"), 0, out, sizeof out);
	before = descriptors();
	status = ask(prepared, WORDS("exit", "3"), 0, out, sizeof out);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "limited output comes to its end with its tool");
	status = ask(prepared, WORDS("ids"), CAVE_SPAWN_FROM_CALLER, out, sizeof out);
	check(!status && *out, "and arrives whole");
	check(descriptors() == before, "and leaves no descriptor");
	alarm(0);
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

static void test_apart(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared = prepare(p, &o);
	struct cave_tool *one = waiting(prepared, 0), *two = waiting(prepared, 0);
	char path[64], own[64];

	check(one && two, "two tools of one prepared start");
	if (!one || !two)
		exit(1);
	snprintf(path, sizeof path, "/proc/%d/environ", cave_tool_pid(one));
	snprintf(own, sizeof own, "/proc/self/environ");
	check(says(prepared, WORDS("read", own), "allowed"), "a tool reads its own part of /proc");
	check(says(prepared, WORDS("read", path), "refused"), "not that of another of the same prepared start");
	check(!cave_tool_signal(one, SIGTERM, &error) && finish(one) == SIGTERM, "one is signalled and ends");
	check(cave_tool_signal(two, 0, &error) == CAVE_OK, "the other goes on");
	check(!cave_tool_free(two, &error), "and is ended by being freed");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

struct caller {
	pthread_t thread;
	struct cave_prepared *prepared;
	struct cave_tool *tool;
	unsigned flags;
	int failed;
};

static void *start_one(void *of)
{
	struct caller *c = of;

	c->tool = waiting(c->prepared, c->flags);
	return NULL;
}

/* Started by a thread that is gone when this returns. */
static struct cave_tool *from_thread(struct cave_prepared *prepared, unsigned flags)
{
	struct caller c = { .prepared = prepared, .flags = flags };

	pthread_create(&c.thread, NULL, start_one, &c);
	pthread_join(c.thread, NULL);
	return c.tool;
}

static void test_thread_that_ends(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared = prepare(p, &o);
	struct cave_tool *tool = from_thread(prepared, 0);
	struct cave_result result = { .size = sizeof result };
	bool ended = true;

	check(tool && !cave_wait(tool, 300, &ended, &result, &error) && !ended,
	      "a tool outlives the thread that asked for it");
	cave_tool_free(tool, NULL);
	tool = from_thread(prepared, CAVE_SPAWN_FROM_CALLER);
	check(tool && !cave_wait(tool, 20000, &ended, &result, &error) && ended && result.status == SIGKILL,
	      "CAVE_SPAWN_FROM_CALLER: the tool ends with that thread");
	cave_tool_free(tool, NULL);
	tool = waiting(prepared, 0);
	check(tool != NULL, "one more");
	kill(cave_tool_pid(tool), SIGSTOP);
	check(!cave_tool_free(tool, &error), "a stopped tool is ended by being freed");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

static void *start_many(void *of)
{
	struct caller *c = of;
	char out[256];

	for (int i = 0; i < 12; i++)
		c->failed += ask(c->prepared, WORDS("exit", "0"), i % 2 ? CAVE_SPAWN_FROM_CALLER : 0, out, sizeof out) != 0;
	return NULL;
}

static void test_many(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared = prepare(p, &o);
	struct caller caller[6];
	int failed = 0, before;
	char out[256];

	ask(prepared, WORDS("exit", "0"), 0, out, sizeof out); /* the spare ruleset and the thread are there from now on */
	before = descriptors();
	for (size_t i = 0; i < 6; i++) {
		caller[i] = (struct caller){ .prepared = prepared };
		pthread_create(&caller[i].thread, NULL, start_many, &caller[i]);
	}
	for (size_t i = 0; i < 6; i++) {
		pthread_join(caller[i].thread, NULL);
		failed += caller[i].failed;
	}
	check(!failed, "72 starts by six threads of one prepared start");
	check(descriptors() == before, "leave no descriptor");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

/* --- what becomes of the host --------------------------------------------------------------------- */

/* A start in a host that has these of 0 to 2 closed, so that the library's own descriptors get their numbers. */
static bool starts_without(unsigned closed, const char *of, unsigned flags, int out)
{
	struct cave_options o = options();
	struct cave_prepared *prepared = NULL;
	struct cave_policy *p = NULL;
	struct cave_spawn s = spawning(WORDS("wait", "60000"));
	struct cave_tool *tool;
	size_t size;
	char *data = file(of, &size);

	for (int fd = 0; fd < 3; fd++)
		if (closed >> fd & 1)
			close(fd);
	o.flags = flags;
	s.standard[1] = out;
	return !cave_policy_open_memory(data, size, &p, &error) && !cave_prepare(p, &o, &prepared, &error) &&
	       !cave_spawn(prepared, &s, &tool, &error);
}

/* True if there is one, and its end ends the tool, whose output then does. */
static bool ends_without(unsigned closed, const char *of, unsigned flags)
{
	char text[32] = "";
	size_t n = 0;
	ssize_t got = 1;
	int pipes[2];
	pid_t host;

	if (pipe2(pipes, O_CLOEXEC))
		return false;
	host = fork();
	if (!host) {
		if (starts_without(closed, of, flags, pipes[1])) {
			close(pipes[1]);
			pause();
		}
		_exit(1);
	}
	close(pipes[1]);
	while (got > 0 && n < sizeof text - 1) {
		struct pollfd end = { .fd = pipes[0], .events = POLLIN };

		got = poll(&end, 1, 20000) > 0 ? read(pipes[0], text + n, sizeof text - 1 - n) : -1;
		n += got > 0 ? (size_t)got : 0;
		kill(host, SIGKILL);
	}
	close(pipes[0]);
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	return got == 0 && !strncmp(text, "here", 4);
}

static void test_closed(void)
{
	static const char *const policies[] = { "plain.bpf", "family.bpf" };

	for (unsigned closed = 0; closed < 8; closed++)
		for (unsigned i = 0; i < 4; i++) {
			const char *of = policies[i / 2];
			char name[128];

			snprintf(name, sizeof name, "a host without descriptors%s%s%s%s: %s, %s",
				 closed & 1 ? " 0" : "", closed & 2 ? " 1" : "", closed & 4 ? " 2" : "", closed ? "" : " closed",
				 of, i % 2 ? "for one start" : "for many");
			check(ends_without(closed, of, i % 2 ? CAVE_PREPARE_ONCE : 0), name);
		}
}

/* A host in a process of its own, which ends as `how` says; true if its pipe, which the tool holds, ends too. */
static bool ends_with_host(void (*how)(void))
{
	int pipes[2];
	struct pollfd end;
	char byte;
	pid_t host;

	if (pipe2(pipes, O_CLOEXEC))
		return false;
	host = fork();
	if (!host) {
		struct cave_options o = options();
		struct cave_prepared *prepared = prepare(policy("plain.bpf"), &o);
		struct cave_spawn s = spawning(WORDS("wait", "60000"));
		struct cave_tool *tool;

		s.standard[1] = pipes[1];
		if (cave_spawn(prepared, &s, &tool, &error))
			_exit(1);
		how();
		_exit(1);
	}
	close(pipes[1]);
	end = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	while (poll(&end, 1, 20000) > 0 && read(pipes[0], &byte, 1) > 0)
		;
	close(pipes[0]);
	waitpid(host, NULL, 0);
	return end.revents & POLLHUP;
}

static void abort_host(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	abort();
}

static void kill_host(void)
{
	kill(getpid(), SIGKILL);
}

static void exec_other(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static void leave_host(void)
{
	exit(0);
}

static void test_host_ends(void)
{
	check(ends_with_host(abort_host), "a host that crashes: nothing holds its pipes");
	check(ends_with_host(kill_host), "a host that is killed");
	check(ends_with_host(leave_host), "a host that exits without freeing anything");
	check(ends_with_host(exec_other), "a host that becomes another program");
}

static void test_host_state(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared = prepare(p, &o);
	sigset_t before, after, set;
	struct cave_result result = { .size = sizeof result };
	struct cave_tool *tool;
	char out[256];
	bool ended = false;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	check(!ask(prepared, WORDS("exit", "0"), CAVE_SPAWN_FROM_CALLER, out, sizeof out), "a start with a signal blocked");
	pthread_sigmask(SIG_SETMASK, &before, &after);
	check(sigismember(&after, SIGUSR1) == 1 && sigismember(&after, SIGTERM) == 0, "leaves the mask as it was");
	check(prctl(PR_GET_DUMPABLE) == 1, "and the host dumpable");
	check(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0, "and without no_new_privs");
	signal(SIGCHLD, SIG_IGN);
	tool = waiting(prepared, 0);
	check(tool && !cave_tool_signal(tool, SIGKILL, &error) && !cave_wait(tool, 20000, &ended, &result, &error) &&
	      ended && result.status == -1, "where SIGCHLD is ignored the status is said to be lost");
	cave_tool_free(tool, NULL);
	signal(SIGCHLD, SIG_DFL);
	cave_prepared_free(prepared);
	o.flags = CAVE_PREPARE_ONCE;
	prepared = prepare(p, &o);
	check(!ask(prepared, WORDS("exit", "0"), 0, out, sizeof out), "prepared for one start: that one");
	check(ask(prepared, WORDS("exit", "0"), 0, out, sizeof out) == -2, "and no other");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

static void test_user(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared;

	o.user = "nobody";
	prepared = prepare(p, &o);
	check(says(prepared, WORDS("ids"), "uid 65534"), "another user for the tool");
	check(prctl(PR_GET_DUMPABLE) == 1, "leaves the host dumpable");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

/* PROGRAM is replaced under its name: what was resolved counts, and the new file is never started. */
static void test_replaced(void)
{
	struct cave_policy *p = policy("plain.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared;
	char program[600], other[600], command[1400], out[256];

	snprintf(program, sizeof program, "%s/program", folder);
	snprintf(other, sizeof other, "%s/program.new", folder);
	snprintf(command, sizeof command, "cp '%s' '%s' && cp '%s' '%s'", probe, program, probe, other);
	o.program = program;
	if (system(command))
		exit(1);
	prepared = prepare(p, &o);
	check(!ask(prepared, WORDS("exit", "0"), 0, out, sizeof out), "control: the program that was resolved");
	rename(other, program);
	check(ask(prepared, WORDS("exit", "0"), 0, out, sizeof out) == -2 && error.status == 126,
	      "another one under its name is not started");
	cave_prepared_free(prepared);
	prepared = prepare(p, &o);
	check(!ask(prepared, WORDS("exit", "0"), 0, out, sizeof out), "unless it is prepared anew");
	cave_prepared_free(prepared);
	cave_policy_free(p);
}

/* A file of two lines' worth: "NAME" in folder w. */
static void put(const char *name)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof path, "%s/w/%s", folder, name);
	f = fopen(path, "w");
	if (!f || fputs("text\n", f) < 0 || fclose(f))
		exit(1);
}

/* What is denied is replaced, or comes, after it was resolved: no later start reads it. */
static void test_denied(void)
{
	struct cave_policy *p = policy("deny.bpf");
	struct cave_options o = options();
	struct cave_prepared *prepared;
	char secret[600], other[600], later[600], beside[600], out[256];

	snprintf(secret, sizeof secret, "%s/w/secret", folder);
	snprintf(other, sizeof other, "%s/w/other", folder);
	snprintf(later, sizeof later, "%s/w/later", folder);
	snprintf(beside, sizeof beside, "%s/w/beside", folder);
	put("secret");
	put("beside");
	prepared = prepare(p, &o);
	check(says(prepared, WORDS("read", beside), "allowed"), "control: what is beside a denial is read");
	check(says(prepared, WORDS("read", secret), "refused EACCES"), "what is denied is not");
	put("other");
	rename(other, secret);
	check(ask(prepared, WORDS("read", secret), 0, out, sizeof out) == -2, "nor is another file under its name");
	cave_prepared_free(prepared);
	prepared = prepare(p, &o);
	check(says(prepared, WORDS("read", secret), "refused EACCES"), "prepared anew, neither");
	put("later");
	check(ask(prepared, WORDS("read", later), 0, out, sizeof out) == -2, "nor what was not there before");
	cave_prepared_free(prepared);
	unlink(later);
	unlink(secret);
	unlink(beside);
	cave_policy_free(p);
}

/* In a process of its own: too little memory at any point refuses, and leaves no descriptor. */
static void test_memory(void)
{
	int refused = 0, wrong = 0, started = 0;

	for (long kib = 0; kib < 1200; kib += 24) {
		pid_t host = fork();
		int status = 0;

		if (!host) {
			struct cave_options o = options();
			struct cave_prepared *prepared = NULL;
			struct cave_policy *p = NULL;
			struct rlimit limit;
			struct cave_error e = { .code = CAVE_OK };
			char line[256] = "";
			int before = descriptors(), fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
			enum cave_code code;

			if (read(fd, line, sizeof line - 1) < 0)
				_exit(3);
			close(fd);
			limit.rlim_cur = limit.rlim_max = (rlim_t)(atol(line) * 4096 + kib * 1024);
			setrlimit(RLIMIT_AS, &limit);
			code = cave_policy_open(in("write.bpf"), &p, &e);
			if (!code)
				code = cave_prepare(p, &o, &prepared, &e);
			cave_prepared_free(prepared);
			cave_policy_free(p);
			if (code && !strstr(e.text, "memory"))
				_exit(3);
			limit.rlim_cur = limit.rlim_max;
			_exit(descriptors() > before ? 2 : code ? 1 : 0);
		}
		waitpid(host, &status, 0);
		wrong += !WIFEXITED(status) || WEXITSTATUS(status) > 1;
		refused += WIFEXITED(status) && WEXITSTATUS(status) == 1;
		started += status == 0;
	}
	check(!wrong, "with too little memory it is refused, whole");
	check(refused > 0 && started > 0, "control: some had too little, some enough");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	folder = argv[1];
	probe = argv[2];
	/* Under known numbers, to come back to. */
	for (int fd = 0; fd < 3; fd++)
		fcntl(fd, F_DUPFD_CLOEXEC, 3);
	dup3(0, KEPT, O_CLOEXEC);
	test_policies();
	test_preparing();
	test_files();
	test_environment();
	test_descriptors();
	test_output();
	test_fork();
	test_apart();
	test_thread_that_ends();
	test_many();
	test_host_ends();
	test_closed();
	test_host_state();
	if (!geteuid())
		test_user();
	test_replaced();
	test_denied();
	test_memory();
	return 0;
}
