#!/bin/sh
# SPDX-License-Identifier: MIT
# Many starts, at once and one after another, and runs that are killed at any moment: nothing is left and nothing grows.
# The numbers are for every day; tests/soak asks for the full ones.
. "$(dirname "$0")/../lib.sh"
need_root
kills=${SOAK_KILLS:-100} policies=20 concurrent=${SOAK_CONCURRENT:-50} sequential=${SOAK_SEQUENTIAL:-400}

hierarchy=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)
cgroup=$hierarchy/cave-soak-$$
mkdir "$cgroup" "$work/tmp" "$work/bin"
echo $$ >"$cgroup/cgroup.procs"
# Of version 1 too, as far as limits use it: the groups that we were in.
own=
for controller in memory pids; do
	at=$(awk -v c="$controller" '/ - cgroup /{ if ("," $NF "," ~ "," c ",") { print $5; exit } }' /proc/self/mountinfo)
	[ -n "$at" ] || continue
	before=$at$(sed -n "s/^[0-9]*:[^:]*${controller}[^:]*:\(.*\)/\1/p" /proc/self/cgroup)
	mkdir "$before/cave-soak-$$"
	echo $$ >"$before/cave-soak-$$/cgroup.procs"
	own="$own $before"
done
cleanup() {
	"$caverun" --forget --all
	echo $$ >"$hierarchy/cgroup.procs"
	rmdir "$cgroup"
	for before in $own; do
		echo $$ >"$before/cgroup.procs"
		rmdir "$before/cave-soak-$$"
	done
}
export TMPDIR="$work/tmp"
cp "$probe" "$work/bin/tool-of-soak-$$" # a name that no other process has
tool=$work/bin/tool-of-soak-$$
compile plain "$work/plain.bpf" <<'END'
profile plain { files { write workspace } }
END
compile limits "$work/limits.bpf" <<'END'
profile limits { files { write workspace }; limits { output 1MiB; cpu-time 10s } }
END
compile bounded "$work/bounded.bpf" <<'END'
profile bounded { files { write workspace }; limits { memory 64MiB; tasks 8 } }
END
compile children "$work/children.bpf" <<'END'
profile children { files { write workspace }; childProcess { max-processes 8; execute "/bin/sh" } }
END
for n in $(seq $policies); do
	compile "net$n" "$work/net$n.bpf" <<END
profile net$n { network { allow tcp 192.0.2.$n port 443 }; files { write workspace } }
END
done

processes() { pgrep -fc "$tool" || :; }
groups() { find "$cgroup" -mindepth 1 -type d | wc -l; }
old_groups() { for at in $own; do find "$at/cave-soak-$$" -mindepth 1 -type d; done | wc -l; }
folders() { find "$TMPDIR" -mindepth 1 | wc -l; }
programs() { bpftool prog list 2>/dev/null | grep -c 'name cave_' || :; }
# settled FUNCTION NUMBER: what it counts comes down to that within some seconds.
settled() {
	for _ in $(seq 100); do
		found=$($1)
		[ "$found" -le "$2" ] && return
		sleep 0.1
	done
	return 1
}

# --- killed at any moment, with and without network, limits and children, while it starts, runs, and ends
killed=0
kinds="plain net1 limits children"
"$caverun" "$work/bounded.bpf" -- true 2>"$work/err" && kinds="$kinds bounded"
for n in $(seq "$kills"); do
	# shellcheck disable=SC2086
	policy=$(set -- $kinds; shift $((n % $#)); echo "$1")
	set -- "$tool" create ./made , wait 20
	[ "$policy" != children ] || set -- "$tool" create ./made , fork , wait 20
	"$caverun" "$work/$policy.bpf" -- "$@" >/dev/null 2>&1 &
	pid=$!
	sleep "0.0$(printf '%02d' $((n * 7 % 40)))"
	kill -KILL $pid 2>/dev/null && killed=$((killed + 1))
	wait $pid 2>/dev/null
done
expect "most of $kills runs of $kinds were killed on the way" $killed -gt $((kills / 2))
if settled processes 0; then ok "no tool is left of them"; else not_ok "no tool is left of them" "$found"; fi
# What they leave is found by the next starts: 16 folders each.
for _ in $(seq $((kills / 16 + 2))); do "$caverun" "$work/plain.bpf" -- true; done
expect "the next starts remove the folders that they left" "$(folders)" = 0
for policy in $kinds; do "$caverun" "$work/$policy.bpf" -- "$tool" exit 0; done
expect "and the control groups" "$(old_groups)" = 0
run "$caverun" "$work/net1.bpf" -- true
expect "and the policy can be started" "$status" = 0
expect "with one control group for it" "$(groups)" -le 1
mkdir -m 755 "$TMPDIR/cave-0123456789abcdef"
mkdir -m 700 "$TMPDIR/cave-mine" "$TMPDIR/cave-0123456789abcde"
"$caverun" "$work/plain.bpf" -- "$tool" wait 3000 >"$work/here" &
pid=$!
for _ in $(seq 100); do grep -q here "$work/here" && break; sleep 0.05; done
"$caverun" "$work/plain.bpf" -- true
expect "folders that are in use, or no run's, stay" "$(folders)" = 4
wait $pid
rmdir "$TMPDIR"/cave-*

# --- at once
jobs=
for n in $(seq "$concurrent"); do
	"$caverun" "$work/net$((n % policies + 1)).bpf" -- "$tool" create ./made >"$work/at-once.$n" 2>&1 &
	jobs="$jobs $!"
done
failed=0
for job in $jobs; do wait "$job" || failed=$((failed + 1)); done
expect "$concurrent runs of $policies policies at once" $failed = 0
[ $failed = 0 ] || cat "$work"/at-once.* | sort | uniq -c | head -n 5
settled processes 0
expect "leave a control group for each policy, and no more" "$(groups)" = "$((concurrent < policies ? concurrent : policies))"
expect "and no folder" "$(folders)" = 0

# --- one after another
sequence() {
	for _ in $(seq "$1"); do
		"$caverun" "$work/net1.bpf" -- "$tool" exit 0 || failed=$((failed + 1))
		"$caverun" "$work/plain.bpf" -- "$tool" exit 0 || failed=$((failed + 1))
	done
}
slab() { awk '/^Slab:/ { print $2 }' /proc/meminfo; }
failed=0
sequence 20
groups_before=$(groups) programs_before=$(programs) slab_before=$(slab)
sequence $((sequential / 2))
expect "$sequential runs one after another" $failed = 0
expect "no control group more" "$(groups)" = "$groups_before"
if settled programs "$programs_before"; then # others may load theirs meanwhile
	ok "no program of the kernel more"
else
	not_ok "no program of the kernel more" "$programs_before, then $found"
fi
expect "no folder, no process" "$(folders) $(processes)" = '0 0'
# Other work on the machine moves this as well: a leak of 4 KiB a run would show.
expect "no memory of the kernel's for each run" $(($(slab) - slab_before)) -lt $((sequential * 4 + 30000))
cp "$work/net1.bpf" "$work/net.bpf"
cp "$work/plain.bpf" "$work/write.bpf"
compile limits "$work/limits.bpf" <<'END'
profile limits { limits { time 50ms; output 1KiB } }
END
# Five threads of a host, and each measures what it holds: descriptors, threads, mappings.
CAVE_LOAD=$build/cave-load "$build/tests/tools/hostthreads" "$work" "$probe" $((sequential / 5)) | sed 's/^ok /ok a host: /'
"$caverun" --forget --all
expect "all that was kept is forgotten" "$(groups)" = 0
