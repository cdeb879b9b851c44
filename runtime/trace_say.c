/* SPDX-License-Identifier: MIT */
/*
 * The path is read from the tool's memory, which may change meanwhile, and looked up as the tool would have: what is
 * said is about what was there when it was looked at.  Whether Landlock refuses it is found out by opening it in a
 * thread that is in the same kind of domain; only regular files and folders are.
 */
#include "runtime/trace_say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/kernel.h"
#include "runtime/lines.h"
#include "runtime/printable.h"
#include "syscalls_names.h"

enum { SENTENCE_MAX = 2 * PATH_MAX + 512 /* a path may stand in it twice */ };
enum { K_EXECVE_CHECK = 0x10000 /* AT_EXECVE_CHECK, linux/fcntl.h */ };

static const struct trace_call calls[] = {
	{ SYS_openat, 0, 1, 2 },
	{ SYS_unlinkat, 0, 1, TRACE_CHANGES },
	{ SYS_mkdirat, 0, 1, TRACE_CHANGES },
	{ SYS_renameat2, 0, 1, TRACE_CHANGES },
	{ SYS_symlinkat, 1, 2, TRACE_CHANGES },
	{ SYS_linkat, 2, 3, TRACE_CHANGES },
	{ SYS_truncate, -1, 0, TRACE_WRITES },
	{ SYS_execve, -1, 0, TRACE_EXECUTES },
	{ SYS_execveat, 0, 1, TRACE_EXECUTES },
#ifdef SYS_open
	{ SYS_open, -1, 0, 1 },
	{ SYS_creat, -1, 0, TRACE_CHANGES },
	{ SYS_unlink, -1, 0, TRACE_CHANGES },
	{ SYS_rmdir, -1, 0, TRACE_CHANGES },
	{ SYS_mkdir, -1, 0, TRACE_CHANGES },
	{ SYS_rename, -1, 0, TRACE_CHANGES },
	{ SYS_symlink, -1, 1, TRACE_CHANGES },
	{ SYS_link, -1, 1, TRACE_CHANGES },
#endif
#ifdef SYS_renameat
	{ SYS_renameat, 0, 1, TRACE_CHANGES },
#endif
};

const struct trace_call *trace_calls(size_t *n)
{
	*n = sizeof calls / sizeof *calls;
	return calls;
}

/* --- saying ---------------------------------------------------------------------------------------- */

/* Each sentence once, as long as there is room to remember it. */
static bool is_new(struct trace *t, const char *sentence)
{
	uint64_t hash = 14695981039346656037ull; /* FNV-1a */

	for (const char *c = sentence; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	hash += !hash;
	for (size_t i = 0; i < TRACE_SAID; i++) {
		uint64_t *slot = &t->said[(hash + i) % TRACE_SAID];

		if (*slot == hash)
			return false;
		if (!*slot) {
			*slot = hash;
			return true;
		}
	}
	return false;
}

static void say(struct trace *t, char *sentence)
{
	printable(sentence); /* the tool has chosen the names in it */
	if (is_new(t, sentence))
		t->sink->refused(t->sink->context, sentence);
}

/* --- the tool's path ------------------------------------------------------------------------------- */

/* A page at a time: the string may end just before memory that is not there. */
static bool read_string(pid_t pid, uint64_t address, char *out, size_t max)
{
	size_t n = 0;

	while (n < max) {
		size_t part = 4096 - (address + n) % 4096;
		struct iovec to = { out + n, part < max - n ? part : max - n };
		struct iovec from = { (void *)(uintptr_t)(address + n), to.iov_len };
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (got <= 0)
			return false;
		if (memchr(out + n, 0, (size_t)got))
			return true;
		n += (size_t)got;
	}
	return false;
}

static int open_proc(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	return open(path, O_PATH | O_CLOEXEC);
}

/* The folder that the path of this call begins in. */
static int open_start(const struct seccomp_notif *q, const struct trace_call *call, const char *path)
{
	char what[32] = "cwd";
	int at = call->at < 0 ? AT_FDCWD : (int)q->data.args[call->at];

	if (*path == '/')
		snprintf(what, sizeof what, "root");
	else if (at != AT_FDCWD)
		snprintf(what, sizeof what, "fd/%d", at);
	return open_proc((pid_t)q->pid, what);
}

/* An absolute path, and links on the way, begin at the tool's root, which is ours but for mounts. */
static int look_up(int start, const char *path, int flags)
{
	struct k_open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags) };

	if (*path == '/')
		how.resolve = 0x10; /* RESOLVE_IN_ROOT, linux/openat2.h */
	return (int)syscall(SYS_openat2, start, path, &how, sizeof how);
}

