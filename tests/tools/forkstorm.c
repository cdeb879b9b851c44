/* SPDX-License-Identifier: MIT */
/*
 * forkstorm THREADS MILLISECONDS [restless|signals]: that many threads make processes, by fork() and vfork(), as fast
 * as they can.  Prints how many there were at once at the most, and whether any was made and any was refused.  A
 * process counts itself, from its first to its last step.
 *
 * With `restless` one thread makes a process that ends at once, and never rests again, so that it stays uncertain what
 * became of that call; the others ask for processes all the while.  With `signals` they send all kinds of signals to
 * the first process of their namespace.  Prints "here" before that.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

struct shared {
	atomic_int live, most, made, refused, stop;
};

struct thread {
	pthread_t thread;
	struct shared *shared;
	unsigned seed;
};

static void live_for(struct shared *s, long ns)
{
	const struct timespec time = { 0, ns };
	int n = atomic_fetch_add(&s->live, 1) + 1, most = atomic_load(&s->most);

	while (n > most && !atomic_compare_exchange_weak(&s->most, &most, n))
		;
	nanosleep(&time, NULL);
	atomic_fetch_sub(&s->live, 1);
}

/* The child of a vfork() shares our memory and does nothing but count. */
static void make_one(struct shared *s, unsigned random)
{
	long ns = random % 2 ? random % 2000000 : 0;
	pid_t pid = random % 3 ? fork() : vfork();

	if (pid == 0) {
		live_for(s, ns);
		_exit(0);
	}
	if (pid > 0) {
		atomic_fetch_add(&s->made, 1);
		waitpid(pid, NULL, 0);
	} else if (errno == EAGAIN) {
		atomic_fetch_add(&s->refused, 1);
		sched_yield();
	} else {
		perror("fork");
		exit(2);
	}
}

static void *storm(void *of)
{
	struct thread *t = of;

	while (!atomic_load(&t->shared->stop))
		make_one(t->shared, (unsigned)rand_r(&t->seed));
	return NULL;
}

/* The C library's fork() lets one thread at a time. */
static void *ask(void *of)
{
	const struct thread *t = of;

	while (!atomic_load(&t->shared->stop))
		if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0)
			syscall(SYS_exit_group, 0);
	return NULL;
}

static void *signal_first(void *of)
{
	const struct thread *t = of;

	while (!atomic_load(&t->shared->stop))
		for (int i = 1; i <= SIGRTMAX; i++)
			if (i != SIGKILL && i != SIGSTOP)
				syscall(SYS_kill, 1, i);
	return NULL;
}

static void *never_rest(void *of)
{
	const struct thread *t = of;

	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0)
		syscall(SYS_exit_group, 0);
	atomic_store(&t->shared->made, 1);
	while (atomic_load(&t->shared->made))
		;
	return NULL;
}

/* Whatever comes back. */
static int begin_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	return write(STDOUT_FILENO, "here\n", 5) != 5;
}

static int begin_restless(struct shared *s)
{
	static struct thread restless;

	restless.shared = s;
	signal(SIGCHLD, SIG_IGN);
	if (pthread_create(&restless.thread, NULL, never_rest, &restless))
		return 2;
	while (!atomic_load(&s->made))
		usleep(1000);
	usleep(100000);
	return write(STDOUT_FILENO, "here\n", 5) != 5;
}

int main(int argc, char **argv)
{
	struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int n = argc == 3 || argc == 4 ? atoi(argv[1]) : 0;
	struct thread thread[THREADS_MAX];
	void *(*work)(void *) = storm;

	if (s == MAP_FAILED || n < 1 || n > THREADS_MAX)
		return 2;
	if (argc == 4) {
		work = strcmp(argv[3], "signals") ? ask : signal_first;
		if (work == ask ? begin_restless(s) : begin_signals())
			return 2;
	}
	for (int i = 0; i < n; i++) {
		thread[i] = (struct thread){ .shared = s, .seed = (unsigned)i };
		if (pthread_create(&thread[i].thread, NULL, work, &thread[i]))
			return 2;
	}
	usleep((useconds_t)atoi(argv[2]) * 1000);
	atomic_store(&s->stop, 1);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i].thread, NULL);
	printf("most %d made %s refused %s\n", atomic_load(&s->most), atomic_load(&s->made) ? "some" : "none",
	       atomic_load(&s->refused) ? "some" : "none");
	return 0;
}
