/* SPDX-License-Identifier: MIT */
#include "runtime/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/vm.h"
#include "runtime/arch.h"
#include "runtime/thread.h"
#include "runtime/trace_say.h"

enum { NAP_MS = 1, K_WAIT_KILLABLE_RECV = 1 << 5 /* linux/seccomp.h, 5.19 */ };

/* --- the filter ------------------------------------------------------------------------------------ */

/*
 * Asks first for calls that take a path, whatever is decided about them; and then wherever it would refuse with an
 * errno.  A foreign architecture is not asked about: its numbers mean other calls.
 */
static size_t make_variant(const struct sock_filter *insn, size_t n, struct sock_filter *out)
{
	size_t calls, at = 0;
	const struct trace_call *call = trace_calls(&calls);

	out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, artefact_arch_audit(ARCH_FILTER), 0,
						 (uint8_t)(calls + 3));
	out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < calls; i++)
		out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call[i].nr, (uint8_t)(calls - i), 0);
	out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0);
	out[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	for (size_t i = 0; i < n; i++) {
		out[at] = insn[i];
		if (insn[i].code == (BPF_RET | BPF_K) && (insn[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
			out[at].k = SECCOMP_RET_USER_NOTIF;
		at++;
	}
	return at;
}

static long install(const struct sock_fprog *program, unsigned flags)
{
	return arch_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, (long)program, 0, 0, 0);
}

long trace_install(struct trace *t, const struct sock_filter *insn, size_t n)
{
	struct sock_fprog program = { .filter = t->variant };
	long fd;
	int answer;

	memcpy(t->insn, insn, n * sizeof *insn);
	t->n = n;
	program.len = (unsigned short)make_variant(insn, n, t->variant);
	fd = install(&program, SECCOMP_FILTER_FLAG_NEW_LISTENER | K_WAIT_KILLABLE_RECV);
	if (fd == -EINVAL)
		fd = install(&program, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (fd < 0)
		return fd;
	atomic_store(&t->listener, (int)fd);
	/* No call can be made here that the filter might ask about, and it is not long. */
	while (!(answer = atomic_load(&t->answer)))
		;
	return answer > 0 ? 0 : answer;
}

/* --- the thread ------------------------------------------------------------------------------------ */

/*
 * Takes the listener out of the child's table.  The child may have become undumpable by a change of user, and with it
 * we, whose memory it shares: then nobody could take anything from it.
 */
static int take_listener(struct trace *t)
{
	int number, fd;

	while ((number = atomic_load(&t->listener)) < 0)
		if (atomic_load(&t->stop))
			return -1;
		else
			poll(NULL, 0, NAP_MS);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = (int)syscall(SYS_pidfd_getfd, *t->pidfd, number, 0);
	atomic_store(&t->answer, fd < 0 ? -errno : 1);
	return fd;
}

static void answer(struct trace *t, const struct seccomp_notif *q, struct seccomp_notif_resp *out)
{
	size_t by;
	uint32_t decision = cbpf_run_by(t->insn, t->n, &q->data, &by);

	*out = (struct seccomp_notif_resp){ .id = q->id };
	if (decision == SECCOMP_RET_ALLOW) {
		out->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		trace_say_path(t, q);
	} else if ((decision & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO) {
		out->error = -(int)(decision & SECCOMP_RET_DATA);
		trace_say_call(t, q, -out->error, by);
	} else {
		out->error = -EPERM; /* whatever else it was, it was no permission */
	}
}

static void serve(struct trace *t, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (!atomic_load(&t->stop)) {
		/* Larger ones of a later kernel: it writes as much as it knows, and says so at build time only. */
		union {
			struct seccomp_notif q;
			char room[512];
		} in = { .room = { 0 } };
		struct seccomp_notif_resp resp;

		if (poll(&p, 1, 100) <= 0)
			continue;
		if (p.revents & (POLLHUP | POLLERR))
			return;
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &in.q)) {
			if (errno != EINTR && errno != ENOENT)
				return;
			continue;
		}
		answer(t, &in.q, &resp);
		/* ENOENT: the call was interrupted meanwhile.  With anything else it would wait for ever. */
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp) && errno != ENOENT)
			return;
	}
}

static void *run(void *of)
{
	struct trace *t = of;
	int fd = take_listener(t);

	if (fd >= 0) {
		serve(t, fd);
		close(fd);
	}
	return NULL;
}

/* --- around it ------------------------------------------------------------------------------------- */

bool trace_make(struct memory *m, const struct cave_trace *sink, const struct artefact *a, int ruleset,
		struct trace **out, struct refusal *r)
{
	size_t calls, n = a->filter[ARCH_FILTER].n;
	struct trace *t;

	trace_calls(&calls);
	if (n + calls + 5 > BPF_MAXINSNS)
		return refuse(r, CAVE_FAILED, "the policy's filter is too long to be traced");
	t = MEMORY_ARRAY(m, 1, struct trace);
	*out = t;
	t->sink = sink;
	t->artefact = a;
	t->ruleset = fcntl(ruleset, F_DUPFD_CLOEXEC, 3);
	if (t->ruleset < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "what is traced by");
	t->insn = MEMORY_ARRAY(m, n, struct sock_filter);
	t->variant = MEMORY_ARRAY(m, n + calls + 5, struct sock_filter);
	atomic_store(&t->listener, -1);
	return true;
}

bool trace_start(struct trace *t, struct refusal *r)
{
	int error = thread_start(&t->thread, 0, run, t);

	t->running = !error;
	return !error || refuse_errno(r, CAVE_FAILED, error, "a thread to trace the tool");
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	atomic_store(&t->stop, true);
	if (t->running)
		pthread_join(t->thread, NULL);
	t->running = false;
	if (t->ruleset >= 0)
		close(t->ruleset);
	t->ruleset = -1;
}
