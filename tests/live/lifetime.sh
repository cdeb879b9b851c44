#!/bin/sh
# SPDX-License-Identifier: MIT
# How a run begins and ends: exit statuses, signals, the terminal, and that nothing is left.

# In a mount namespace of its own, so that only mounts of what it starts are seen.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS:-}" ]; then
	OWN_MOUNTS=1 exec unshare --mount "$0"
fi
. "$(dirname "$0")/../lib.sh"
need_root

bin=$work/bin
mkdir "$bin" "$work/w"
cp "$caverun" "$build/cave-load" "$bin"
cp "$probe" "$bin/probe"
chmod -R go+rX "$bin"
chmod 777 "$work/w"
compile p "$work/p.bpf" <<'END'
profile lifetime {
	files { write workspace }
}
END
compile net "$work/net.bpf" <<'END'
profile net {
	network { allow tcp 127.0.0.1 port 1 }
	files { write workspace }
}
END
# A cgroup of the test's own, and a place for temporary files: what others do at the same time is not seen.
cgroup=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)/cave-lifetime-$$
mkdir "$cgroup" "$work/tmp"
echo $$ >"$cgroup/cgroup.procs"
cleanup() {
	"$bin/caverun" --forget --all
	echo $$ >"${cgroup%/*}/cgroup.procs"
	rmdir "$cgroup"
}
export TMPDIR="$work/tmp"
# What a run might leave.
left() {
	find "$cgroup" -mindepth 1 -type d | sort
	cut -d ' ' -f 5 /proc/self/mountinfo | grep -v /netns | sort
	find "$work/tmp" -mindepth 1 | sort
	find /run /dev/shm /sys/fs/bpf -maxdepth 1 -name '*cave*' | sort
}
left >"$work/before"

caverun() { "$bin/caverun" --workspace "$work/w" "$work/$policy.bpf" -- "$@"; }

# gone PATTERN: no process is left whose command line has it, within two seconds.
gone() {
	for _ in $(seq 40); do
		pgrep -f "$1" >/dev/null || return 0
		sleep 0.05
	done
	return 1
}

for policy in p net; do
	for status_wanted in 0 1 7 124 125 126 127 143 255; do
		expect_status "$policy: exit status $status_wanted is passed on" $status_wanted \
			caverun "$bin/probe" exit $status_wanted
	done
	for signal in 6 9 11 15; do
		expect_status "$policy: death by signal $signal is $((128 + signal))" $((128 + signal)) \
			caverun sh -c "kill -$signal \$\$"
	done
	expect_status "$policy: a program that is not there" 127 caverun no-such-program
	expect_status "$policy: a path that is not there" 127 caverun "$work/w/none"
	echo text >"$work/w/plain"
	expect_status "$policy: a file that is not executable" 126 caverun "$work/w/plain"
	expect_status "$policy: a folder" 126 caverun "$work/w"
	expect_output "$policy: arguments arrive as they are" "$(printf '<a b><><*>')" \
		caverun sh -c 'for a; do printf "<%s>" "$a"; done' sh 'a b' '' '*'
	status=0
	found=$(echo input | caverun cat) || status=$?
	expect "$policy: standard input and output are the caller's" "$status $found" = '0 input'
done
policy=p
printf '#!/usr/bin/env sh\necho script "$1"\n' >"$work/w/script"
chmod 755 "$work/w/script"
echo 'echo text' >"$work/s.sh"
expect_output "a script of the caller is readable and the first argument" text \
	"$bin/caverun" --script "$work/s.sh" "$work/p.bpf" -- sh

# --- folders and users
run "$bin/caverun" "$work/p.bpf" -- "$bin/probe" folder , create ./made
fresh=$(head -n 1 "$work/out")
expect "without --workspace there is a fresh one" "$(tail -n 1 "$work/out")" = 'create ./made: allowed'
expect "which is gone afterwards" ! -e "$fresh"
mkdir "$work/elsewhere"
run "$bin/caverun" --chdir "$work/elsewhere" --workspace "$work/w" "$work/p.bpf" -- "$bin/probe" folder , create ./made
expect "--chdir says where it starts" "$(head -n 1 "$work/out")" = "$work/elsewhere"
expect "and grants nothing there" -n "$(grep '^create ./made: refused' "$work/out")"
run "$bin/caverun" --user nobody --workspace "$work/w" "$work/p.bpf" -- "$bin/probe" ids , capabilities , create "$work/w/theirs"
expect "--user: its ids" -n "$(grep '^uid 65534 65534 gid 65534 65534$' "$work/out")"
expect "--user: what it may write it writes" -n "$(grep 'theirs: allowed' "$work/out")"
expect "--user: the file is its own" "$(stat -c %u "$work/w/theirs")" = 65534
rm -f "$work/w/theirs"
expect_status "--user of nobody at all" 125 "$bin/caverun" --user no-such-user "$work/p.bpf" -- true

