/* SPDX-License-Identifier: MIT */
/*
 * Kernel interfaces that are newer than the headers of a supported build host (Debian 12: Linux 6.1), named as
 * the kernel names them, with the file of the kernel tree where each is defined.
 */
#ifndef CAVE_RUNTIME_KERNEL_H
#define CAVE_RUNTIME_KERNEL_H

#include <linux/ioctl.h>
#include <stdint.h>

/* include/uapi/linux/landlock.h; the comment is the ABI that brought it. */
#define LL_FS_EXECUTE (1ULL << 0) /* 1, and so down to MAKE_SYM */
#define LL_FS_WRITE_FILE (1ULL << 1)
#define LL_FS_READ_FILE (1ULL << 2)
#define LL_FS_READ_DIR (1ULL << 3)
#define LL_FS_REMOVE_DIR (1ULL << 4)
#define LL_FS_REMOVE_FILE (1ULL << 5)
#define LL_FS_MAKE_CHAR (1ULL << 6)
#define LL_FS_MAKE_DIR (1ULL << 7)
#define LL_FS_MAKE_REG (1ULL << 8)
#define LL_FS_MAKE_SOCK (1ULL << 9)
#define LL_FS_MAKE_FIFO (1ULL << 10)
#define LL_FS_MAKE_BLOCK (1ULL << 11)
#define LL_FS_MAKE_SYM (1ULL << 12)
#define LL_FS_REFER (1ULL << 13) /* 2 */
#define LL_FS_TRUNCATE (1ULL << 14) /* 3 */
#define LL_FS_IOCTL_DEV (1ULL << 15) /* 5 */
#define LL_NET_BIND_TCP (1ULL << 0) /* 4 */
#define LL_NET_CONNECT_TCP (1ULL << 1) /* 4 */
#define LL_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* 6 */
#define LL_SCOPE_SIGNAL (1ULL << 1) /* 6 */

#define LL_CREATE_RULESET_VERSION (1U << 0)
#define LL_RULE_PATH_BENEATH 1

/* The kernel takes a shorter structure from older programs: 8 bytes is ABI 1, 16 is 4, 24 is 6. */
struct ll_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct ll_path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

/* include/uapi/linux/mount.h, openat2.h, fcntl.h */
#define K_OPEN_TREE_CLONE 1u
#define K_FSOPEN_CLOEXEC 1u
#define K_FSMOUNT_CLOEXEC 1u
#define K_FSCONFIG_SET_STRING 1u
#define K_FSCONFIG_CMD_CREATE 6u
#define K_OPEN_TREE_CLOEXEC 02000000u
#define K_AT_RECURSIVE 0x8000u
#define K_MOVE_MOUNT_F_EMPTY_PATH 0x4u
#define K_MOVE_MOUNT_T_EMPTY_PATH 0x40u
#define K_MOUNT_ATTR_RDONLY 0x1u
#define K_MOUNT_ATTR_NOSUID 0x2u
#define K_MOUNT_ATTR_NODEV 0x4u
#define K_MOUNT_ATTR_NOEXEC 0x8u
#define K_RESOLVE_NO_XDEV 0x1u
#define K_RESOLVE_NO_MAGICLINKS 0x2u
#define K_RESOLVE_NO_SYMLINKS 0x4u
#define K_RESOLVE_BENEATH 0x8u

struct k_mount_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

/* include/uapi/linux/resource.h */
struct k_rlimit {
	uint64_t cur, max;
};

struct k_open_how {
	uint64_t flags, mode, resolve;
};

/* include/uapi/linux/seccomp.h, from Linux 5.19 */
#define K_SECCOMP_WAIT_KILLABLE_RECV (1u << 5)
/* … and from 6.6 */
#define K_SECCOMP_NOTIF_SET_FLAGS 0x40082104u
#define K_SECCOMP_SYNC_WAKE_UP 1u

/* include/uapi/linux/stat.h; the number of the mount came with Linux 5.8. */
#define K_STATX_INO 0x100u
#define K_STATX_MNT_ID 0x1000u

struct k_statx {
	uint32_t mask;
	uint8_t before[28];
	uint64_t ino;
	uint8_t between[96];
	uint32_t device_major, device_minor;
	uint64_t mount_id;
	uint8_t after[104];
};

/* include/uapi/linux/sched.h */
#define K_CLONE_CLEAR_SIGHAND 0x100000000ULL
#define K_CLONE_INTO_CGROUP 0x200000000ULL

struct k_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};

/* include/uapi/linux/wait.h: the id is a pidfd, since Linux 5.4. */
#define K_P_PIDFD 3

/* include/uapi/linux/capability.h, since 5.8: CAP_BPF */
#define CAP_NR_BPF 39

/* include/uapi/linux/pidfd.h, since Linux 6.13; the first size that was published. */
#define K_PIDFD_INFO_CGROUPID (1u << 2)

struct k_pidfd_info {
	uint64_t mask, cgroup_id;
	uint32_t rest[12];
};
#define K_PIDFD_GET_INFO _IOWR(0xFF, 11, struct k_pidfd_info)

/* include/uapi/linux/close_range.h */
#define K_CLOSE_RANGE_CLOEXEC (1u << 2)

/* include/uapi/linux/magic.h, pidfs and nsfs included: file systems whose files are the kernel itself. */
#define K_FS_PROC 0x9fa0
#define K_FS_SYSFS 0x62656572
#define K_FS_CGROUP 0x27e0eb
#define K_FS_CGROUP2 0x63677270
#define K_FS_BPF 0xcafe4a11
#define K_FS_DEBUG 0x64626720
#define K_FS_TRACE 0x74726163
#define K_FS_SECURITY 0x73636673
#define K_FS_CONFIG 0x62656570
#define K_FS_EFIVARS 0xde5e81e4
#define K_FS_SELINUX 0xf97cff8c
#define K_FS_BINFMT 0x42494e4d
#define K_FS_NS 0x6e736673
#define K_FS_PID 0x50494446
#define K_FS_MQUEUE 0x19800202
#define K_FS_SECRETMEM 0x5345434d
#define K_FS_FUSECTL 0x65735543
#define K_FS_RPC 0x67596969
#define K_FS_APPARMOR 0x5a3c69f0
#define K_FS_SMACK 0x43415d53
#define K_FS_PSTORE 0x6165676c
#define K_FS_RESCTRL 0x7655821
#define K_FS_NFSD 0x6e667364

#endif
