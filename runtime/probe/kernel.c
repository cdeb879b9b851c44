/* SPDX-License-Identifier: MIT */
/*
 * Calls that no tool needs, made with arguments that do no harm: outside a sandbox each fails for a reason of its
 * own or does nothing of weight; inside it must be refused with EPERM before that reason is found.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

/* One row makes one attempt; a null path makes a call fail with EFAULT after its permission checks. */
#define CALL(function, ...)                                                                        \
	static int function(char *const *arg)                                                      \
	{                                                                                          \
		(void)arg;                                                                         \
		return result(syscall(__VA_ARGS__));                                               \
	}

CALL(sysv_shm, SYS_shmget, 0x63617665, 4096, 0600)
CALL(sysv_shm_attach, SYS_shmat, -1, 0, 0)
CALL(sysv_sem, SYS_semget, 0x63617665, 1, 0600)
CALL(sysv_msg, SYS_msgget, 0x63617665, 0600)
CALL(posix_mq, SYS_mq_open, "cave-probe", O_RDONLY, 0, 0)
CALL(key_add, SYS_add_key, "user", "cave", "x", 1, -1)
CALL(key_request, SYS_request_key, "user", "cave", 0, -1)
CALL(key_control, SYS_keyctl, 0, -1, 0)
CALL(uffd, SYS_userfaultfd, O_CLOEXEC)
CALL(perf, SYS_perf_event_open, 0, 0, -1, -1, 0)
CALL(ring_setup, SYS_io_uring_setup, 1, 0)
CALL(ring_enter, SYS_io_uring_enter, -1, 0, 0, 0, 0, 0)
CALL(ring_register, SYS_io_uring_register, -1, 0, 0, 0)
CALL(aio_setup, SYS_io_setup, 0, 0)
CALL(bpf_map, SYS_bpf, BPF_MAP_CREATE, 0, 0)
CALL(mount_any, SYS_mount, 0, 0, 0, 0, 0)
CALL(umount_any, SYS_umount2, "/nonexistent", 0)
CALL(pivot, SYS_pivot_root, "/nonexistent", "/nonexistent")
CALL(change_root, SYS_chroot, "/")
CALL(tree_clone, SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE)
CALL(mount_move, SYS_move_mount, -1, "", -1, "/", 0)
CALL(fs_open, SYS_fsopen, "tmpfs", 0)
CALL(fs_pick, SYS_fspick, AT_FDCWD, "/", 0)
CALL(fs_mount, SYS_fsmount, -1, 0, 0)
CALL(fs_config, SYS_fsconfig, -1, 0, 0, 0, 0)
CALL(handle_name, SYS_name_to_handle_at, AT_FDCWD, "/", 0, 0, 0)
CALL(handle_open, SYS_open_by_handle_at, -1, 0, 0)
CALL(module_load, SYS_init_module, 0, 0, 0)
CALL(module_file, SYS_finit_module, -1, 0, 0)
CALL(module_delete, SYS_delete_module, 0, 0)
CALL(kexec, SYS_kexec_load, 0, 0, 0, ~0ul)
CALL(swap_on, SYS_swapon, 0, 0)
CALL(swap_off, SYS_swapoff, 0)
CALL(host_name, SYS_sethostname, 0, -1)
CALL(domain_name, SYS_setdomainname, 0, -1)
CALL(set_clock, SYS_clock_settime, 0, 0)
CALL(set_time, SYS_settimeofday, 0, 0)
CALL(adjust_clock, SYS_adjtimex, 0)
CALL(io_permissions, SYS_ioperm, 0x80, 1, 0)
CALL(io_level, SYS_iopl, 0)
CALL(segments, SYS_modify_ldt, 0, 0, 0)
CALL(accounting, SYS_acct, "/nonexistent")
CALL(quota, SYS_quotactl, 0, 0, 0, 0)
CALL(kernel_log, SYS_syslog, 10, 0, 0)
CALL(notify_all, SYS_fanotify_init, 0, O_RDONLY)
CALL(cookie, SYS_lookup_dcookie, 0, 0, 0)
CALL(hang_up, SYS_vhangup)
CALL(move_memory, SYS_move_pages, 0, 0, 0, 0, 0, 0)
CALL(migrate_memory, SYS_migrate_pages, 0, 0, 0, 0)
CALL(advise_other, SYS_process_madvise, -1, 0, 0, 0, 0)
CALL(release_other, SYS_process_mrelease, -1, 0)
CALL(personality_set, SYS_personality, 0x0040000)
CALL(get_root_ids, SYS_setresuid, 0, 0, 0)
CALL(second_filter, SYS_seccomp, 1, 0, 0)