# --- what a start opened
# open_while_running NAME OPTION…: caverun, once the tool runs, has no descriptor of a granted file any more.
open_while_running() {
	name=$1
	shift
	"$bin/caverun" "$@" "$work/p.bpf" -- sh -c ': >up; read -r line' <&7 &
	pid=$!
	for _ in $(seq 100); do
		[ -z "$(find "$work/w/up" "$work/tmp" -name up 2>/dev/null)" ] || break
		sleep 0.02
	done
	# They are closed after the start, and nobody waits for it.
	for _ in $(seq 50); do
		opened=$(find "/proc/$pid/fd" -name '[!012]*' -lname '/[!p]*' ! -lname "$work*" | wc -l)
		[ "$opened" != 0 ] || break
		sleep 0.02
	done
	expect "$name: what was granted is not open while the tool runs" "$opened $(cat "/proc/$pid/comm")" = "0 caverun"
	kill "$pid"
	wait "$pid"
	rm -f "$work/w/up"
}
mkfifo "$work/silent"
exec 7<>"$work/silent"
open_while_running "a workspace that was there" --workspace "$work/w"
open_while_running "a fresh workspace"
(
	# Every shell of Debian's has it.
	# shellcheck disable=SC3045
	ulimit -n 64
	open_while_running "few descriptors" --workspace "$work/w"
)
exec 7>&-

# --- refused before anything starts
expect_code "a policy that is not there" 125 cave_sandbox "$bin/caverun" "$work/none.bpf" -- true
echo 'no artefact' >"$work/bad.bpf"
expect_code "a policy that is none" 125 cave_sandbox_policy_invalid "$bin/caverun" "$work/bad.bpf" -- true
: >"$work/bad.bpf"
expect_code "an empty policy" 125 cave_sandbox_policy_invalid "$bin/caverun" "$work/bad.bpf" -- true
mkfifo "$work/fifo"
expect_code "a pipe for a policy" 125 cave_sandbox timeout 5 "$bin/caverun" "$work/fifo" -- true
expect_status "no program" 125 "$bin/caverun" "$work/p.bpf" --
expect_status "an unknown option" 125 "$bin/caverun" --frobnicate "$work/p.bpf" -- true
expect_status "a workspace that is not there" 125 "$bin/caverun" --workspace "$work/none" "$work/p.bpf" -- true
expect_status "a workspace that is the whole file system" 125 "$bin/caverun" --workspace / "$work/p.bpf" -- true
expect_status "a script that is not there" 125 "$bin/caverun" --script "$work/none" "$work/p.bpf" -- sh

# --- signals
for signal in TERM HUP QUIT USR1 USR2 WINCH; do
	"$bin/caverun" --workspace "$work/w" "$work/p.bpf" -- /usr/bin/python3 -c "import signal, sys, time
signal.signal(signal.SIG$signal, lambda *_: sys.exit(7))
open('ready', 'w').close()
time.sleep(20)" &
	pid=$!
	for _ in $(seq 100); do [ -e "$work/w/ready" ] && break; sleep 0.05; done
	rm -f "$work/w/ready"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	expect "SIG$signal is forwarded" "$status" = 7
done

for policy in p net; do
	for signal in KILL TERM; do
		: >"$work/out" # what the last one wrote would pass for this one's
		"$bin/caverun" --workspace "$work/w" "$work/$policy.bpf" -- "$bin/probe" wait 600000 , exit 0 \
			</dev/null >"$work/out" &
		pid=$!
		for _ in $(seq 100); do grep -q here "$work/out" && break; sleep 0.05; done
		tool=$(sed -n 's/^here //p' "$work/out")
		expect "$policy: the tool is there" -d "/proc/$tool"
		kill -$signal $pid
		status=0
		wait $pid 2>/dev/null || status=$?
		for _ in $(seq 40); do [ -d "/proc/$tool" ] || break; sleep 0.05; done
		expect "$policy: SIG$signal to the runtime ends the tool" ! -d "/proc/$tool"
		[ $signal = KILL ] || expect "$policy: and the status is 143" "$status" = 143
	done
