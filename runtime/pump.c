/* SPDX-License-Identifier: MIT */
#include "runtime/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/thread.h"

enum { PUMP_STACK = 256 << 10, BUFFER = 64 << 10, K_KCMP_FILE = 0 /* include/uapi/linux/kcmp.h */ };

void pump_init(struct pump *p)
{
	*p = (struct pump){ .event = -1, .pidfd = -1 };
	for (unsigned i = 0; i < 2; i++)
		p->stream[i].from = p->stream[i].tool = p->stream[i].to = -1;
}

/* --- the threads ---------------------------------------------------------------------------------- */

static void tell(const struct pump *p)
{
	uint64_t one = 1;

	while (write(p->event, &one, sizeof one) < 0 && errno == EINTR)
		;
}

/* The caller may have made its end non-blocking. */
static void wait_until_writable(struct pump_stream *s)
{
	s->ready = (struct pollfd){ .fd = s->to, .events = POLLOUT };
	poll(&s->ready, 1, -1);
}

static bool write_all(struct pump_stream *s, size_t n)
{
	const char *data = s->buffer;

	while (n) {
		ssize_t wrote = write(s->to, data, n);

		if (wrote < 0 && errno == EAGAIN)
			wait_until_writable(s);
		else if (wrote < 0 && errno != EINTR)
			return false;
		data += wrote > 0 ? wrote : 0;
		n -= wrote > 0 ? (size_t)wrote : 0;
	}
	return true;
}

/* How many of the next `n` bytes may be passed on. */
static size_t allowed(struct pump *p, size_t n)
{
	uint64_t before = atomic_fetch_add(&p->seen, n);

	if (before >= p->limit)
		return 0;
	return p->limit - before < n ? (size_t)(p->limit - before) : n;
}

/* False at the end: nobody writes any more, nobody reads any more, or the limit was passed. */
static bool pass_on(struct pump_stream *s)
{
	ssize_t n = read(s->from, s->buffer, BUFFER);
	size_t may;
	int pidfd;

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	may = allowed(s->pump, (size_t)n);
	if (!write_all(s, may))
		return false;
	if (may == (size_t)n)
		return true;
	atomic_store(&s->pump->full, true);
	/* It may have written more before whoever started it has come to tell us. */
	while ((pidfd = atomic_load(&s->pump->pidfd)) < 0)
		poll(NULL, 0, 1);
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return false;
}

/*
 * Where the reader is gone the pipe is closed, so that the tool gets SIGPIPE as it would have without us.  At the end
 * so is what we write to: its reader waits for the end of file, and may ask for the tool's end only after that.
 */
static void *serve(void *of)
{
	struct pump_stream *s = of;

	while (pass_on(s))
		;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	close(s->from);
	close(s->to);
	s->from = s->to = -1;
	atomic_fetch_sub(&s->pump->left, 1);
	tell(s->pump);
	return NULL;
}

static int start_thread(struct pump_stream *s)
{
	int error = thread_start(&s->thread, PUMP_STACK, serve, s);

	s->running = !error;
	return error;
}

bool pump_start(struct pump *p, struct refusal *r)
{
	int error = 0;

	atomic_store(&p->left, p->n);
	for (unsigned i = 0; i < p->n && !error; i++)
		error = start_thread(&p->stream[i]);
	return !error || refuse_errno(r, CAVE_FAILED, error, "a thread that passes on the tool's output");
}

void pump_started(struct pump *p, int pidfd)
{
	for (unsigned i = 0; i < p->n; i++) {
		close(p->stream[i].tool);
		p->stream[i].tool = -1;
	}
	atomic_store(&p->pidfd, pidfd);
}

/* --- around them ---------------------------------------------------------------------------------- */

/* One open file, not only one file: then what is written through either follows what was written before. */
static bool same_file(int a, int b)
{
	struct stat x, y;
	long order;

	if (a == b)
		return true;
	order = syscall(SYS_kcmp, getpid(), getpid(), K_KCMP_FILE, a, b);
	if (order >= 0)
		return order == 0;
	/* Not built in, or refused to us. */
	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
	       fcntl(a, F_GETFL) == fcntl(b, F_GETFL);
}

static bool make_stream(struct pump *p, int to, struct refusal *r)
{
	struct pump_stream *s = &p->stream[p->n];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return refuse_errno(r, CAVE_FAILED, errno, "a pipe for the tool's output");
	*s = (struct pump_stream){ .pump = p, .from = ends[0], .tool = ends[1], .to = -1 };
	p->n++;
	s->buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->buffer == MAP_FAILED) {
		s->buffer = NULL;
		return refuse_errno(r, CAVE_FAILED, errno, "memory for the tool's output");
	}
	s->to = fcntl(to, F_DUPFD_CLOEXEC, 3);
	return s->to >= 0 || refuse_errno(r, CAVE_FAILED, errno, "the descriptor %d", to);
}

bool pump_make(struct pump *p, uint64_t limit, int standard[3], struct refusal *r)
{
	bool one = same_file(standard[1], standard[2]);

	p->limit = limit;
	p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->event < 0)
		return refuse_errno(r, CAVE_FAILED, errno, "eventfd");
	if (!make_stream(p, standard[1], r) || (!one && !make_stream(p, standard[2], r)))
		return false;
	standard[1] = p->stream[0].tool;
	standard[2] = p->stream[p->n - 1].tool;
	return true;
}

bool pump_full(const struct pump *p)
{
	return atomic_load(&p->full);
}

bool pump_done(const struct pump *p)
{
	return atomic_load(&p->left) == 0;
}

void pump_heard(const struct pump *p)
{
	uint64_t n;

	while (read(p->event, &n, sizeof n) < 0 && errno == EINTR)
		;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* read() and write() are points of cancellation (pthreads(7)), and nothing is held at either. */
void pump_close(struct pump *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct pump_stream *s = &p->stream[i];

		if (s->running) {
			pthread_cancel(s->thread);
			pthread_join(s->thread, NULL);
		}
		if (s->buffer)
			munmap(s->buffer, BUFFER);
		close_if_open(s->from);
		close_if_open(s->tool);
		close_if_open(s->to);
	}
	close_if_open(p->event);
	pump_init(p);
}
