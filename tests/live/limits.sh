#!/bin/sh
# SPDX-License-Identifier: MIT
# Each limit, reached by a real program: the code, the exit status, and that nothing is left.  Each has its control: the
# same program with room enough.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
# In control groups of this test's own, so that those of others are not seen.  Where version 2 has the controllers only its
# root has processes as well as groups beneath, and it is not left: as in tests/vm, where nobody else is.
mine=cave-limits-$$
version2=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)
if grep -qsw 'memory\|pids' "$version2/cgroup.controllers"; then
	mine=.
fi
for mount in $(controllers); do
	[ $mine = . ] || { mkdir "$mount/$mine" && echo $$ >"$mount/$mine/cgroup.procs"; }
done
cleanup() {
	kill -9 "$holder" 2>/dev/null
	[ $mine != . ] || return
	for mount in $(controllers); do
		echo $$ >"$mount/cgroup.procs"
		rmdir "$mount/$mine"
	done
}
chmod 755 "$work"
mkdir "$work/w"
chmod 777 "$work/w"
cp "$build/tests/tools/forkstorm" "$bin"

# limited NAME LIMITS [MORE]
limited() {
	compile "$1" "$work/$1.bpf" <<END
profile $1 {
	files { write workspace }
	limits { $2 }
	${3:-}
}
END
	chmod 644 "$work/$1.bpf"
}
under() {
	name=$1
	shift
	as "$bin/caverun" --workspace "$work/w" "$work/$name.bpf" -- "$@"
}
# ends NAME CODE POLICY COMMAND…: with 124 and the code.
ends() {
	expect_name="$kind: $1" expected=$2
	shift 2
	expect_code "$expect_name" 124 "$expected" under "$@"
}
passes() {
	expect_name="$kind: $1"
	shift
	expect_status "$expect_name" 0 under "$@"
}
groups_left() {
	for mount in $(controllers); do
		find "$mount/$mine" -mindepth 1 -type d -name 'cave-????????????????' 2>/dev/null
	done | sort
}
groups_left >"$work/before"

limited time 'time 300ms'
limited roomy 'time 5min; cpu-time 5min; output 64MiB; open-files 64; file-size 1MiB'
limited cpu 'cpu-time 200ms'
limited output 'output 70001B'
limited few 'output 12B'
limited files 'open-files 20'
limited size 'file-size 100001B'
limited roomier 'file-size 4MiB'
limited memory 'memory 40MiB'
limited large 'memory 512MiB; tasks 60'
limited tasks 'tasks 5'
children='childProcess { max-processes 100; execute "/usr/bin/" }'
limited bomb 'tasks 12; time 2s' "$children"
limited bomb-large 'tasks 40; time 2s' "$children"
ignores='import signal, time
for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)
while True: time.sleep(9)'
fill='import os
f = os.memfd_create("x")
for _ in range(100): os.write(f, b"x" * 1000000)'
bomb='# a fork bomb of these tests
import os
while True:
    try: os.fork()
    except BlockingIOError: pass
    os.write(1, b"%d\n" % sum(p.isdigit() for p in os.listdir("/proc")))'
quiet_bomb='# a fork bomb of these tests
import os, time
while True:
    try: os.fork()
    except BlockingIOError: time.sleep(61)'
spawn_threads='import threading, time
n = 0
try:
    for n in range(50): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
except RuntimeError: print("refused after", n)'
count_files='import os, resource
for f in range(3, 60):
    try: n = os.open("/dev/null", os.O_RDONLY)
    except OSError as e: print(e.errno, n); break
else: print("all", n)
try: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); print("raised")
except (ValueError, OSError): print("stays")'

allocate='import ctypes, os, sys
libc, path, got = ctypes.CDLL(None, use_errno=True), sys.argv[1], []
for mode in 1, 0x11, 3, 0:
    f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    done = not libc.fallocate(f, mode, ctypes.c_long(0), ctypes.c_long(3000000))
    got.append("more" if os.fstat(f).st_blocks * 512 > 200000 else "done" if done else "no")
os.unlink(path)
print(*got)'
for kind in $kinds; do
	ends "a sleeper" cave_sandbox_timeout time sleep 60
	ends "a sleeper that ignores SIGTERM" cave_sandbox_timeout time "$python" -c "$ignores"
	ends "a tool that stops itself, and wakes itself up" cave_sandbox_timeout time "$python" -c '
import os, signal, time
signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.signal(signal.SIGALRM, lambda *_: None)
while True: os.kill(os.getpid(), signal.SIGSTOP); time.sleep(0.01)'
	passes "a sleeper with time" roomy sleep 0.4
	run under time "$python" -c 'import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(60)'
	expect "$kind: a tool that ends at SIGTERM has reached the limit all the same" "$status" = 124
	ends "a busy loop" cave_sandbox_timeout cpu "$python" -c 'while True: pass'
	ends "busy threads" cave_sandbox_timeout cpu "$python" -c '
