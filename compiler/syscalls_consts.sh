#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes compiler/syscalls_consts.tbl: the symbolic constants that conditions may use, from the kernel's own headers
# (Debian: linux-libc-dev, linux-libc-dev-arm64-cross, linux-libc-dev-riscv64-cross), one compile per architecture;
# families and types of sockets, which the kernel does not export, from the C library's.  What is newer than those
# headers stands below.
#
#	compiler/syscalls_consts.sh
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# include/uapi of Linux 6.18: linux/fcntl.h, linux/prctl.h, linux/mman.h, linux/sched.h; O_ASYNC is FASYNC there.
newer() {
	cat <<'END'
F_DUPFD_QUERY 1027
F_CREATED_QUERY 1028
MADV_GUARD_INSTALL 102
MADV_GUARD_REMOVE 103
MAP_DROPPABLE 8
MFD_NOEXEC_SEAL 8
MFD_EXEC 16
O_ASYNC 8192
PR_SET_MDWE 65
PR_GET_MDWE 66
PR_MDWE_REFUSE_EXEC_GAIN 1
PR_SET_MEMORY_MERGE 67
PR_GET_MEMORY_MERGE 68
PR_RISCV_V_SET_CONTROL 69
PR_RISCV_V_GET_CONTROL 70
PR_RISCV_SET_ICACHE_FLUSH_CTX 71
PR_GET_SHADOW_STACK_STATUS 74
PR_SET_SHADOW_STACK_STATUS 75
PR_LOCK_SHADOW_STACK_STATUS 76
PR_TIMER_CREATE_RESTORE_IDS 77
PR_FUTEX_HASH 78
PR_GET_AUXV 0x41555856
SCHED_EXT 7
END
}

# What a condition has use for: flags, options, commands, requests, families.  Sizes, versions and limits are left out.
families='ADDR|AF|ARCH|AT|BLK|BPF_(BTF|ENABLE|ITER|LINK|MAP|OBJ|PROG|RAW|TASK|TOKEN)|CLD|CLOCK|CLONE|CLOSE_RANGE|E?POLL'
families="$families|EFD|FALLOC_FL|FAN|FI[A-Z]*|FIO[A-Z]*|FS_IOC|FUTEX|GRND|IN|IOPRIO|IORING|IP|IPC|IPPROTO|IPV6|ITIMER"
families="$families|KCMP|KEXEC|KEYCTL|LANDLOCK|LINUX_REBOOT_CMD|LOCK|LOOP|MADV|MAP|MCL|MEMBARRIER_CMD|MFD|MLOCK"
families="$families|MODULE_INIT|MOVE_MOUNT|MPOL|MREMAP|MS|MSG|MOUNT_ATTR|NS_GET|O|OPEN_TREE|P|PER|PERF_EVENT_IOC|PF"
families="$families|PIDFD|PKEY|POSIX_FADV|PR|PRIO|PROT|PTRACE|QIF|RENAME|RESOLVE|RLIMIT|RSEQ|RUSAGE|RWF|SCHED|SECCOMP"
families="$families|SEEK|SEM|SFD|SHM|SHUT|SIG|SIO[A-Z]*|SO|SOCK|SOL|SPLICE_F|STATX|SWAP_FLAG|SYNC_FILE_RANGE|TC[A-Z]*"
families="$families|TCP|TFD|TIMER|TIO[A-Z]*|TUN[A-Z]*|UDP|UFFD|UFFDIO|UMOUNT|VT|KD[A-Z]*|W|XATTR|LO|NLM|NETLINK|SIGEV|F|S"
pattern="([RX]_OK|($families)_[A-Z0-9_]*|S_I[A-Z]*|SIG[A-Z0-9]+|FIO[A-Z]+|FI[A-Z]+|SIO[A-Z0-9]+|TC[A-Z0-9]+|TIO[A-Z0-9]+"
pattern="$pattern|TUN[A-Z]+|BLK[A-Z0-9]+|KD[A-Z]+|VT_[A-Z]+|WNOHANG|WUNTRACED|WSTOPPED|WEXITED|WCONTINUED|WNOWAIT|CSIGNAL"
pattern="$pattern|[A-Z]+_IMPLIES_[A-Z]+|UNAME26|WHOLE_SECONDS|STICKY_TIMEOUTS|SHORT_INODE|MMAP_PAGE_ZERO|READ_IMPLIES_EXEC)"

sizes='_(MAX|MIN|LAST|SHIFT|COUNT|SIZE|VERSION|MAX_[A-Z]*)$|_NR_[A-Z]*$|^IN_CLASS|^O_TMPFILE_MASK$'
sizes="$sizes|^(MIN)?SIG(STKSZ|RTMIN|RTMAX)\$"

headers='asm/fcntl asm/ioctls asm/mman asm/poll asm/resource asm/signal asm/socket asm/stat asm/termbits linux/aio_abi linux/bpf
linux/close_range linux/eventfd linux/eventpoll linux/falloc linux/fadvise linux/fanotify linux/fcntl linux/fiemap linux/fs
linux/futex linux/if_tun linux/in linux/in6 linux/inotify linux/io_uring linux/ioprio linux/ipc linux/kcmp linux/kd linux/kexec
linux/keyctl linux/landlock linux/loop linux/membarrier linux/memfd linux/mempolicy linux/mman linux/module linux/mount
linux/netlink linux/nsfs linux/openat2 linux/perf_event linux/personality linux/pidfd linux/prctl linux/ptrace linux/quota
linux/random linux/reboot linux/resource linux/rseq linux/sched linux/seccomp linux/sem linux/shm linux/sockios linux/stat
linux/swab linux/tcp linux/time linux/timerfd linux/tty linux/udp linux/unistd linux/userfaultfd linux/vt linux/wait linux/xattr'

