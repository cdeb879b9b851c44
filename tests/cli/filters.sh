#!/bin/sh
# SPDX-License-Identifier: MIT
# What a bare filter is written as, and for whom; what is said about it; what a profile is not written as.
. "$(dirname "$0")/../lib.sh"

cat >"$work/f.cave" <<'END'
filter some-calls {
    default errno EACCES
    unknown errno ENOSYS
    allow read, write, openat, exit_group, brk
    allow mmap(prot & PROT_EXEC == 0)
    deny openat(flags & O_DIRECTORY) with kill
}
END
cavec_f() { "$cavec" "$work/f.cave" -o "$@"; }

run cavec_f "$work/f"
expect "a filter compiles" "$status" = 0
expect "and says what it is not" -n "$(grep "none of a profile's promises" "$work/err")"
expect "to whole instructions" "$(($(wc -c <"$work/f") % 8))" = 0
run cavec_f "$work/f.same" --emit bpf --arch "$(uname -m)"
expect "which is the form and the architecture of every day" -z "$(cmp "$work/f" "$work/f.same" 2>&1)"
for arch in x86_64 aarch64 riscv64; do
	cavec_f "$work/f.$arch" --arch $arch 2>/dev/null
	run cavec_f "$work/f.again" --arch $arch
	expect "$arch: the same each time" -z "$(cmp "$work/f.$arch" "$work/f.again" 2>&1)"
done
expect "architectures differ" -n "$(cmp "$work/f.x86_64" "$work/f.aarch64" 2>&1)"

# --- the C header: the same instructions
run cavec_f "$work/f.h" --emit c
expect "a C header" "$status" = 0
expect "says what it is not" -n "$(grep 'none of the promises' "$work/f.h")"
cat >"$work/f.c" <<'END'
#include <stdio.h>
#include "f.h"
int main(void)
{
	return fwrite(cave_some_calls, sizeof cave_some_calls, 1, stdout) != 1;
}
END
expect_status "compiles" 0 gcc -Wall -Wextra -Werror -o "$work/print" "$work/f.c"
"$work/print" >"$work/f.printed"
expect "and holds the same bytes" -z "$(cmp "$work/f" "$work/f.printed" 2>&1)"

# --- the container engines' JSON
run cavec_f "$work/f.json" --emit oci --arch aarch64
expect "JSON" "$status" = 0
expect_output "with its default, its architecture and rules" 'SCMP_ACT_ERRNO 13 SCMP_ARCH_AARCH64 True' "$python" -c "
import json, sys
p = json.load(open(sys.argv[1]))
print(p['defaultAction'], p['defaultErrnoRet'], *p['architectures'],
      any(r['names'] == ['openat'] and r['action'] == 'SCMP_ACT_KILL_PROCESS' and
          r['args'] == [{'index': 2, 'value': 0o40000, 'valueTwo': 0o40000, 'op': 'SCMP_CMP_MASKED_EQ'}]
          for r in p['syscalls']))" "$work/f.json"

# --- usage
expect_status "no such architecture" 2 cavec_f "$work/x" --arch sparc
expect_status "no such form" 2 cavec_f "$work/x" --emit elf
echo 'profile p { }' >"$work/p.cave"
for option in '--emit c' '--emit oci' '--arch x86_64'; do
	# The option and its value.
	# shellcheck disable=SC2086
	expect_status "a profile with $option" 2 "$cavec" "$work/p.cave" -o "$work/x" $option
done
expect "nothing was written" ! -e "$work/x"
expect_status "a profile with --emit bpf" 0 "$cavec" "$work/p.cave" -o "$work/p.bpf" --emit bpf
expect_code "dump of a filter" 1 cave_sandbox_policy_invalid "$cavec" dump "$work/f"

