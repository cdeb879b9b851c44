/* SPDX-License-Identifier: MIT */
#include "runtime/count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "runtime/kernel.h"
#include "runtime/raw.h"

enum {
	LISTED = 4096 + 64, /* processes that can be listed: more than may be granted */
	LIST_BUFFER = 8192,
	STAT_BUFFER = 256,
	NOTIFICATION = 512, /* bytes; the kernel's structures may grow (seccomp(2), SECCOMP_GET_NOTIF_SIZES) */
	PATIENCE = 100, /* rounds of ROUND_MS that a call waits until it is known what became of those before it */
	ROUND_MS = 1,
};

long count_open_proc(void)
{
	long context = SYS2(SYS_fsopen, "proc", K_FSOPEN_CLOEXEC), mount, folder;

	if (context < 0)
		return context;
	mount = SYS5(SYS_fsconfig, context, K_FSCONFIG_SET_STRING, "subset", "pid", 0);
	if (!mount)
		mount = SYS5(SYS_fsconfig, context, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (!mount)
		mount = SYS3(SYS_fsmount, context, K_FSMOUNT_CLOEXEC, 0);
	SYS2(SYS_close, context, 0);
	if (mount < 0)
		return mount;
	folder = SYS4(SYS_openat, mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	SYS2(SYS_close, mount, 0);
	return folder;
}

/* --- what there is -------------------------------------------------------------------------------- */

struct list {
	pid_t pid[LISTED];
	unsigned n;
	pid_t newest;
	bool whole;
};

/* 0 if the name is no number. */
static pid_t number(const char *text)
{
	pid_t n = 0;

	for (; *text >= '0' && *text <= '9' && n < 100000000; text++)
		n = n * 10 + (*text - '0');
	return *text ? 0 : n;
}

/* linux/dirent.h */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void add(struct list *l, pid_t pid)
{
	if (pid <= 1)
		return;
	if (l->n == LISTED) {
		l->whole = false;
		return;
	}
	l->pid[l->n++] = pid;
	if (pid > l->newest)
		l->newest = pid;
}

/* In the order of their numbers, each that is there all the while (next_tgid(), fs/proc/base.c). */
static void list_processes(const struct count *c, struct list *l)
{
	_Alignas(8) char buffer[LIST_BUFFER];
	long n;

	l->n = 0;
	l->newest = 0;
	l->whole = !SYS3(SYS_lseek, c->proc, 0, 0 /* SEEK_SET */);
	while ((n = SYS3(SYS_getdents64, c->proc, buffer, sizeof buffer)) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const void *)(buffer + at);

			add(l, number(e->name));
			at += e->length;
		}
	l->whole &= n == 0;
}

/* "PID/FILE" */
static void path_of(pid_t pid, const char *file, char path[32])
{
	char digits[12];
	unsigned length = 0, at = 0;

	do
		digits[length++] = (char)('0' + pid % 10);
	while (pid /= 10);
	while (length)
		path[at++] = digits[--length];
	path[at++] = '/';
	strcpy(path + at, file);
}

/* Reads /proc/PID/FILE; "" if that fails.  Returns -errno. */
static long read_file(const struct count *c, pid_t pid, const char *file, char text[STAT_BUFFER])
{
	char path[32];
	long fd, n;

	path_of(pid, file, path);
	*text = 0;
	fd = SYS4(SYS_openat, c->proc, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	n = SYS3(SYS_read, fd, text, STAT_BUFFER - 1);
	SYS2(SYS_close, fd, 0);
	text[n > 0 ? n : 0] = 0;
	return n < 0 ? n : 0;
}

/* --- what became of a call that was let through ----------------------------------------------------- */

/* The number at the beginning; -1 if there is none. */
static long leading_number(const char *text)
{
	long n = 0;

	if (*text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9' && n < 100000000; text++)
		n = n * 10 + (*text - '0');
	return n;
}

static bool makes_process(long nr)
{
#ifdef SYS_fork
	if (nr == SYS_fork || nr == SYS_vfork)
		return true;
#endif
	return nr == SYS_clone;
}

/*
 * True if the thread is no longer in that call: it has ended, or waits in another one.  A thread that runs may be there
 * still ("running", proc(5), /proc/PID/syscall).
 */
static bool has_left(const struct count *c, pid_t thread)
{
	char text[STAT_BUFFER];
	long error = read_file(c, thread, "syscall", text), nr;

	if (error == -ENOENT || error == -ESRCH)
		return true;
	if (error || *text == 'r')
		return false;
	nr = leading_number(text);
	return nr >= 0 ? !makes_process(nr) : *text == '-'; /* "-1": blocked, and in none */
}

/* The fields of /proc/PID/stat from the fourth on, after a name that may hold anything; NULL if it cannot be read. */
static const char *stat_fields(const struct count *c, pid_t pid, char text[STAT_BUFFER])
{
	const char *at;

	read_file(c, pid, "stat", text);
	at = strrchr(text, ')');
	return at && at[1] == ' ' && at[2] && at[3] == ' ' ? at + 4 : NULL;
}

static pid_t parent_of(const struct count *c, pid_t pid)
{
	char text[STAT_BUFFER];
	const char *at = stat_fields(c, pid, text);

	return at ? (pid_t)leading_number(at) : -1;
}

/* Of a group that is from before the namespace it is 0.  Who has left that never comes back: it has no number here. */
static pid_t group_of(const struct count *c, pid_t thread)
{
	char text[STAT_BUFFER];
	const char *at = stat_fields(c, thread, text);

	at = at ? strchr(at, ' ') : NULL;
	return at ? (pid_t)leading_number(at + 1) : -1;
}

static pid_t process_of(const struct count *c, pid_t thread)
{
	static const char key[] = "\nTgid:\t";
	char text[STAT_BUFFER], *at;

	read_file(c, thread, "status", text);
	at = strstr(text, key);
	return at ? (pid_t)leading_number(at + sizeof key - 1) : -1;
}

/*
 * True if the grant's process has a child that there was not before: nobody else makes children of it, since neither
 * CLONE_PARENT nor another reaper of orphans than we are is allowed.
 */
static bool has_born(const struct count *c, const struct count_grant *g, const struct list *l)
{
	for (unsigned i = 0; i < l->n && g->alone && g->process > 0; i++)
		if (l->pid[i] > g->newest && parent_of(c, l->pid[i]) == g->process)
			return true;
	return false;
}

static void drop(struct count *c, unsigned i)
{
	c->grant[i] = c->grant[--c->ngrants];
}

static void drop_left(struct count *c)
{
	for (unsigned i = c->ngrants; i-- > 0;)
		if (has_left(c, c->grant[i].thread))
			drop(c, i);
}

static void drop_born(struct count *c, const struct list *l)
{
	for (unsigned i = c->ngrants; i-- > 0;)
		if (has_born(c, &c->grant[i], l))
			drop(c, i);
}

/* --- announcements -------------------------------------------------------------------------------- */

/* A thread that announces a call has left the one before. */
static void settle(struct count *c, pid_t thread)
{
	for (unsigned i = c->ngrants; i-- > 0;)
		if (c->grant[i].thread == thread)
			drop(c, i);
}

static unsigned kind_of(int nr)
{
	switch (nr) {
	case SYS_rt_sigaction:
		return COUNT_ACTION;
	case SYS_kill:
		return COUNT_SIGNALS_OWN;
	case SYS_pidfd_send_signal:
		return COUNT_SIGNALS;
	default:
		return COUNT_MAKES;
	}
}

/* Takes what has been announced, as far as there is room. */
static void take_announcements(struct count *c)
{
	_Alignas(8) char buffer[NOTIFICATION];
	struct pollfd p = { .fd = c->listener, .events = POLLIN };
	struct timespec none = { 0, 0 };

	while (c->nqueue < COUNT_QUEUE && SYS5(SYS_ppoll, &p, 1, &none, NULL, 8) > 0 && p.revents & POLLIN) {
		struct seccomp_notif *n = (void *)buffer;

		memset(buffer, 0, sizeof buffer);
		/* ENOENT: a signal has ended the call meanwhile. */
		if (SYS3(SYS_ioctl, c->listener, SECCOMP_IOCTL_NOTIF_RECV, n))
			break;
		settle(c, (pid_t)n->pid);
		c->queue[c->nqueue++] = (struct count_request){ n->id, (pid_t)n->pid, kind_of(n->data.nr),
								n->data.args[1] };
	}
	if (p.revents & POLLHUP)
		c->listener = -1;
}

static bool respond(const struct count *c, uint64_t id, int error)
{
	_Alignas(8) char buffer[NOTIFICATION] = { 0 };
	struct seccomp_notif_resp *r = (void *)buffer;

	r->id = id;
	r->error = -error;
	r->flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	return !SYS3(SYS_ioctl, c->listener, SECCOMP_IOCTL_NOTIF_SEND, r);
}

static bool has_room(const struct count *c, const struct list *l)
{
	return l->whole && l->n + c->ngrants < c->max && c->ngrants < COUNT_GRANTS;
}

/*
 * Waits until it is certain that there is room, or that there is none.  Where it stays uncertain there is none: a
 * process that never rests after it has made another one, which is gone already, can cause that.
 *
 * In this order: what has left its call before the list is made has its process on it, if it made one that still is;
 * and what is on the list is no longer to come.
 */
static bool find_room(struct count *c, struct list *l)
{
	const struct timespec round = { 0, ROUND_MS * 1000000L };

	list_processes(c, l);
	for (unsigned i = 0; i < PATIENCE && !has_room(c, l) && c->ngrants; i++) {
		if (i)
			SYS2(SYS_nanosleep, &round, NULL);
		take_announcements(c);
		drop_left(c);
		list_processes(c, l);
		drop_born(c, l);
	}
	return has_room(c, l);
}

static void grant(struct count *c, pid_t thread, pid_t newest)
{
	struct count_grant g = { thread, process_of(c, thread), newest, true };

	/* A child that appears now may be that of either. */
	for (unsigned i = 0; i < c->ngrants; i++)
		if (c->grant[i].process == g.process)
			c->grant[i].alone = g.alone = false;
	c->grant[c->ngrants++] = g;
}

/*
 * A signal that comes before we have taken the announcement of a fork ends it with ERESTARTSYS (kernel/seccomp.c),
 * and so with EINTR where the signal's handler does not restart calls: fork() has no such error, and shells give up.
 * SIGCHLD comes just then, so its handlers get SA_RESTART.  What cannot be written is let through as it is.
 */
static void restart_calls(const struct count *c, const struct count_request *q)
{
	/* struct sigaction of the kernel: the handler, then sa_flags, on all our architectures. */
	const uint64_t at = q->action + sizeof(uint64_t);
	uint64_t flags;
	char path[32];
	long fd;

	if (!q->action)
		return;
	path_of(q->thread, "mem", path);
	fd = SYS4(SYS_openat, c->proc, path, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (SYS4(SYS_pread64, fd, &flags, sizeof flags, at) == sizeof flags) {
		flags |= SA_RESTART;
		SYS4(SYS_pwrite64, fd, &flags, sizeof flags, at);
	}
	SYS2(SYS_close, fd, 0);
}

static bool may_signal(const struct count *c, const struct count_request *q)
{
	return q->kind == COUNT_ACTION || c->scoped || (q->kind == COUNT_SIGNALS_OWN && group_of(c, q->thread) > 0);
}

static void answer(struct count *c, struct count_request q)
{
	struct list l;

	if (q.kind == COUNT_ACTION)
		restart_calls(c, &q);
	if (q.kind != COUNT_MAKES) {
		respond(c, q.id, may_signal(c, &q) ? 0 : EPERM);
		return;
	}
	if (!find_room(c, &l)) {
		respond(c, q.id, EAGAIN);
		return;
	}
	/* Before it is let through, since then it may be done at once. */
	grant(c, q.thread, l.newest);
	if (!respond(c, q.id, 0))
		settle(c, q.thread);
}

bool count_answer(struct count *c)
{
	struct count_request q;

	take_announcements(c);
	if (c->nqueue) {
		q = c->queue[0];
		memmove(c->queue, c->queue + 1, --c->nqueue * sizeof *c->queue);
		answer(c, q);
	}
	return c->nqueue;
}
