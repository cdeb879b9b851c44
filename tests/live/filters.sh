#!/bin/sh
# SPDX-License-Identifier: MIT
# Bare filters in the kernel: every group's members are refused or allowed, and nobody else; conditions hold as
# written; a real session runs under the container world's default.
. "$(dirname "$0")/../lib.sh"
try=$build/tests/tools/tryfilter
arch=$(uname -m)

# filter NAME <text: compiles a filter to $work/NAME
filter() {
	cat >"$work/$1.cave"
	if ! "$cavec" "$work/$1.cave" -o "$work/$1" 2>"$work/err"; then
		not_ok "compile $1" "$(cat "$work/err")"
		exit 1
	fi
}

# numbers GROUP: the numbers of its members on this machine.
numbers() {
	"$cavec" list "$1" | awk -v arch="$arch" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == arch) column = i + 1; next }
		$column ~ /^[0-9]+$/ { print $column }' | sort -n
}

# answers FILTER: for each number on standard input "NUMBER ANSWER".
answers() {
	cat >"$work/calls"
	"$try" "$work/$1" <"$work/calls" >"$work/answers"
	paste -d ' ' "$work/calls" "$work/answers"
}

"$cavec" list | awk '/^@/ { print $1 }' >"$work/groups"
while read -r group; do numbers "$group"; done <"$work/groups" | sort -un >"$work/all"
# The kernel asks no filter about these two (seccomp_uprobe_exception, kernel/seccomp.c), from 6.14 on.
never_asked='^33[56] '
expect "the table has numbers for $arch" "$(wc -l <"$work/all")" -gt 300

while read -r group; do
	numbers "$group" >"$work/in"
	sort "$work/in" >"$work/in.sorted"
	sort "$work/all" | comm -23 - "$work/in.sorted" | sort -n >"$work/others"
	filter only <<END
filter only { default errno EOWNERDEAD; allow $group }
END
	filter but <<END
filter but { default allow; deny $group with errno EOWNERDEAD }
END
	bad=$({ answers only <"$work/in" | grep -v ' allowed$'; answers only <"$work/others" | grep -v ' errno 130$'; } |
		grep -v "$never_asked")
	expect "$group alone is allowed ($(wc -l <"$work/in") calls)" -z "$bad"
	bad=$({ answers but <"$work/in" | grep -v ' errno 130$'; answers but <"$work/others" | grep -v ' allowed$'; } |
		grep -v "$never_asked")
	expect "$group alone is refused" -z "$bad"
done <"$work/groups"