# --- what is not on every architecture
cat >"$work/n.cave" <<'END'
profile p { syscalls { deny fork, arch_prctl, riscv_hwprobe, read } }
END
run "$cavec" "$work/n.cave" -o "$work/n.bpf"
expect "calls that some architectures lack are notes" \
	"$status $(grep -c 'fork does not exist on aarch64, riscv64' "$work/err") $(grep -c ': note: ' "$work/err")" = '0 1 3'
echo 'filter f { deny fork, riscv_hwprobe }' >"$work/n.cave"
run "$cavec" "$work/n.cave" -o "$work/n.bpf" --arch riscv64
expect "of a filter, those of its own" \
	"$status $(grep -c 'does not exist' "$work/err") $(grep -c 'fork does not exist on riscv64' "$work/err")" = '0 1 1'
run "$cavec" "$work/n.cave" -o "$work/n.bpf" --arch riscv64
echo 'profile p { syscalls { deny uretprobe } }' >"$work/n.cave"
run "$cavec" "$work/n.cave" -o "$work/n.bpf"
expect "a denial that the kernel does not look at is noted" "$status $(grep -c 'asks no filter' "$work/err")" = '0 1'

# --- an artefact has the filters of all three
run "$cavec" dump "$work/p.bpf"
for arch in x86_64 aarch64 riscv64; do
	expect "dump shows the filter for $arch" -n "$(grep "^syscall filter $arch, [0-9]* instructions" "$work/out")"
done
cat >"$work/l.cave" <<'END'
profile p {
    syscalls {
        deny personality(persona == 7) with kill
    }
}
END
"$cavec" "$work/l.cave" -o "$work/l.bpf" 2>"$work/err"
run "$cavec" dump "$work/l.bpf"
expect "and the line behind a condition, for each" "$(grep -c 'l.cave:3: deny personality' "$work/out")" -ge 3

# --- groups
run "$cavec" list @service
expect "@service is made of other groups" "$status $(grep -c -e '^read ' -e '^socket ' -e '^clone ' "$work/out")" = '0 3'
expect "without what administers the machine" -z "$(grep -e '^reboot ' -e '^mount ' -e '^bpf ' -e '^ptrace ' "$work/out")"
for group in base file network process thread time memory ipc keyring debug privileged obsolete service; do
	expect_status "there is a group @$group" 0 "$cavec" list "@$group"
done

# --- sizes: what cannot be proved in bounded time is refused
values=$(seq -s , 10 10 600)
{
	echo 'profile p { syscalls { deny mmap('
	for arg in len prot flags fd offset; do printf '%s%s in { %s }' "${and:-}" $arg "$values"; and=' && '; done
	echo ') } }'
} | tr -d '\n' >"$work/big.cave"
expect_code "sixty values in five arguments" 1 cave_profile_unsupported timeout 60 "$cavec" "$work/big.cave" -o "$work/big.bpf"
{
	echo 'profile p { syscalls { deny openat('
	for i in $(seq 0 19); do printf '%sflags & %d == %d' "${or:-}" $((1 << i | 1 << (i + 3))) $((1 << i)); or=' || '; done
	echo ') } }'
} | tr -d '\n' >"$work/masks.cave"
expect_status "twenty masks on one argument" 0 timeout 60 "$cavec" "$work/masks.cave" -o "$work/masks.bpf"
{
	echo 'filter f {'
	for i in $(seq 0 399); do echo "deny ioctl(request == $((i * 2))), prctl(option == $i && arg2 == $((i * 3)))"; done
	echo '}'
} >"$work/many.cave"
expect_status "eight hundred conditions" 0 timeout 60 "$cavec" "$work/many.cave" -o "$work/many.bpf"
{
	echo 'filter f {'
	for i in $(seq 0 3999); do echo "allow ioctl(request == $((i * i)))"; done
	echo '}'
} >"$work/huge.cave"
run timeout 60 "$cavec" "$work/huge.cave" -o "$work/huge.bpf"
expect "a filter that is too long is refused, with the call that made it so" \
	"$status $(grep -c 'cave_profile_unsupported' "$work/err") $(grep -c 'ioctl' "$work/err")" = '1 1 1'
