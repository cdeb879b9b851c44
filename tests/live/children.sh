#!/bin/sh
# SPDX-License-Identifier: MIT
# Contained children: never more than granted, of granted programs only, under the same policy, and gone with the tool
# whatever ends it.  As root and as an ordinary user.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
cleanup() { kill -9 "$holder" 2>/dev/null; }
chmod 755 "$work"
mkdir "$work/w"
chmod 777 "$work/w"
cp "$build/tests/tools/forkstorm" "$bin"
cp /bin/busybox "$bin/busybox" 2>/dev/null || cp "$(command -v busybox)" "$bin/busybox"
printf '#!/bin/sh\necho script "$@"\n' >"$bin/script"
printf '#!%s/other\n' "$bin" >"$bin/astray"
cp /bin/true "$bin/other"
chmod 755 "$bin"/*
# A process group of its own, with a bystander in it.
cat >"$work/group.py" <<'END'
import os, signal, subprocess, sys, time
os.setpgid(0, 0)
bystander = subprocess.Popen(["sleep", "60"])
time.sleep(0.1)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.call(sys.argv[1:])
time.sleep(0.1)
print("lives" if bystander.poll() is None else "dies", flush=True)
bystander.kill()
END
cat >"$work/hand.py" <<'END'
import os, subprocess, sys
try: fd = os.memfd_create("x", {"unsealed": 0, "sealed": 8}[sys.argv[1]])
except OSError: sys.exit(77)
os.write(fd, open("/bin/echo", "rb").read())
os.fchmod(fd, 0o600)
os.dup2(fd, 9, inheritable=True)
sys.exit(subprocess.call(sys.argv[2:], close_fds=False))
END
few='"/bin/sh", "/usr/bin/dash", "/usr/bin/cat", "/usr/bin/sleep", "/usr/bin/setsid", "/usr/bin/sort", "/usr/bin/id"'

# family NAME N EXECUTE [MORE]
family() {
	compile "$1" "$work/$1.bpf" <<END
profile $1 {
	files { write workspace; read "$bin" }
	childProcess { max-processes $2; execute $3 }
	${4:-}
}
END
	chmod 644 "$work/$1.bpf"
}
under() {
	name=$1
	shift
	as "$bin/caverun" --workspace "$work/w" "$work/$name.bpf" -- "$@"
}
bounded() {
	name=$1
	shift
	delegated "$bin/caverun" --workspace "$work/w" "$work/$name.bpf" -- "$@"
}
prints() {
	test_label=$1 text=$2
	shift 2
	expect_output "$kind: $test_label" "$text" under "$@"
}
# refused NAME COMMAND…: the shell says so, and says 126.
no_exec() {
	test_label=$1
	shift
	run under "$@"
	expect "$kind: $test_label" "$status $(grep -c 'ermission denied' "$work/err")" = '126 1'
}

family few 4 "$few, \"$bin/script\", \"$bin/busybox\", \"$bin/astray\""
family none 0 "$few"
family forks1 1 "\"$bin/forkstorm\""
family forks3 3 "\"$bin/forkstorm\""
family forks12 12 "\"$bin/forkstorm\""
family folder 4 '"/usr/bin/"' 'limits { time 20s }'
family timed 4 '"/usr/bin/"' 'limits { time 400ms; output 100KiB }'
family python 3 '"/usr/bin/"'
family counted 8 '"/usr/bin/"' 'limits { cpu-time 500ms }'
family tasks 40 '"/usr/bin/"' 'limits { tasks 12; memory 100MiB }'
secret=$work/secret
echo secret >"$secret"

for kind in root user; do
	# --- what works
	prints "a pipe, a list, a substitution" "a
c b
6" few sh -c 'echo a; (echo b; echo c) | sort -r | { read x; read y; echo $x $y; }; echo $(echo 6 | cat)'
	run under few sh -c 'sh -c "exit 3"; echo $?; sh -c "kill -9 \$\$"; echo $?; exit 7'
	expect "$kind: statuses" "$status $(tr '\n' ' ' <"$work/out")" = '7 3 137 '
	prints "a script, through its interpreter" "script 1 2" few "$bin/script" 1 2
	prints "a static program" ok few sh -c "$bin/busybox echo ok"
	prints "a dynamic program, started by a static one" 1 few "$bin/busybox" sh -c 'echo 1 | /usr/bin/cat'
	prints "background processes and wait" "done 5" few sh -c \
		'sleep 0.1 & sleep 0.1 & sh -c "exit 5" & p=$!; wait $p; echo done $?; wait'
	prints "hundreds of pipelines, whose ends interrupt no fork" 300 few sh -c \
		'i=0; while [ $i -lt 300 ]; do cat /dev/null | cat | cat; i=$((i + 1)); done; echo $i'
	prints "one that replaces the tool" replaced none sh -c 'exec sh -c "echo replaced"'
	run under none sh -c 'cat /dev/null; echo $?'
	expect "$kind: and no other process with 0" -n "$(grep -i 'cannot fork' "$work/err")"
	prints "subprocess" "b'x\\n' 5" python "$python" -c 'import subprocess as s
print(s.run(["/usr/bin/cat"], input=b"x\n", capture_output=True).stdout, s.call(["/usr/bin/sh", "-c", "exit 5"]))'
	prints "os.fork, and a signal to it" 15 python "$python" -c 'import os, signal, time
p = os.fork()
if not p: time.sleep(20)
os.kill(p, 15); print(os.waitpid(p, 0)[1])'
	prints "asyncio" "0 b'1\\n'" python "$python" -c 'import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("/usr/bin/echo", "1", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    print(p.returncode, out)
asyncio.run(main())'
	if [ -x /usr/bin/node ]; then
		prints "node's child_process" "1 0" folder /usr/bin/node -e 'const c = require("child_process");
process.stdout.write(c.execFileSync("/usr/bin/echo", ["-n", "1"]) + " ");
c.spawn("/usr/bin/true").on("exit", (s) => console.log(s))'
	fi

	# --- which programs
	no_exec "a program that is not listed" few sh -c '/usr/bin/ls'
	no_exec "what the workspace holds" folder sh -c 'cp /usr/bin/true ./mine-'$kind'; ./mine-'$kind
	no_exec "a script whose interpreter is not listed" few sh -c "$bin/astray"
	run under few sh -c "/lib64/ld-linux-x86-64.so.2 $work/w/mine-$kind"
	expect "$kind: the loader does not run what was written" "$status" != 0
	prints "memory that is executable is not to be had" "refused 1" python "$python" -c 'import os
try: os.memfd_create("x", 0); print("made")
except OSError as e: print("refused", e.errno)'
	run under python "$python" -c 'import os
f = os.memfd_create("x", 8)
os.write(f, open("/usr/bin/true", "rb").read())
try: os.fchmod(f, 0o755)
except OSError: pass
os.execv("/proc/self/fd/%d" % f, ["x"])'
	expect "$kind: nor is memory made so executed" "$status" = 1

	# --- what they inherit
	prints "children have no network, no other files, no namespaces" "2 2 1" python "$python" -c "
import subprocess
def child(code): return subprocess.call(['/usr/bin/python3', '-c', code], stderr=subprocess.DEVNULL)
print(1 + child('import socket; socket.socket()'), 1 + child('open(\"$secret\")'),
      child('import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000) == -1)'))"
	prints "children see one another, and not who started them" "no
own
other" few sh -c '[ -e /proc/1 ] || echo no; [ -d /proc/$$ ] && echo own; sh -c "[ -r /proc/$$/status ] && echo other"; :'
	run under few sh -c 'for p in /proc/[0-9]*; do echo $p; done'
	expect "$kind: /proc holds the tool only" "$(wc -l <"$work/out")" = 1
	run under few sh -c 'kill -9 -1; sleep 0.1; exit 4'
	expect "$kind: signals to everybody stay inside" "$status" = 4

	# --- signals to the process group that it has from outside, with this Landlock and with one that does not scope them
	if command -v strace >/dev/null; then
		for version in $landlock 5; do
			[ "$version" -le "$landlock" ] || continue
			sends=sent
			[ "$version" -gt 5 ] || sends='refused 1'
			for how in 'os.kill(0, 15)' 'signal.pidfd_send_signal(pidfd, 15, None, 4)' \
				'os.kill(os.getpid(), 15)' '(os.setpgid(0, 0), os.kill(0, 15))'; do
				case $how in
				*pidfd*) wanted='refused [13]' ;; # nobody with that number leads a group
				'os.kill(0'*) wanted=$sends ;;
				*) wanted=sent ;;
				esac
				as "$python" "$work/group.py" strace -f -qq -o /dev/null -e trace=landlock_create_ruleset \
					-e "inject=landlock_create_ruleset:retval=$version:when=1" \
					"$bin/caverun" --workspace "$work/w" "$work/python.bpf" -- "$python" -c "import os, signal
signal.signal(15, signal.SIG_IGN)
pidfd = os.pidfd_open(os.getpid())
try: $how; print('sent')
except OSError as e: print('refused', e.errno)" >"$work/out" 2>&1
				expect "$kind: version $version: a bystander in its group lives through $how" \
					-n "$(tr '\n' ' ' <"$work/out" | grep -x "$wanted lives ")"
			done
		done
		expect_output "$kind: control: outside of the sandbox it does not" dies as "$python" "$work/group.py" \
			"$python" -c 'import os, signal; signal.signal(15, signal.SIG_IGN); os.kill(0, 15)'
	else
		skip "$kind: signals to its process group" "strace is not installed"
	fi

	# Nor what the caller hands over, which the tool makes executable: Landlock does not judge files in memory.
	for how in unsealed sealed; do
		run as "$python" "$work/hand.py" $how "$bin/caverun" --keep-fd 9 --workspace "$work/w" "$work/python.bpf" -- \
			"$python" -c 'import os
try: os.fchmod(9, 0o755)
except OSError: pass
try: os.execv("/proc/self/fd/9", ["echo", "executed"])
except OSError: print("refused")'
		case $how$status in
		sealed77) skip "$kind: memory with a seal" "this kernel has no MFD_NOEXEC_SEAL" ;;
		unsealed*) expect "$kind: memory without a seal is not handed over" \
			"$status $(grep -c 'could make executable' "$work/err")" = '125 1' ;;
		sealed*) expect "$kind: with one it is, and not executed" "$status $(cat "$work/out")" = '0 refused' ;;
		esac
	done
	expect_output "$kind: outside the first is executed" executed as "$python" "$work/hand.py" unsealed \
		"$python" -c 'import os; os.fchmod(9, 0o755); os.execv("/proc/self/fd/9", ["echo", "executed"])'

	# --- how many
	for n in 1 3; do
		prints "never more than $n" "most $n made some refused some" forks$n "$bin/forkstorm" 8 400
	done
	run under forks12 "$bin/forkstorm" 8 400
	expect "$kind: and none is refused below that" -n "$(grep 'made some refused none' "$work/out")"
	prints "zombies count, threads do not" "ok 11" python "$python" -c 'import os, threading, time
for _ in range(20): threading.Thread(target=time.sleep, args=(0.3,)).start()
for _ in range(3):
    if not os.fork(): os._exit(0)
try: os.fork()
except OSError as e: print("ok", e.errno)'

	# Calls that stay uncertain, and more of them than can be answered: the first process sees all else as well.
	for signal in KILL TERM; do
		: >"$work/storm"
		(become "$bin/caverun" --workspace "$work/w" "$work/forks1.bpf" -- "$bin/forkstorm" 16 30000 restless \
			>"$work/storm" 2>&1) &
		pid=$!
		for _ in $(seq 100); do grep -q here "$work/storm" && break; sleep 0.05; done
		sleep 1
		expect "$kind: a tool asks for processes all the while" "$(pgrep -cf "^$bin/forkstorm 16")" -gt 0
		kill -$signal $pid
		for _ in $(seq 100); do pgrep -f "^$bin/forkstorm 16" >/dev/null || break; sleep 0.05; done
		expect "$kind: SIG$signal to the runtime ends it all the same" \
			-z "$(pgrep -f "^$bin/forkstorm 16")"
		pkill -KILL -f "^$bin/forkstorm 16" && sleep 0.2
		wait $pid 2>/dev/null
	done

	# Nor by signals to it, which this Landlock may keep from it; strace says that it is an older one.
	if command -v strace >/dev/null && [ "$landlock" -ge 5 ]; then
		: >"$work/storm"
		(become strace -qq -o /dev/null -e trace=landlock_create_ruleset \
			-e inject=landlock_create_ruleset:retval=5:when=1 "$bin/caverun" --workspace "$work/w" \
			"$work/forks1.bpf" -- "$bin/forkstorm" 3 30000 signals >"$work/storm" 2>&1) &
		pid=$!
		for _ in $(seq 100); do grep -q here "$work/storm" && break; sleep 0.05; done
		sleep 1
		expect "$kind: a tool signals it all the while" "$(pgrep -cf "^$bin/forkstorm 3 30000")" -gt 0
		kill -KILL "$(pgrep -P $pid)"
		for _ in $(seq 40); do pgrep -f "^$bin/forkstorm 3 30000" >/dev/null || break; sleep 0.05; done
		expect "$kind: SIGKILL to the runtime ends that, too" -z "$(pgrep -f "^$bin/forkstorm 3 30000")"
		pkill -KILL -f "^$bin/forkstorm 3 30000" && sleep 0.2
		wait $pid 2>/dev/null
	else
		skip "$kind: signals to the first process" "strace is not installed, or Landlock is older"
	fi

	# --- limits hold for all of them together
	expect_code "$kind: the time of all" 124 cave_sandbox_timeout under timed sh -c 'sleep 50 & sleep 50'
	expect_code "$kind: the output of all" 124 cave_sandbox_output_limit under timed sh -c \
		'while :; do echo x; done & while :; do echo y; done & wait'
	expect_code "$kind: the processor time of all" 124 cave_sandbox_timeout bounded counted sh -c \
		'for i in 1 2 3; do sh -c "while :; do :; done" & done; wait'
	expect_output "$kind: the tasks of all" "some" bounded tasks "$python" -c 'import os, time
n = 0
try:
    for _ in range(30):
        if not os.fork(): time.sleep(1); os._exit(0)
        n += 1
except BlockingIOError: print("some" if n == 11 else n)'
	expect_code "$kind: the memory of all" 124 "used more memory" bounded tasks "$python" -c 'import os, time
for _ in range(4):
    if not os.fork(): x = bytearray(40000000); time.sleep(5); os._exit(0)
for _ in range(4): os.wait()'

	# --- the end
	for how in exit crash timeout; do
		case $how in
		exit) end='exit 3' wanted=3 ;;
		crash) end='kill -SEGV $$' wanted=139 ;;
		timeout) end='sleep 77' wanted=124 ;;
		esac
		policy=few
		[ $how = timeout ] && policy=timed
		run under $policy sh -c "setsid sleep 77 & (sleep 77 & sleep 77 &); trap '' HUP; sleep 0.1; $end"
		expect "$kind: after $how nothing is left" "$status $(pgrep -cf 'sleep 77')" = "$wanted 0"
	done
	for signal in KILL TERM; do
		(become "$bin/caverun" --workspace "$work/w" "$work/few.bpf" -- sh -c \
			'setsid sleep 78 & (sleep 78 &); sleep 78') &
		pid=$!
		for _ in $(seq 100); do [ "$(pgrep -cf 'sleep 78')" -ge 4 ] && break; sleep 0.05; done
		expect "$kind: they are there" "$(pgrep -cxf 'sleep 78')" = 3
		kill -$signal $pid
		status=0
		wait $pid 2>/dev/null || status=$?
		for _ in $(seq 60); do pgrep -xf 'sleep 78' >/dev/null || break; sleep 0.05; done
		expect "$kind: after SIG$signal to the runtime nothing is left" -z "$(pgrep -xf 'sleep 78')"
		[ $signal = KILL ] || expect "$kind: and the status is 143" "$status" = 143
	done
	# Whichever of them is killed from outside, and whatever state the others are in.
	for victim in init tool; do
		(become "$bin/caverun" --workspace "$work/w" "$work/few.bpf" -- sh -c \
			'setsid sleep 76 & sh -c "kill -STOP \$\$; :" & sh -c "trap : TERM HUP INT; sleep 76; :" & wait; wait') &
		pid=$!
		for _ in $(seq 100); do [ "$(pgrep -cxf 'sleep 76')" = 2 ] && break; sleep 0.05; done
		sleep 0.1
		expect "$kind: they are there, and one is stopped" \
			"$(pgrep -cxf 'sleep 76') $(pgrep -r T -cf 'kill -STOP .*; :')" = '2 1'
		init=$(pgrep -P $pid)
		[ $victim = init ] || init=$(pgrep -P "$init" | head -n 1)
		kill -KILL "$init"
		status=0
		wait $pid 2>/dev/null || status=$?
		expect "$kind: after SIGKILL to the $victim nothing is left" "$status $(pgrep -f 'sleep 76|kill -STOP')" = '137 '
	done
	(become "$bin/caverun" --workspace "$work/w" "$work/few.bpf" -- sh -c 'trap "exit 9" TERM; sleep 79 & wait') &
	pid=$!
	for _ in $(seq 100); do pgrep -xf 'sleep 79' >/dev/null && break; sleep 0.05; done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	expect "$kind: a signal reaches the tool, which ends as it likes" "$status" = 9
	expect "$kind: and its processes end with it" -z "$(pgrep -xf 'sleep 79')"
done
kind=bare
expect_code "where there are no namespaces nothing is started" 125 "only namespaces contain" under few true

# --- stops
"$bin/caverun" --workspace "$work/w" "$work/few.bpf" -- sh -c 'sleep 1.5; exit 5' &
pid=$!
for _ in $(seq 100); do pgrep -xf 'sleep 1.5' >/dev/null && break; sleep 0.05; done
state() { sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status"; }
tool=$(pgrep -P "$(pgrep -P $pid)")
kill -STOP "$tool"
sleep 0.3
expect "a stopped tool stops the runtime" "$(state $pid)" = T
kill -CONT $pid
sleep 0.3
expect "which continued continues the tool" "$(state "$tool")" = S
status=0
wait $pid || status=$?
expect "and its status is the tool's" "$status" = 5