# constants OUT SOURCE FLAG...: "NAME value" of every name of the pattern that SOURCE makes an integer constant.
constants() {
	out=$1 source=$2
	shift 2
	{
		gcc -E -dM "$@" "$source" | sed -nE "s/^#define ($pattern) .*/\1/p"
		gcc -E -P "$@" "$source" | grep -oE "\b$pattern\b"
	} | sort -u | grep -vE "$sizes" >"$work/names"
	while :; do
		{
			cat "$source"
			awk '{ printf "_Static_assert(__builtin_constant_p(%s) && ", $1
				printf "(unsigned long)(%s) + 1, \"\");//%s\n", $1, $1 }' "$work/names"
		} >"$work/try.c"
		gcc -fsyntax-only -fmax-errors=0 "$@" "$work/try.c" 2>&1 |
			sed -nE 's/^[^:]*try\.c:([0-9]+):.*error.*/\1/p' | sort -un >"$work/bad"
		[ -s "$work/bad" ] || break
		awk 'FNR == NR { bad[$1]; next } FNR in bad { sub(/.*\/\//, ""); print }' "$work/bad" "$work/try.c" >"$work/drop"
		grep -vxFf "$work/drop" "$work/names" >"$work/kept"
		mv "$work/kept" "$work/names"
	done
	{
		cat "$source"
		echo 'int printf(const char *, ...); int main(void) {'
		awk '{ printf "printf(\"%s %%ld\\n\", (long)(%s));\n", $1, $1 }' "$work/names"
		echo '}'
	} >"$work/try.c"
	gcc "$@" -o "$work/try" "$work/try.c"
	"$work/try" | sort >"$out"
}

present() {
	folder=$1 asm=$2
	for h in $headers; do
		for f in "$folder/$h.h" "$asm/$h.h"; do
			[ -e "$f" ] && echo "#include <$h.h>" && break
		done
	done
	[ -e "$asm/asm/prctl.h" ] && echo '#include <asm/prctl.h>'
	return 0
}

# What the kernel's headers include of a C library; nothing of it is needed for a constant.
mkdir -p "$work/empty/sys"
for h in limits string stdlib sys/types sys/ioctl sys/socket time sys/time; do
	: >"$work/empty/$h.h"
done
echo 'typedef unsigned long size_t;' | tee "$work/empty/unistd.h" >"$work/empty/stddef.h"

kernel() {
	present "$2" "$3" >"$work/$1.c"
	constants "$work/$1" "$work/$1.c" -w -nostdinc -I"$work/empty" -idirafter "$3" -idirafter "$2"
}
kernel x86_64 /usr/include /usr/include/x86_64-linux-gnu
kernel aarch64 /usr/aarch64-linux-gnu/include /usr/aarch64-linux-gnu/include
kernel riscv64 /usr/riscv64-linux-gnu/include /usr/riscv64-linux-gnu/include

{
	echo '#define _GNU_SOURCE'
	for h in unistd sys/socket sys/wait netinet/in netinet/tcp netinet/udp; do echo "#include <$h.h>"; done
} >"$work/libc.c"
constants "$work/libc.all" "$work/libc.c" -w -O1
grep -E '^((AF|PF|SOCK|SOL|MSG|SHUT|P|IPPROTO)_|[FRWX]_OK)' "$work/libc.all" >"$work/libc"
newer | while read -r name value; do echo "$name $(($value))"; done >"$work/newer"

{
	echo '# Symbolic constants: name, value; or name and the values on x86_64, aarch64, riscv64.  Made by syscalls_consts.sh.'
	awk '
		FILENAME ~ /(libc|newer)$/ { for (i = 1; i <= 3; i++) if (!(($1, i) in v)) v[$1, i] = $2 }
		FILENAME ~ /x86_64$/ { v[$1, 1] = $2 }
		FILENAME ~ /aarch64$/ { v[$1, 2] = $2 }
		FILENAME ~ /riscv64$/ { v[$1, 3] = $2 }
		{ seen[$1] }
		END {
			for (name in seen) {
				# Only these differ; another that is missing is missing from older headers.
				if (name !~ /^(ARCH|MAP|PROT|PTRACE|SIG[A-Z]*|O)(_|$)/ && (name, 1) in v)
					v[name, 2] = v[name, 3] = v[name, 1]
				a = (name, 1) in v ? v[name, 1] : "-"
				b = (name, 2) in v ? v[name, 2] : "-"
				c = (name, 3) in v ? v[name, 3] : "-"
				print name, (a == b && b == c ? a : a " " b " " c)
			}
		}' "$work/x86_64" "$work/aarch64" "$work/riscv64" "$work/libc" "$work/newer" | sort
} >"$work/table"
mv "$work/table" syscalls_consts.tbl
