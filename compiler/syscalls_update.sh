#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes compiler/syscalls.tbl again: the numbers from the kernel's own headers (Debian: linux-libc-dev,
# linux-libc-dev-arm64-cross, linux-libc-dev-riscv64-cross), then the calls that are newer than those headers,
# below.  The group of a call is kept from the table that is there; a call without one is named and ends the
# run, because somebody has to decide.
#
#	compiler/syscalls_update.sh
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name x86_64 aarch64 riscv64: arch/*/kernel/syscalls/*.tbl and scripts/syscall.tbl of Linux 6.18.
newer() {
	cat <<'END'
cachestat 451 451 451
fchmodat2 452 452 452
file_getattr 468 468 468
file_setattr 469 469 469
futex_requeue 456 456 456
futex_wait 455 455 455
futex_wake 454 454 454
getxattrat 464 464 464
listmount 458 458 458
listxattrat 465 465 465
lsm_get_self_attr 459 459 459
lsm_list_modules 461 461 461
lsm_set_self_attr 460 460 460
map_shadow_stack 453 453 453
mseal 462 462 462
open_tree_attr 467 467 467
removexattrat 466 466 466
riscv_hwprobe - - 258
setxattrat 463 463 463
statmount 457 457 457
uprobe 336 - -
uretprobe 335 - -
END
}

# headers COLUMN INCLUDE...: "name column number" for every call that the headers define.
headers() {
	column=$1
	shift
	echo '#include <asm/unistd.h>' >"$work/in.c"
	gcc -E -dM -nostdinc "$@" "$work/in.c" |
		sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/\1/p' |
		grep -vx -e syscalls -e arch_specific_syscall -e 'x32_.*' >"$work/names"
	sed 's/.*/"&" __NR_&/' "$work/names" >>"$work/in.c"
	gcc -E -P -nostdinc "$@" "$work/in.c" | tr -d '"' | grep -v '^ *$' |
		while read -r name number; do
			echo "$name $column $(($number))"
		done
}

{
	headers 1 -I/usr/include -I/usr/include/x86_64-linux-gnu
	headers 2 -I/usr/aarch64-linux-gnu/include
	headers 3 -I/usr/riscv64-linux-gnu/include
	newer | awk '{ for (i = 1; i <= 3; i++) if ($(i + 1) != "-") print $1, i, $(i + 1) }'
} >"$work/numbers"

{
	echo '# Every system call: name, group, number on x86_64, aarch64, riscv64.  Made by syscalls_update.sh.'
	echo '# version 6.18'
	awk '
		FNR == NR { if ($0 !~ /^#/) group[$1] = $2; next }
		{ number[$1, $2] = $3; seen[$1] = 1 }
		END {
			for (name in seen) {
				if (!(name in group)) {
					print "no group: " name >"/dev/stderr"
					failed = 1
				}
				line = sprintf("%-24s %-10s", name, group[name])
				for (i = 1; i <= 3; i++)
					line = line sprintf(" %4s", (name, i) in number ? number[name, i] : "-")
				print line
			}
			exit failed
		}' syscalls.tbl "$work/numbers" >"$work/lines"
	sort "$work/lines"
} >"$work/table"
mv "$work/table" syscalls.tbl
