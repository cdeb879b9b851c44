/* SPDX-License-Identifier: MIT */
/* /proc/self/mountinfo (Documentation/filesystems/proc.rst, 3.5): which file system is mounted where. */
#ifndef CAVE_RUNTIME_MOUNTINFO_H
#define CAVE_RUNTIME_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/memory.h"

struct mount {
	uint64_t id;
	const char *device; /* "8:1" */
	const char *root; /* the part of the file system that is mounted */
	const char *point;
	const char *options; /* of the mount: "rw,nosuid" */
	const char *type;
	const char *super; /* options of the file system */
};

struct mounts {
	struct mount *mount;
	size_t n;
};

/* Reads all mounts of this process, paths with their escapes undone.  Returns an errno, 0 if all went well. */
int mountinfo_read(struct memory *m, struct mounts *out);

/* A whole file of /proc into memory, NUL-terminated.  Returns an errno. */
int proc_read(struct memory *m, const char *path, char **out);

/* True if `path` is `folder` or lies below it; both absolute and without "." or "..". */
bool path_within(const char *path, const char *folder);

/* True if files of that type of file system are the kernel's own: proc, sysfs, cgroup, bpf and their like. */
bool mount_is_kernel(const char *type);

/*
 * The same of an open file: its file system holds the kernel's own state, not data (/proc/PID/mem, a
 * namespace, a process).
 */
bool is_kernel_file(int fd);

#endif
