/* SPDX-License-Identifier: MIT */
/*
 * The calls that no profile can grant whole, by the promise that each would undo, and those that are
 * granted with the built-in condition only.  docs/syscalls.md shows the same.  What a condition may
 * grant of the former stands in base/may.cave.
 */
#include "compiler/syscalls_promises.h"

#include <string.h>

struct promise {
	const char *text;
	const char *const *calls;
};

#define CALLS(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static const struct promise promises[] = {
	{ "other processes and other programs are what childProcess grants",
	  CALLS("fork", "vfork", "clone", "clone3", "execve", "execveat") },
	{ "every call is judged: a ring makes calls that no filter sees",
	  CALLS("io_uring_setup", "io_uring_enter", "io_uring_register") },
	{ "files and mounts are as the runtime has set them up: no new namespaces, mounts or roots",
	  CALLS("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree",
		"open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
		"mount_setattr") },
	{ "files are opened by path, where the grants are checked",
	  CALLS("name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark") },
	{ "no set-id bits: the mode is out of the filter's sight, or would not be looked at",
	  CALLS("openat2", "mknod", "mknodat") },
	{ "other processes are out of reach",
	  CALLS("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
		"process_mrelease", "pidfd_getfd", "pidfd_send_signal", "kcmp", "migrate_pages",
		"move_pages", "get_robust_list", "prlimit64", "setpriority", "ioprio_set",
		"sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler") },
	{ "signals only inside",
	  CALLS("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo") },
	{ "no memory, queues or keys shared with other processes of the user",
	  CALLS("shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop",
		"msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend",
		"mq_timedreceive", "mq_notify", "mq_getsetattr", "add_key", "request_key",
		"keyctl") },
	{ "the network is what the network block grants, and unix sockets reach nothing outside",
	  CALLS("socket", "socketpair", "listen", "accept", "accept4", "setsockopt") },
	{ "terminals and devices are not to be taken over, nor the signal at the runtime's end to "
	  "be cleared",
	  CALLS("ioctl", "prctl", "setuid", "setgid", "setreuid", "setregid", "setresuid",
		"setresgid", "setfsuid", "setfsgid", "setgroups", "capset") },
	{ "the kernel is not programmed or looked into",
	  CALLS("bpf", "perf_event_open", "userfaultfd", "init_module", "finit_module",
		"delete_module", "kexec_load", "kexec_file_load", "lookup_dcookie", "syslog",
		"create_module", "query_module", "get_kernel_syms") },
};

static const char *const conditional[] = { "open", "openat", "creat", "fcntl", "bind", NULL };

/* Beside the group "metadata". */
static const char *const like_metadata[] = { "truncate", NULL };

static bool listed(const char *const *calls, const char *name)
{
	for (; *calls; calls++)
		if (strcmp(*calls, name) == 0)
			return true;
	return false;
}

/* Of the group "metadata", these only tell. */
static bool only_tells(const char *name)
{
	static const char *const tells[] = { "getxattr",   "lgetxattr",	  "fgetxattr",
					     "getxattrat", "listxattr",	  "llistxattr",
					     "flistxattr", "listxattrat", NULL };

	return listed(tells, name);
}

enum grant syscall_grant(const struct syscall_row *row, const char **promise)
{
	for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++)
		if (listed(promises[i].calls, row->name)) {
			*promise = promises[i].text;
			return GRANT_NEVER;
		}
	if (listed(conditional, row->name))
		return GRANT_CONDITION;
	if ((strcmp(row->group, "metadata") == 0 && !only_tells(row->name)) ||
	    listed(like_metadata, row->name))
		return GRANT_METADATA;
	return GRANT_PLAIN;
}