import hashlib, threading
def burn():
    while True: hashlib.sha256(b"x" * 1000000)
for _ in range(4): threading.Thread(target=burn).start()'
	passes "a busy loop with time" roomy "$python" -c 'for _ in range(3000000): pass'

	# Room behind the end of a file, which the kernel does not count to its size.
	expect_output "$kind: no file takes more room than its size may be" 'no no done no' \
		under size "$python" -c "$allocate" room
	expect_output "$kind: one that may be as large does" 'no no done more' under roomier "$python" -c "$allocate" room
	ends "an endless writer" cave_sandbox_output_limit output sh -c 'while :; do echo line; done'
	expect "$kind: and what it wrote within the limit has come, to the byte" "$(wc -c <"$work/out")" = 70001
	ends "an endless writer on standard error" cave_sandbox_output_limit output sh -c 'while :; do echo l >&2; done'
	ends "both together" cave_sandbox_output_limit few sh -c 'echo 67890 >&2; echo 12345; echo x >&2; sleep 60'
	expect "$kind: both: 12 bytes have come" \
		"$(sed 's/caverun: .*limit]$//' "$work/err" | cat "$work/out" - | wc -c)" = 13 # and the last newline
	expect_output "$kind: exactly as much as allowed" "12345678901" under few echo 12345678901
	expect "$kind: much output with room" \
		"$(under roomy sh -c 'i=0; while [ $i -lt 9000 ]; do echo 123456789; i=$((i+1)); done' | wc -c)" = 90000
	expect "$kind: a slow reader loses nothing" \
		"$(under roomy seq 100000 | { sleep 0.5; md5sum; })" = "$(seq 100000 | md5sum)"
	run under roomy "$python" -c 'import os, time
os.closerange(1, 3); time.sleep(0.2); os._exit(7)'
	expect "$kind: the tool's own status, after it closed its output" "$status" = 7
	status=0
	{ under roomy "$python" -c 'import signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
while True: print("line")' || echo $? >"$work/status"; } | head -n 1 >/dev/null
	expect "$kind: a reader that leaves ends the writer by SIGPIPE" "$(cat "$work/status")" = 141
	expect "$kind: the order of one file for both is kept" "$(under roomy sh -c \
		'for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done' 2>&1 | tr '\n' ' ')" = 'o1 e1 o2 e2 o3 e3 o4 e4 o5 e5 '

	expect_output "$kind: open files" "24 19
stays" under files "$python" -c "$count_files"
	expect_output "$kind: open files with room" "all 59
raised" under roomy "$python" -c "$count_files"
	run under size sh -c 'while :; do echo 1234567890; done >big'
	expect "$kind: a file that grows: SIGXFSZ, at the byte" "$status $(stat -c %s "$work/w/big")" = '153 100001'
	rm -f "$work/w/big"
	passes "a file with room" roomy sh -c 'echo 1234567890 >small'
	rm -f "$work/w/small"
done
expect_code "a descriptor to keep that is none within the limit" 125 "descriptor 30 is to be kept" \
	bash -c "exec '$caverun' --keep-fd 30 '$work/files.bpf' -- true 30</dev/null"
expect_code "one that leads past the limit of output" 125 "leads past the limit" \
	sh -c "exec '$caverun' --keep-fd 5 '$work/few.bpf' -- true 5>&1"
compile tty "$work/tty.bpf" <<'END'
profile tty { files { write "/dev/tty" }; limits { output 1MiB } }
END
expect_code "a grant that leads past the limit of output" 125 "it reaches terminals" "$caverun" "$work/tty.bpf" -- true

# --- by control groups, of whichever version
bounded() {
	name=$1
	shift
	delegated "$bin/caverun" --workspace "$work/w" "$work/$name.bpf" -- "$@"
}
fails_over() {
	expect_name="$kind: $1"
	shift
	expect_code "$expect_name" 124 "used more memory than 40MiB [cave_sandbox_failed]" bounded memory "$@"
}
for kind in root user; do
	fails_over "a memory hog that uses a memfd" "$python" -c "$fill"
	fails_over "a hog of plain memory" "$python" -c 'x = bytearray(100000000)'
	fails_over "one of mapped memory that is shared" "$python" -c 'import mmap
m = mmap.mmap(-1, 100000000)
for i in range(0, 100000000, 4096): m[i] = 1'
	expect_status "$kind: the same with room" 0 bounded large "$python" -c "$fill"
	expect_output "$kind: threads" "refused after 4" bounded tasks "$python" -c "$spawn_threads"
	expect_output "$kind: threads with room" "" bounded large "$python" -c "$spawn_threads"
	expect_status "$kind: a fork bomb ends at the time" 124 bounded bomb "$python" -c "$bomb"
	expect "$kind: never more than the tasks that it has" "$(sort -n "$work/out" | tail -n 1)" = 12
	expect "$kind: and none of it is left" -z "$(pgrep -f 'a fork bomb of these tests')"
	expect_status "$kind: one with more" 124 bounded bomb-large "$python" -c "$bomb"
	expect "$kind: has more" "$(sort -n "$work/out" | tail -n 1)" -gt 12
done
# Huge pages come from a pool of the host's, and are not counted: with a limit on memory there are none.
huge_pages() {
	pool=$(cat /proc/sys/vm/nr_hugepages)
	echo $((pool + 4)) >/proc/sys/vm/nr_hugepages
	huge='import mmap, os
def file():
    f = os.memfd_create("x", 4)
    os.ftruncate(f, 1 << 21)
    return mmap.mmap(f, 1 << 21)
for make in (lambda: mmap.mmap(-1, 1 << 21, flags=0x40022), file):
    try: make()[0] = 1; print("had", end=" ")
    except OSError as e: print(e.errno, end=" ")'
	mkdir "$work/huge"
	for kind in root user; do
		expect_output "$kind: control: huge pages without a limit on memory" "had had " under files "$python" -c "$huge"
		expect_output "$kind: and with one none" "12 12 " bounded large "$python" -c "$huge"
	done
	kind=root
	compile huge "$work/huge.bpf" <<-END
		profile huge { files { read "$work/huge" }; limits { memory 64MiB } }
	END
	expect_code "nor by a file system of them" 125 "does not count" unshare --mount sh -c \
		'mount -t hugetlbfs none "$0/huge" && exec "$@"' "$work" "$bin/caverun" "$work/huge.bpf" -- true
	expect_status "control: without that it starts" 0 "$bin/caverun" "$work/huge.bpf" -- true
	echo "$pool" >/proc/sys/vm/nr_hugepages
}
if [ -w /proc/sys/vm/nr_hugepages ]; then huge_pages; fi
kind=user
if ! under large true 2>/dev/null; then
	expect_code "memory that nobody has delegated" 125 "the controller memory" under memory true
	expect_code "tasks that nobody has delegated" 125 "the controller pids" under tasks true
fi

# --- on a terminal: nothing leads past the pipes
cat >"$work/terminal.py" <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), b"PAST" in seen, b"within" in seen)
END
ways='echo PAST >&0; echo PAST >/dev/tty; echo PAST >/proc/self/fd/0; echo within; test -t 0'
expect_output "a terminal is read, and written to only within the limit" "0 False True" \
	"$python" "$work/terminal.py" "$caverun" --workspace "$work/w" "$work/roomy.bpf" -- sh -c "$ways"