done

# Stop and continue.
"$bin/caverun" --workspace "$work/w" "$work/p.bpf" -- "$bin/probe" wait 1500 , exit 5 >"$work/out" &
pid=$!
for _ in $(seq 100); do grep -q here "$work/out" && break; sleep 0.05; done
tool=$(sed -n 's/^here //p' "$work/out")
state() { sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status"; }
kill -STOP "$tool"
sleep 0.3
expect "a stopped tool stops the runtime" "$(state $pid)" = T
kill -CONT $pid
sleep 0.3
expect "which continued continues the tool" "$(state "$tool")" = S
status=0
wait $pid || status=$?
expect "and its status is the tool's" "$status" = 5

# --- the terminal
cat >"$work/terminal.py" <<'END'
import os, pty, select, sys, time

def until(fd, text, seconds=5):
    seen, end = b"", time.time() + seconds
    while text not in seen and time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 4096)
            except OSError:
                break
    return seen

def start(*program):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.argv[1], [*sys.argv[1:], *program])
    return pid, fd

def check(holds, name, why=""):
    print(f"ok {name}" if holds else f"not ok {name}: {why}", flush=True)

pid, fd = start("sh", "-c", "echo ready; sleep_forever() { while :; do read x; done; }; sleep_forever")
seen = until(fd, b"ready")
check(b"ready" in seen, "a tool on a terminal", seen)
os.write(fd, b"\x03")
status = os.waitpid(pid, 0)[1]
check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == 2 or os.waitstatus_to_exitcode(status) == 130,
      "Ctrl-C ends the tool and the runtime by SIGINT", status)

pid, fd = start("/usr/bin/python3", "-c", """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: (print('caught', flush=True), sys.exit(7)))
print('ready', flush=True)
time.sleep(20)""")
until(fd, b"ready")
time.sleep(0.2)  # a handler that prints must not interrupt the print above
os.write(fd, b"\x03")
seen = until(fd, b"caught")
status = os.waitpid(pid, 0)[1]
check(b"caught" in seen and os.waitstatus_to_exitcode(status) == 7, "a tool that catches Ctrl-C ends as it likes", status)

pid, fd = start("sh", "-c", "echo ready; read line; echo got $line")
until(fd, b"ready")
os.write(fd, b"words\n")
seen = until(fd, b"got words")
os.waitpid(pid, 0)
check(b"got words" in seen, "input from a terminal", seen)

# Ctrl-Z under a shell with job control.
pid, fd = pty.fork()
if pid == 0:
    os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
command = " ".join(sys.argv[1:]) + " sh -c 'echo rea''dy; read line; echo got $line'\n"
os.write(fd, command.encode())
until(fd, b"ready")
os.write(fd, b"\x1a")
seen = until(fd, b"Stopped")
check(b"Stopped" in seen, "Ctrl-Z stops the job", seen)
os.write(fd, b"fg\n")
time.sleep(0.3)
os.write(fd, b"again\n")
seen = until(fd, b"got again")
check(b"got again" in seen, "and fg resumes it", seen)
os.write(fd, b"exit\n")
time.sleep(0.2)
os.close(fd)
END
"$python" "$work/terminal.py" "$bin/caverun" --workspace "$work/w" "$work/p.bpf" --

# --- nothing is left: after all of the above, and after twenty at once
for _ in $(seq 20); do
	"$bin/caverun" --workspace "$work/w" "$work/net.bpf" -- "$bin/probe" wait 100 >/dev/null &
	jobs="${jobs:-} $!"
done
for pid in $jobs; do wait "$pid"; done
gone "$bin/" || not_ok "no process is left" "$(pgrep -af "$bin/")"
sleep 0.5
"$bin/caverun" --forget --all # what is kept for later starts is kept on purpose
left >"$work/after"
expect "no process is left" -z "$(pgrep -f "$bin/")"
if cmp -s "$work/before" "$work/after"; then
	ok "no cgroup, mount, pin or temporary file is left"
else
	not_ok "no cgroup, mount, pin or temporary file is left" "$(diff "$work/before" "$work/after")"
fi
expect "the workspace holds what the tool wrote, nothing more" "$(cd "$work/w" && echo *)" = 'plain script'