/* The folder that the last component is in: where a name is made or taken away. */
static int look_up_parent(int start, const char *path)
{
	char parent[PATH_MAX];
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	snprintf(parent, sizeof parent, "%.*s", (int)n, path);
	return look_up(start, n ? parent : ".", O_DIRECTORY);
}

/* --- what the kernel will say ---------------------------------------------------------------------- */

struct question {
	int ruleset, fd, flags;
	int error;
};

/* Threads that ask are in the domain from then on. */
static bool enter_domain(const struct question *q)
{
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_landlock_restrict_self, q->ruleset, 0);
}

static void *ask_open(void *of)
{
	struct question *q = of;
	char path[32];
	int fd;

	if (!enter_domain(q))
		return NULL;
	snprintf(path, sizeof path, "/proc/self/fd/%d", q->fd);
	fd = open(path, q->flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		q->error = errno;
	else
		close(fd);
	return NULL;
}

/*
 * Whether it would be executed, without doing it (6.14); a kernel that knows no such question says so.  While it looks,
 * nobody may begin to share the root and the directory with who asks: threads and processes of the whole host would
 * fail to start with EAGAIN (check_unsafe_exec() and copy_fs() in the kernel).  So this thread has its own.
 */
static void *ask_execute(void *of)
{
	struct question *q = of;
	char *const none[] = { NULL };

	if (!unshare(CLONE_FS) && enter_domain(q) &&
	    syscall(SYS_execveat, q->fd, "", none, none, AT_EMPTY_PATH | K_EXECVE_CHECK))
		q->error = errno;
	return NULL;
}

static bool is_done(void *(*how)(void *), struct question *q)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, how, q))
		return true;
	pthread_join(thread, NULL);
	return q->error != EACCES && q->error != EROFS;
}

static bool is_opened(const struct trace *t, int fd, int flags)
{
	struct question q = { t->ruleset, fd, flags & O_ACCMODE, 0 };
	struct stat st;

	if (fstat(fd, &st) || !(S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && q.flags == O_RDONLY)))
		return true;
	return is_done(ask_open, &q);
}

static bool is_executed(const struct trace *t, int fd)
{
	struct question q = { .ruleset = t->ruleset, .fd = fd };
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & 0111) || is_done(ask_execute, &q);
}

/* Everything but the write grants is read-only in the tool's mounts; without those, nothing is known. */
static bool is_changed(const struct trace *t, int folder)
{
	struct statvfs st;

	return !t->mounts || fstatvfs(folder, &st) || !(st.f_flag & ST_RDONLY);
}

/* 'r', 'w' or 'x': what will be refused; 0: nothing, as far as is known. */
static char will_refuse(const struct trace *t, const struct seccomp_notif *q, const struct trace_call *call, int start,
			const char *path)
{
	int flags = call->flags == TRACE_WRITES ? O_WRONLY : call->flags < 0 ? 0 : (int)q->data.args[call->flags];
	int fd = call->flags == TRACE_CHANGES ? -1 : look_up(start, path, flags & O_NOFOLLOW);
	bool good = true, executes = call->flags == TRACE_EXECUTES;
	bool writes = !executes && (call->flags < 0 || (flags & O_ACCMODE) != O_RDONLY);

	if (executes) {
		good = fd < 0 || is_executed(t, fd);
	} else if (fd < 0 && (call->flags == TRACE_CHANGES || flags & O_CREAT)) {
		writes = true;
		fd = look_up_parent(start, path);
		good = fd < 0 || is_changed(t, fd);
	} else if (fd >= 0 && !(flags & O_PATH)) {
		good = is_opened(t, fd, flags);
	}
	if (fd >= 0)
		close(fd);
	return good ? 0 : executes ? 'x' : writes ? 'w' : 'r';
}