/* Makes everything writable again: mount_setattr with MOUNT_ATTR_RDONLY cleared. */
static int mount_writable(char *const *arg)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return result(syscall(SYS_mount_setattr, AT_FDCWD, arg[0], 0x8000, &attr, sizeof attr));
}

static int remount_writable(char *const *arg)
{
	return result(mount(NULL, arg[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

/* Numbers that are no call of this architecture. */
CALL(x32, 0x40000000 | SYS_getpid)
CALL(x32_socket, 0x40000000 | 41, 2, 1, 0)
CALL(past_table, 100000)
CALL(negative, -1)

/* getpid by the 32-bit table: number 20. */
static int int80(char *const *arg)
{
#if defined(__x86_64__)
	long r = 20;

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "cc");
	(void)arg;
	return r < 0 ? (int)-r : 0;
#else
	(void)arg;
	return ENOSYS;
#endif
}

/* A call by number with six arguments 0. */
static int by_number(char *const *arg)
{
	return result(syscall(number(arg[0]), 0, 0, 0, 0, 0, 0));
}

const struct attempt kernel_attempts[] = {
	{ "shmget", 0, sysv_shm },
	{ "shmat", 0, sysv_shm_attach },
	{ "semget", 0, sysv_sem },
	{ "msgget", 0, sysv_msg },
	{ "mq-open", 0, posix_mq },
	{ "add-key", 0, key_add },
	{ "request-key", 0, key_request },
	{ "keyctl", 0, key_control },
	{ "userfaultfd", 0, uffd },
	{ "perf-event-open", 0, perf },
	{ "io-uring-setup", 0, ring_setup },
	{ "io-uring-enter", 0, ring_enter },
	{ "io-uring-register", 0, ring_register },
	{ "io-setup", 0, aio_setup },
	{ "bpf", 0, bpf_map },
	{ "mount", 0, mount_any },
	{ "umount", 0, umount_any },
	{ "pivot-root", 0, pivot },
	{ "chroot", 0, change_root },
	{ "open-tree", 0, tree_clone },
	{ "move-mount", 0, mount_move },
	{ "fsopen", 0, fs_open },
	{ "fspick", 0, fs_pick },
	{ "fsmount", 0, fs_mount },
	{ "fsconfig", 0, fs_config },
	{ "mount-writable", 1, mount_writable },
	{ "remount-writable", 1, remount_writable },
	{ "name-to-handle", 0, handle_name },
	{ "open-by-handle", 0, handle_open },
	{ "init-module", 0, module_load },
	{ "finit-module", 0, module_file },
	{ "delete-module", 0, module_delete },
	{ "kexec-load", 0, kexec },
	{ "swapon", 0, swap_on },
	{ "swapoff", 0, swap_off },
	{ "sethostname", 0, host_name },
	{ "setdomainname", 0, domain_name },
	{ "clock-settime", 0, set_clock },
	{ "settimeofday", 0, set_time },
	{ "adjtimex", 0, adjust_clock },
	{ "ioperm", 0, io_permissions },
	{ "iopl", 0, io_level },
	{ "modify-ldt", 0, segments },
	{ "acct", 0, accounting },
	{ "quotactl", 0, quota },
	{ "syslog", 0, kernel_log },
	{ "fanotify-init", 0, notify_all },
	{ "lookup-dcookie", 0, cookie },
	{ "vhangup", 0, hang_up },
	{ "move-pages", 0, move_memory },
	{ "migrate-pages", 0, migrate_memory },
	{ "process-madvise", 0, advise_other },
	{ "process-mrelease", 0, release_other },
	{ "personality", 0, personality_set },
	{ "setresuid", 0, get_root_ids },
	{ "seccomp", 0, second_filter },
	{ "x32", 0, x32 },
	{ "x32-socket", 0, x32_socket },
	{ "past-table", 0, past_table },
	{ "negative", 0, negative },
	{ "int80", 0, int80 },
	{ "call", 1, by_number },
	{ NULL, 0, NULL },
};