# --- answers of each kind, on numbers of each kind
filter kinds <<'END'
filter kinds {
	default errno EACCES
	unknown errno ENOTTY
	allow getpid
	allow getppid logged
	deny getpgid with kill
	deny getsid with errno ESRCH
}
END
number() { "$cavec" list | while read -r g _; do "$cavec" list "$g"; done | awk -v arch="$arch" -v name="$1" '
	$1 == "x86_64" { for (i = 1; i <= NF; i++) if ($i == arch) column = i + 1 }
	$1 == name { print $column; exit }'; }
asks() {
	got=$(echo "$3" | "$try" "$work/$2")
	if [ "$got" = "$4" ]; then ok "$1"; else not_ok "$1" "$got, expected $4"; fi
}
asks "allowed" kinds "$(number getpid)" allowed
asks "allowed and logged" kinds "$(number getppid)" allowed
asks "killed" kinds "$(number getpgid)" killed
asks "an error of its own" kinds "$(number getsid)" 'errno 3'
asks "the default" kinds "$(number uname)" 'errno 13'
asks "a number past the table" kinds 511 'errno 25'
asks "a number far past it" kinds 100000 'errno 25'
asks "a negative number" kinds -1 'errno 25'
if [ "$arch" = x86_64 ]; then
	asks "an x32 number" kinds $((0x40000000 + 39)) 'errno 25'
fi

# --- conditions: every boundary, and the half of the register that is not looked at
filter conditions <<'END'
filter conditions {
	default errno EACCES
	allow ioctl(request in { 1000-1063, TCGETS })
	allow kill(sig < 0 || sig >= 32), lseek(offset < -1 && whence == SEEK_END)
	allow mmap(prot & (PROT_WRITE | PROT_EXEC) != PROT_WRITE | PROT_EXEC && length <= 0x100000000)
	allow personality(!(persona == 0 || persona in { 8, 0x20008 }))
	deny personality(persona & 0x10) with errno EPROTO
	deny personality(persona == 0x31) with kill
}
END
# holds CALL ARGS… ANSWER
holds() {
	asks "$1($2): $3" conditions "$(number "$1") $2" "$3"
}
holds ioctl '0 999' 'errno 13'
holds ioctl '0 1000' allowed
holds ioctl '0 1063' allowed
holds ioctl '0 1064' 'errno 13'
holds ioctl '0 0x5401' allowed
holds ioctl '0 0x700005401' allowed
holds kill '1 -1' allowed
holds kill '1 0xffffffff' allowed
holds kill '1 0' 'errno 13'
holds kill '1 31' 'errno 13'
holds kill '1 0x10000001f' 'errno 13'
holds kill '1 32' allowed
holds kill '1 0x7fffffff' allowed
holds lseek '0 -2 2' allowed
holds lseek '0 -1 2' 'errno 13'
holds lseek '0 0xfffffffe 2' 'errno 13'
holds lseek '0 -2 1' 'errno 13'
holds lseek '0 0x8000000000000000 2' allowed
holds lseek '0 0x7fffffffffffffff 2' 'errno 13'
holds mmap '0 0x100000000 2' allowed
holds mmap '0 0x100000001 2' 'errno 13'
holds mmap '0 4096 5' allowed
holds mmap '0 4096 7' 'errno 13'
holds mmap '0 4096 0x100000007' 'errno 13'
holds personality 0 'errno 13'
holds personality 8 'errno 13'
holds personality 0x20008 'errno 13'
holds personality 1 allowed
holds personality 0x11 'errno 71'
holds personality 0x31 killed
holds personality 0xffffffff 'errno 71'

# --- the container world's default, around a real session
if [ "$arch" != x86_64 ]; then
	skip "the container default" "its numbers were noted on x86_64"
elif ! bwrap --ro-bind / / --dev /dev --proc /proc true 2>/dev/null; then
	skip "the container default" "bwrap cannot start anything here"
else
	expect_status "the container default compiles" 0 \
		"$cavec" "$top/examples/container-default.cave" -o "$work/default"
	session() {
		run bwrap --ro-bind / / --dev /dev --proc /proc --bind "$work" "$work" --chdir "$work" --seccomp 9 \
			/bin/sh -c "$1" 9<"$work/default"
	}
	# files, pipes, children, threads, the network of the machine itself
	session '
		set -e
		mkdir -p dir; echo one two >dir/a; cp dir/a dir/b; cat dir/a dir/b | wc -w | tr -d " "
		for i in 1 2 3; do (echo $i) & done >/dev/null; wait
		ls -l dir >/dev/null; find dir -name "[ab]" | sort | tr "\n" " "; rm -r dir
		git init -q repo; git -C repo status --short; rm -rf repo
		python3 -c "
import socket, subprocess, threading
t = threading.Thread(target=print, args=(\"thread\",)); t.start(); t.join()
a, b = socket.socketpair(); a.send(b\"pair\"); print(b.recv(4).decode())
s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); c = socket.create_connection(s.getsockname()); print(\"tcp\")
print(subprocess.run([\"echo\", \"child\"], capture_output=True, text=True).stdout.strip())"
		grep Seccomp: /proc/self/status | tr "\t" " "'
	wanted="4
dir/a dir/b thread
pair
tcp
child
Seccomp: 2"
	expect "a shell session runs under it" "$status $(cat "$work/out")" = "0 $wanted"
	session 'unshare -U true'
	expect "but makes no namespace" "$status $(grep -c 'Operation not permitted' "$work/err")" = '1 1'
	session 'python3 -c "
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(435, 0, 0); print(ctypes.get_errno() == errno.ENOSYS)
for p, want in (0, 0), (8, 0), (1, -1), (0, 8): print(libc.personality(p) >= 0, end=\" \")
for f in socket.AF_INET, 38, 40:
    try: socket.socket(f, socket.SOCK_STREAM if f != 38 else socket.SOCK_SEQPACKET); print(f, end=\" \")
    except PermissionError: print(\"refused\", end=\" \")"'
	expect "and conditions hold" "$status $(cat "$work/out")" = '0 True
True True False True 2 refused refused '
	expect_code "caverun does not start anything under it" 125 cave_sandbox_policy_invalid \
		"$caverun" "$work/default" -- true
	expect "and says what does" -n "$(grep 'bare filter' "$work/err")"
fi

# --- the container engines' form says the same as the filter
# same FILTER: every call without arguments, and edges of the first three arguments of those with conditions
same_as_json() {
	"$cavec" "$work/$1.cave" -o "$work/$1.json" --emit oci --arch x86_64 2>"$work/err" || cat "$work/err"
	{
		while read -r g; do "$cavec" list "$g"; done <"$work/groups" | awk '$2 ~ /^[0-9]+$/ { print $1, $2 }' | sort -u
		for call in 'ioctl 16' 'kill 62' 'lseek 8' 'mmap 9' 'personality 135' 'socket 41' 'clone 56'; do
			for a in 0 1 8 37 38 39 40 41 0x10 0x11 0x31 0x20008 0x7e020000 0x10000000 -1 0x100000008; do
				for b in 0 31 32 999 1000 1063 1064 0x5401 0x700005401 0x100000000 -1 -2 0x8000000000000000; do
					echo "$call $a $b 2"
				done
				echo "$call $a 4096 7"
			done
		done
	} | grep -v '^u\(ret\)*probe ' >"$work/questions"
	sed 's/^[a-z0-9_]* //' "$work/questions" | "$try" "$work/$1" >"$work/by-kernel"
	"$python" "$top/tests/tools/oci_answers.py" "$work/$1.json" <"$work/questions" >"$work/by-json" 2>"$work/err"
	expect "the JSON of $1 says what the kernel does ($(wc -l <"$work/questions") calls)" \
		-z "$(diff "$work/by-kernel" "$work/by-json" | head -n 3)$(cat "$work/err")"
}
if [ "$arch" = x86_64 ]; then
	cp "$top/examples/container-default.cave" "$work/default.cave"
	"$cavec" "$work/default.cave" -o "$work/default" 2>/dev/null
	same_as_json default
	same_as_json conditions
	same_as_json kinds
fi
