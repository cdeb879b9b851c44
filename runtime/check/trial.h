/* SPDX-License-Identifier: MIT */
/* Trying out one mechanism of this host, for real, and saying what became of it. */
#ifndef CAVE_RUNTIME_CHECK_TRIAL_H
#define CAVE_RUNTIME_CHECK_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/memory.h"
#include "runtime/report.h"

/* What the trials are given. */
struct host {
	bool privileged; /* CAP_SYS_ADMIN: mount namespaces without a user namespace */
	int group, parent; /* control groups: one made for the trials, and the caller's own; -1 if none could be made */
	const struct refusal *no_group; /* why not */
	const char *group_path;
	const char *file; /* a file of one's own that can be written, in `folder` */
	const char *folder;
	struct memory *memory;
};

/* The result, in memory that is shared with the children that try. */
struct trial {
	const struct host *host;
	int error; /* 0: it works; else the errno of the step that failed */
	char detail[240]; /* what was seen, or which step failed */
	bool untried; /* for want of the control group */
};

typedef void trial_fn(struct trial *t);

/* Notes the step that failed, with errno; 0 is EPROTO: it went through and must not have. */
void trial_fail(struct trial *t, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same of a refusal, without the errno at the end of its sentence, which the report says by itself. */
void trial_refused(struct trial *t, const struct refusal *r);

/* Where there is no control group to try it in: notes that, and returns true. */
bool trial_without_group(struct trial *t);

/* Notes that it works. */
void trial_works(struct trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Runs `fn` in a child made with these flags of clone(), in a control group unless that is -1.  A child that ends
 * in another way than by returning has failed.  With CLONE_NEWUSER the child's ids are mapped first.
 */
void trial_in_child(struct trial *t, unsigned long long flags, int cgroup, trial_fn *fn);

/* CLONE_NEWUSER where the caller needs one to be allowed a namespace. */
unsigned long long trial_user_flag(const struct trial *t);

/* Each is a mechanism's trial. */
trial_fn try_seccomp, try_listener; /* try_seccomp.c */
trial_fn try_landlock, try_landlock_truncate, try_landlock_scope; /* try_landlock.c */
trial_fn try_user_namespace, try_pid_namespace, try_read_only, try_write_grant, try_private_proc,
	try_cover; /* try_namespaces.c */
trial_fn try_pidfd, try_death_signal, try_close_range; /* try_processes.c */
trial_fn try_cgroup, try_clone_into_cgroup, try_record, try_cgroup_kill, try_memory, try_pids; /* try_cgroup.c */
trial_fn try_btf, try_connect4, try_connect6, try_sendmsg4, try_sendmsg6, try_bind4, try_bind6, try_sock_create,
	try_egress, try_ingress, try_recvmsg4, try_recvmsg6, try_getpeername4, try_getpeername6; /* try_bpf.c */
trial_fn try_loader, try_resolver, try_reporter; /* try_helpers.c */

#endif
