#!/bin/sh
# SPDX-License-Identifier: MIT
# --status-fd: one record tells apart what became of a start and of the tool.
. "$(dirname "$0")/../lib.sh"
need_root

bin=$work/bin
mkdir "$bin"
cp "$caverun" "$build/cave-load" "$probe" "$bin"
compile p "$work/p.bpf" <<'END'
profile p { files { write workspace } }
END
compile limit "$work/limit.bpf" <<'END'
profile limit { limits { time 200ms } }
END
compile cred "$work/cred.bpf" <<'END'
profile cred { credentialEnv OPENAI_API_KEY }
END
identity=$("$cavec" dump "$work/p.bpf" | sed -n 's/^identity //p')

# record ARGUMENT…: caverun with these; its record is $work/record.
record() {
	rm -f "$work/record"
	run "$bin/caverun" --status-fd 3 "$@" 3>"$work/record"
}
field() { "$python" -c "import json; r = json.load(open('$work/record')); print(($1))"; }
# says NAME EXPRESSION WANTED
says() {
	got=$(field "$2")
	expect "$1" "$got" = "$3"
}
about="r['outcome'], r['exit_status'], r['step'], r['code'], r['errno'], r['tool_status'], r['tool_signal']"

record "$work/p.bpf" -- "$bin/cave-probe" exit 7
says "the tool's own end" "$about" "('exited', 7, 'run', None, None, 7, None)"
says "with the policy, the program and the times" \
	"r['policy'], r['identity'], r['program'], r['pid'] > 1, r['setup_ns'] > 0, r['run_ns'] > 0, r['time'][-1],
		r['message']" \
	"('p', '$identity', '$bin/cave-probe', True, True, True, 'Z', None)"
expect "in one line" "$(wc -l <"$work/record")" = 1
record "$work/p.bpf" -- /bin/sh -c 'kill -TERM $$'
says "a signal" "$about" "('signalled', 143, 'run', None, None, None, 15)"
record "$work/p.bpf" -- /bin/sh -c 'kill -INT $$'
says "SIGINT, by which caverun dies as well" "$about" "('signalled', 130, 'run', None, None, None, 2)"
record "$work/limit.bpf" -- /bin/sleep 60
says "a limit" "$about" "('limit', 124, 'run', 'cave_sandbox_timeout', None, None, 15)"
record "$work/p.bpf" -- "$bin/none"
says "a program that is not there" "$about" "('refused', 127, 'start', 'cave_sandbox_failed', 2, None, None)"
record "$work/p.bpf" -- "$work/p.cave"
says "one that cannot be executed" "r['outcome'], r['exit_status'], r['step'], r['pid'], r['run_ns']" \
	"('refused', 126, 'start', None, None)"
record "$work/p.cave" -- /bin/true
says "a policy that is none" "r['outcome'], r['exit_status'], r['step'], r['code'], r['policy']" \
	"('refused', 125, 'policy', 'cave_sandbox_policy_invalid', None)"
record "$work/none.bpf" -- /bin/true
says "a policy that is not there" "$about" "('refused', 125, 'policy', 'cave_sandbox_failed', 2, None, None)"
run env -u OPENAI_API_KEY "$bin/caverun" --status-fd=3 "$work/cred.bpf" -- /bin/true 3>"$work/record"
says "a credential that is not set" "r['step'], r['code'], 'OPENAI_API_KEY' in r['message']" \
	"('start', 'cave_sandbox_credential_missing', True)"
record --nothing "$work/p.bpf" -- /bin/true
says "a fault on the command line" "r['outcome'], r['step'], r['message'].split(';')[0]" \
	"('refused', 'options', 'unknown option --nothing')"
record --keep-fd 9 "$work/p.bpf" -- /bin/true
says "a descriptor that is not open" "r['step'], r['errno']" "('descriptors', 9)"
record "$work/p.bpf" -- "$(printf '/no\001\377"\\x')"
says "whatever the name holds, it is JSON" "r['program']" "$(printf '/no\001\357\277\275"\\x')"

# The signal came before the tool was started, held back until then.
rm -f "$work/record"
"$python" - "$bin/caverun" "$work/p.bpf" "$work/record" <<'END'
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
os.dup2(os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT, 0o600), 5)
os.execv(sys.argv[1], [sys.argv[1], "--status-fd", "5", sys.argv[2], "--", "/bin/true"])
END
says "a signal before the start" "r['outcome'], r['exit_status'], r['pid']" "('interrupted', 143, None)"

record "$work/p.bpf" -- "$bin/cave-probe" descriptors
expect "the tool does not get the descriptor" -z "$(grep '^3' "$work/out")"
expect_code "nor by --keep-fd" 125 'may not have the descriptor' \
	"$bin/caverun" --status-fd 3 --keep-fd 3 "$work/p.bpf" -- /bin/true 3>/dev/null
expect_code "a descriptor that is closed" 125 'Bad file descriptor' "$bin/caverun" --status-fd 9 "$work/p.bpf" -- /bin/true 9>&-
for value in 2 -1 x '' 99999999999; do
	expect_code "no descriptor: '$value'" 125 cave_sandbox_failed \
		"$bin/caverun" --status-fd="$value" "$work/p.bpf" -- /bin/true
done
expect_code "no value" 125 cave_sandbox_failed "$bin/caverun" "$work/p.bpf" --status-fd -- /bin/true
run "$bin/caverun" --status-fd 3 "$work/p.bpf" -- "$bin/cave-probe" exit 4 3>/dev/full
expect "a record that cannot be written is said, and changes nothing" \
	"$status $(grep -c 'cannot write the record' "$work/err")" = "4 1"
run "$bin/caverun" "$work/p.bpf" -- /bin/echo --status-fd 2
expect "what is behind -- is the tool's" "$status $(cat "$work/out")" = "0 --status-fd 2"
