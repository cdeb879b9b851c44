/* SPDX-License-Identifier: MIT */
/*
 * Our filter beside libseccomp's two forms on the container world's default policy, in one run: time to compile,
 * instructions, instructions executed, decisions that the kernel can cache, time to install.  Medians of interleaved
 * runs; it asserts nothing.
 */
#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "compiler/syscalls.h"
#include "tests/container_policy.h"

enum { RUNS = 201, INSTALLS = 101 };
enum way { OURS, PROVED, LINEAR, TREE, WAYS };

static const char *const names[WAYS] = { "cavec, without proof", "cavec, proved", "libseccomp, linear",
					 "libseccomp, tree" };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, compare_double);
	return v[n / 2];
}

/* The policy as data to the filter's bytes. */
static size_t compile(struct arena *a, const struct plain_policy *p, enum way way, const struct sock_filter **out)
{
	struct filter_program f;
	struct gen_error error;
	struct sys_rules rules;
	struct sources sources;
	struct diags diags;

	if (way >= LINEAR)
		return plain_libseccomp(a, p, way == LINEAR ? 1 : 2, out);
	rules = plain_rules(a, p);
	sources_init(&sources, a);
	diags_init(&diags, &sources);
	if (!seccomp_generate(a, &rules, &f, &error) || (way == PROVED && !syscalls_prove(&diags, &rules, &f)))
		return 0;
	*out = f.insn;
	return f.n;
}

static double time_compile(const struct plain_policy *p, enum way way)
{
	struct arena a = { NULL };
	const struct sock_filter *f;
	double start = now(), time;

	if (compile(&a, p, way, &f) == 0)
		exit(2);
	time = now() - start;
	arena_free(&a);
	return time;
}

/* In a child of its own: a filter cannot be taken off again.  0 on another architecture, which it would end. */
static double time_install(const struct sock_filter *f, size_t n)
{
	struct sock_fprog prog = { (unsigned short)n, (struct sock_filter *)f };
	double time = -1;
	int ends[2];
	pid_t child;

	if (seccomp_arch_native() != SCMP_ARCH_X86_64)
		return 0;
	if (pipe(ends) || (child = fork()) < 0)
		exit(2);
	if (child == 0) {
		double start;
		bool ok = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;

		start = now();
		ok = ok && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0;
		time = ok ? now() - start : -1;
		_exit(write(ends[1], &time, sizeof time) != sizeof time);
	}
	close(ends[1]);
	if (read(ends[0], &time, sizeof time) != sizeof time)
		exit(2);
	close(ends[0]);
	waitpid(child, NULL, 0);
	return time;
}

static void print_filter(struct arena *a, const struct plain_policy *p, enum way way, double install)
{
	const struct sock_filter *f;
	size_t n = compile(a, p, way, &f);
	struct executed e = executed(p, f, n);

	printf("%-22s %6zu   %3zu / %5.1f / %3zu   %7.1f   %9.1f   %6zu   %8.0f\n", names[way], n, e.allowed.min,
	       count_mean(&e.allowed), e.allowed.max, count_mean(&e.refused), count_mean(&e.arguments) / 100,
	       e.cached, install);
}

static void compile_times(const struct plain_policy *p)
{
	static double time[WAYS][RUNS];
	double tree;

	for (size_t run = 0; run < RUNS; run++)
		for (enum way way = 0; way < WAYS; way++)
			time[way][run] = time_compile(p, way);
	tree = median(time[TREE], RUNS);
	printf("%-22s %10s %10s\n", "compiling, in process", "us", "of tree");
	for (enum way way = 0; way < WAYS; way++)
		printf("%-22s %10.0f %10.2f\n", names[way], median(time[way], RUNS), median(time[way], RUNS) / tree);
}

static void filters(struct arena *a, const struct plain_policy *p)
{
	static double time[WAYS][INSTALLS];

	for (size_t run = 0; run < INSTALLS; run++)
		for (enum way way = PROVED; way < WAYS; way++) {
			const struct sock_filter *f;
			size_t n = compile(a, p, way, &f);

			time[way][run] = time_install(f, n);
		}
	printf("\n%-22s %6s   %17s   %7s   %9s   %6s   %8s\n", "instructions", "", "executed, allowed", "refused",
	       "arguments", "cached", "install");
	for (enum way way = PROVED; way < WAYS; way++)
		print_filter(a, p, way, median(time[way], INSTALLS));
}

int main(void)
{
	struct arena a = { NULL };
	struct plain_policy p = container_policy(&a);

	if (p.n == 0) {
		fputs("filters: cannot read " CONTAINER_POLICY "\n", stderr);
		return 2;
	}
	compile_times(&p);
	filters(&a, &p);
	arena_free(&a);
	return 0;
}