/* --- sentences ------------------------------------------------------------------------------------- */

static bool in_a_home(const char *path)
{
	return !strncmp(path, "/root/", 6) || !strncmp(path, "/home/", 6);
}

static void say_file(struct trace *t, char kind, const char *path)
{
	char sentence[SENTENCE_MAX];
	const char *word = kind == 'w' ? "write" : "read";

	if (kind == 'w' && in_a_home(path))
		snprintf(sentence, sizeof sentence, "refused by policy: write %s (no rule); try env { set HOME tmp }", path);
	else if (kind == 'x')
		snprintf(sentence, sizeof sentence,
			 "refused by policy: execute %s (no rule); try childProcess { execute \"%s\" }", path, path);
	else if (*path == '/')
		snprintf(sentence, sizeof sentence, "refused by policy: %s %s (no rule); try files { %s \"%s\" }", word, path,
			 word, path);
	else
		snprintf(sentence, sizeof sentence, "refused by policy: %s %s (no rule)", word, path);
	atomic_fetch_add(&t->files, 1);
	say(t, sentence);
}

void trace_say_path(struct trace *t, const struct seccomp_notif *q)
{
	const struct trace_call *call = NULL;
	char path[PATH_MAX], kind = 0;
	int start;

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].nr == (unsigned)q->data.nr)
			call = &calls[i];
	if (!call || !read_string((pid_t)q->pid, q->data.args[call->path], path, sizeof path) || !*path)
		return;
	/* These would be our own. */
	if (!strncmp(path, "/proc/self", 10) || !strncmp(path, "/proc/thread-self", 17))
		return;
	start = open_start(q, call, path);
	if (start < 0)
		return;
	kind = will_refuse(t, q, call, start, path);
	close(start);
	if (kind)
		say_file(t, kind, path);
}

static const char *name_of(int nr)
{
	size_t n = sizeof syscall_names / sizeof *syscall_names;

	return nr >= 0 && (size_t)nr < n && syscall_names[nr] ? syscall_names[nr] : NULL;
}

/* What to write in the profile, for calls that people meet. */
static const char *advice(const struct seccomp_notif *q)
{
	switch (q->data.nr) {
	case SYS_socket:
		return q->data.args[0] == AF_NETLINK ? "; grant: allow netlink route" :
		       q->data.args[0] == AF_UNIX ? "; unix sockets are not granted" :
		       q->data.args[0] == AF_INET || q->data.args[0] == AF_INET6 ? "; try network { allow … }" : "";
	case SYS_clone:
#ifdef SYS_fork
	case SYS_fork:
	case SYS_vfork:
#endif
		return "; childProcess false starts no other process";
	default:
		return "";
	}
}

/* What it is that a script starts, say, and how that can be had. */
static bool describe_exec(const struct seccomp_notif *q, const char *line, char *out, size_t size)
{
	uint64_t at = q->data.nr == SYS_execve ? q->data.args[0] : q->data.nr == SYS_execveat ? q->data.args[1] : 0;
	char path[PATH_MAX];

	if (!at || !read_string((pid_t)q->pid, at, path, sizeof path) || !*path)
		return false;
	snprintf(out, size,
		 "refused by policy: execve %s (%s); childProcess false starts one program only: run that, or "
		 "childProcess { max-processes 0; execute \"%s\" }",
		 path, line, path);
	return true;
}

void trace_say_call(struct trace *t, const struct seccomp_notif *q, int error, size_t by)
{
	char sentence[SENTENCE_MAX], line[256];
	const char *name = name_of(q->data.nr);
	bool has_line = lines_of_filter(t->artefact, ARCH_FILTER, by, line, sizeof line);

	/* What does not exist here libraries do without; unless a line of the profile says so, it is no news. */
	if (error == ENOSYS && !has_line)
		return;
	atomic_fetch_add(&t->calls, 1);
	if (t->artefact->children || !describe_exec(q, has_line ? line : "no rule", sentence, sizeof sentence))
		snprintf(sentence, sizeof sentence, "refused by policy: %s%.0d (%s)%s", name ? name : "a call by number",
			 name ? 0 : q->data.nr, has_line ? line : "no rule", has_line ? "" : advice(q));
	say(t, sentence);
}
