#!/bin/sh
# SPDX-License-Identifier: MIT
# Limits on memory and tasks where their controllers are of version 2 of control groups, in a group that is delegated, as
# a service manager does: alone in it they are kept, and it is as before afterwards; else the start is refused.
# For a host that has such controllers to hand down, such as the one of tests/vm/run.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
mount=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
group=$mount/cave-delegated-$$
cleanup() {
	kill -9 "$holder" 2>/dev/null
	rmdir "$group"/cave-* "$group" 2>/dev/null
}
if ! grep -qsw memory "$mount/cgroup.subtree_control"; then
	skip "controllers of version 2" "this host has none to hand down"
	kill -9 "$holder"
	exit 0
fi
mkdir "$group"
# alone COMMAND…: in that group.
alone() {
	(
		# shellcheck disable=SC2016
		sh -c 'echo $PPID >"$0/cgroup.procs"' "$group"
		become "$@"
	)
}
compile both "$work/both.bpf" <<'END'
profile both { limits { memory 64MiB; tasks 6 } }
END
compile tasks "$work/tasks.bpf" <<'END'
profile tasks { limits { tasks 6 } }
END
compile net "$work/net.bpf" <<'END'
profile net { network { allow tcp 127.0.0.1 port 1 }; limits { memory 64MiB; tasks 6 } }
END
chmod 644 "$work"/*.bpf
hog='x = bytearray(100000000)'
threads='import threading, time
try:
    for n in range(20): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
except RuntimeError: print("refused after", n)'
as_before() {
	expect "$kind: and the group is as before" "$(cat "$group/cgroup.subtree_control" "$group/cgroup.procs")$(
		find "$group" -mindepth 1 -type d -name 'cave-????????????????')" = ""
}
for kind in root user; do
	[ "$kind" = root ] || chown -R "$nobody:$nobody" "$group"
	expect_code "$kind: memory is bounded" 124 "more memory than 64MiB" \
		alone "$bin/caverun" "$work/both.bpf" -- "$python" -c "$hog"
	as_before
	expect_status "$kind: control: without a limit it is had" 0 as "$python" -c "$hog"
	for policy in both tasks; do
		expect_output "$kind: tasks are bounded, by the policy $policy" "refused after 5" \
			alone "$bin/caverun" "$work/$policy.bpf" -- "$python" -c "$threads"
		as_before
	done
	expect_code "$kind: beside another process in the group it is refused" 125 "hand it down" \
		alone sh -c '"$@"; exit $?' sh "$bin/caverun" "$work/both.bpf" -- true
	as_before
	expect_code "$kind: so it is for tasks alone" 125 "hand it down" \
		alone sh -c '"$@"; exit $?' sh "$bin/caverun" "$work/tasks.bpf" -- true
	as_before
done
kind=root
chown -R 0:0 "$group"
for start in first second; do
	expect_code "with network as well, a $start start" 124 "more memory than 64MiB" \
		alone "$bin/caverun" "$work/net.bpf" -- "$python" -c "$hog"
	as_before
	run alone "$bin/caverun" "$work/net.bpf" -- "$bin/probe" tcp 127.0.0.1 2
	expect "whose network is bounded" "$(cat "$work/out")" = 'tcp 127.0.0.1 2: refused EPERM'
	as_before
done
expect_status "what is kept of it is forgotten" 0 alone "$bin/caverun" --forget --all
run alone "$build/caverun" --doctor
expect "the doctor has tried it" "$(grep -c '^ok *\(memory\|pids\)_controller *version 2: .* waits in$' "$work/out")" = 2
as_before
run "$build/caverun" --doctor
expect "and from here it is not to be had" "$(grep -c '^absent *memory_controller' "$work/out")" = 1