expect_output "where output is not limited it is the tool's" "0 True True" \
	"$python" "$work/terminal.py" "$caverun" --workspace "$work/w" "$work/files.bpf" -- sh -c "$ways"

# --- many at once, each of which reaches its limit, or is killed: with its own status, and nothing is left
of_each=${OF_EACH:-40}
at_once=$((of_each * 5))
kind=root
for i in $(seq "$at_once"); do
	case $((i % 5)) in
	0) bounded memory "$python" -c "$fill" ;;
	1) under time "$python" -c "$ignores" ;;
	2) under output sh -c 'while :; do echo line; done' ;;
	3) bounded bomb "$python" -c "$quiet_bomb" ;;
	4) timeout -s KILL 0.4 "$bin/caverun" --workspace "$work/w" "$work/roomy.bpf" -- sleep 61 ;;
	esac >/dev/null 2>"$work/err.$i" &
	jobs="${jobs:-} $!"
done
i=0
for pid in $jobs; do
	i=$((i + 1)) status=0 wanted=124
	wait "$pid" || status=$?
	[ $((i % 5)) != 4 ] || wanted=137
	[ "$status" = $wanted ] || echo "$i: $status $(cat "$work/err.$i")"
done >"$work/wrong"
coded() { cat "$work"/err.* | grep -c "$1"; }
expect "of $at_once at once each reached its own limit" -z "$(head -n 3 "$work/wrong")"
expect "each by its code" "$(coded '\[cave_sandbox_timeout\]$') $(coded '\[cave_sandbox_output_limit\]$') $(
	coded 'more memory than 40MiB \[cave_sandbox_failed\]$')" = "$((of_each * 2)) $of_each $of_each"
sleep 0.5 # what was killed dies
run under time true # which sweeps
expect "no process is left" -z "$(pgrep -f 'sleep 61|a fork bomb of these tests')"
"$python" -c "$allocate" "$work/w/outside" >"$work/out"
if grep -q '^more' "$work/out"; then
	ok "control: outside a file has room behind its end"
else
	skip "control: outside a file has room behind its end" "not on this file system"
fi
groups_left >"$work/after"
expect "no control group is left" -z "$(comm -13 "$work/before" "$work/after")"
