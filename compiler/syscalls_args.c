/* SPDX-License-Identifier: MIT */
/*
 * Arguments of system calls: names as the manual pages have them, types as the kernel reads the
 * registers (SYSCALL_DEFINE in the kernel tree).  umode_t is 16 bits in the kernel; ARG_UINT looks
 * at more of it, which can only refuse what the kernel would have cut off.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/syscalls_data.h"

struct args_row {
	const char *call;
	struct syscall_arg arg[SYS_ARGS];
};

/* Sorted by name. */
static const struct args_row rows[] = {
	{ "bind", { { "sockfd", ARG_INT }, { "addr", ARG_POINTER }, { "addrlen", ARG_INT } } },
	{ "chmod", { { "pathname", ARG_POINTER }, { "mode", ARG_UINT } } },
	/* the low 32 bits are the flags (kernel/fork.c), in this order on all three architectures */
	{ "clone", { { "flags", ARG_UINT }, { "stack", ARG_POINTER } } },
	{ "creat", { { "pathname", ARG_POINTER }, { "mode", ARG_UINT } } },
	{ "fchmod", { { "fd", ARG_INT }, { "mode", ARG_UINT } } },
	{ "fchmodat", { { "dirfd", ARG_INT }, { "pathname", ARG_POINTER }, { "mode", ARG_UINT } } },
	{ "fchmodat2",
	  { { "dirfd", ARG_INT },
	    { "pathname", ARG_POINTER },
	    { "mode", ARG_UINT },
	    { "flags", ARG_INT } } },
	/* where arg is a number the kernel makes an int of it (do_fcntl, fs/fcntl.c) */
	{ "fcntl", { { "fd", ARG_INT }, { "cmd", ARG_UINT }, { "arg", ARG_INT } } },
	{ "ioctl", { { "fd", ARG_UINT }, { "request", ARG_UINT }, { "argp", ARG_POINTER } } },
	{ "ioprio_set", { { "which", ARG_INT }, { "who", ARG_INT }, { "ioprio", ARG_INT } } },
	{ "kill", { { "pid", ARG_INT }, { "sig", ARG_INT } } },
	{ "open", { { "pathname", ARG_POINTER }, { "flags", ARG_INT }, { "mode", ARG_UINT } } },
	{ "openat",
	  { { "dirfd", ARG_INT },
	    { "pathname", ARG_POINTER },
	    { "flags", ARG_INT },
	    { "mode", ARG_UINT } } },
	{ "prctl",
	  { { "option", ARG_INT },
	    { "arg2", ARG_ULONG },
	    { "arg3", ARG_ULONG },
	    { "arg4", ARG_ULONG },
	    { "arg5", ARG_ULONG } } },
	{ "prlimit64",
	  { { "pid", ARG_INT },
	    { "resource", ARG_UINT },
	    { "new_limit", ARG_POINTER },
	    { "old_limit", ARG_POINTER } } },
	{ "rt_sigqueueinfo", { { "pid", ARG_INT }, { "sig", ARG_INT }, { "info", ARG_POINTER } } },
	{ "rt_tgsigqueueinfo",
	  { { "tgid", ARG_INT },
	    { "tid", ARG_INT },
	    { "sig", ARG_INT },
	    { "info", ARG_POINTER } } },
	{ "sched_setaffinity",
	  { { "pid", ARG_INT }, { "cpusetsize", ARG_UINT }, { "mask", ARG_POINTER } } },
	{ "sched_setattr", { { "pid", ARG_INT }, { "attr", ARG_POINTER }, { "flags", ARG_UINT } } },
	{ "sched_setparam", { { "pid", ARG_INT }, { "param", ARG_POINTER } } },
	{ "sched_setscheduler",
	  { { "pid", ARG_INT }, { "policy", ARG_INT }, { "param", ARG_POINTER } } },
	{ "setpriority", { { "which", ARG_INT }, { "who", ARG_INT }, { "prio", ARG_INT } } },
	{ "setsockopt",
	  { { "sockfd", ARG_INT },
	    { "level", ARG_INT },
	    { "optname", ARG_INT },
	    { "optval", ARG_POINTER },
	    { "optlen", ARG_INT } } },
	{ "socket", { { "domain", ARG_INT }, { "type", ARG_INT }, { "protocol", ARG_INT } } },
	{ "socketpair",
	  { { "domain", ARG_INT },
	    { "type", ARG_INT },
	    { "protocol", ARG_INT },
	    { "sv", ARG_POINTER } } },
	{ "tgkill", { { "tgid", ARG_INT }, { "tid", ARG_INT }, { "sig", ARG_INT } } },
	{ "tkill", { { "tid", ARG_INT }, { "sig", ARG_INT } } },
};

static int compare_call(const void *call, const void *row)
{
	return strcmp(call, ((const struct args_row *)row)->call);
}

const struct syscall_arg *syscall_args(const char *call)
{
	const struct args_row *row =
		bsearch(call, rows, sizeof rows / sizeof rows[0], sizeof rows[0], compare_call);

	return row ? row->arg : NULL;
}
