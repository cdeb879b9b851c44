#!/bin/sh
# SPDX-License-Identifier: MIT
# Policies whose network programs are kept loaded: made once, used by all, noticed when changed, removed when unused.
. "$(dirname "$0")/../lib.sh"
need_root

unified=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)
cgroup=$unified/cave-kept-$$
mkdir "$cgroup"
echo $$ >"$cgroup/cgroup.procs"
cleanup() {
	[ -z "${victim:-}" ] || kill -9 "$victim" 2>/dev/null
	"$caverun" --forget --all 2>/dev/null
	find "$cgroup" -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
	echo $$ >"$unified/cgroup.procs"
	rmdir "$cgroup"
}
compile net "$work/net.bpf" <<'END'
profile net { network { allow tcp 127.0.0.1 port 1 } }
END
compile other "$work/other.bpf" <<'END'
profile other { network { allow tcp 127.0.0.1 port 2 } }
END
compile plain "$work/plain.bpf" <<'END'
profile plain { }
END

# The tool is there, and bound: what it says, or the status of a start that was refused.
start() { "$caverun" "$work/${1:-net}.bpf" -- "$probe" tcp 127.0.0.1 3 || [ $? = 1 ] || return 125; }
group() { find "$cgroup" -mindepth 1 -maxdepth 1 -name 'cave-1-*' | head -n 1; }
programs() { bpftool cgroup show "$1" | awk '$1 ~ /^[0-9]+$/ { print $1 }' | sort -n | tr '\n' ' '; }
unavailable=cave_sandbox_os_network_isolation_unavailable

# --- made once, used by all
expect_output "a policy without network keeps nothing" '' sh -c "'$caverun' '$work/plain.bpf' -- true && '$caverun' --list"
expect_output "a first start is bound by the policy" 'tcp 127.0.0.1 3: refused EPERM' start
first=$(programs "$(group)")
inode=$(stat -c %i "$(group)")
expect "it leaves nine programs attached" "$(echo "$first" | wc -w)" = 9
expect_output "a second start is bound as well" 'tcp 127.0.0.1 3: refused EPERM' start
expect "by the same programs" "$(programs "$(group)")" = "$first"
expect "in the same control group" "$(stat -c %i "$(group)")" = "$inode"
start other >/dev/null
expect "another policy has another one" "$(find "$cgroup" -name 'cave-1-*' | wc -l)" = 2
run "$caverun" --list
expect "--list shows both, by name" "$(cut -d ' ' -f 4 "$work/out" | sort | tr '\n' ' ')" = 'net other '
expect_status "--forget POLICY" 0 "$caverun" --forget "$work/other.bpf"
expect "removes that one" "$("$caverun" --list | cut -d ' ' -f 4)" = net
expect_status "--forget --all" 0 "$caverun" --forget --all
expect "removes the rest" -z "$(group)"
expect_status "--prepare" 0 "$caverun" --prepare "$work/net.bpf"
expect "makes it without a tool" "$(programs "$(group)" | wc -w)" = 9
expect_status "--prepare of a policy without network" 0 "$caverun" --prepare "$work/plain.bpf"
"$caverun" --forget --all

# Several that want it at once: one makes it.
jobs=
for i in $(seq 8); do
	start >"$work/at-once.$i" 2>&1 &
	jobs="$jobs $!"
done
for job in $jobs; do wait "$job"; done
expect "eight first starts at once: all are bound" \
	"$(sort "$work"/at-once.* | uniq -c | sed 's/^ *//')" = '8 tcp 127.0.0.1 3: refused EPERM'
expect "and make one control group" "$(find "$cgroup" -name 'cave-1-*' | wc -l)" = 1
expect "with nine programs" "$(programs "$(group)" | wc -w)" = 9

# --- what was changed is noticed, and told from what nobody finished
# id GROUP: of its program for the hook "$connect4"; of NAME: the group of the policy of that name.
id_of() { bpftool cgroup show "$1" | awk -v hook="$connect4" '$2 == hook { print $1; exit }'; }
of() { "$caverun" --list | awk -v name="$1" '$4 == name { print $5 }'; }
changed() {
	expect_code "$1: refused" 125 $unavailable start
	"$caverun" --forget --all
	expect_status "$1: control, forgotten and made anew" 0 start
}
connect4=$(bpftool cgroup show "$(group)" | awk '/connect/ { print $2; exit }')
bpftool cgroup detach "$(group)" "$connect4" id "$(id_of "$(group)")"
changed "a program that was detached"
attached=$(bpftool cgroup show "$(group)" | awk '$1 ~ /^[0-9]+$/ { print $2 ":" $1 }')
missed=
for program in $attached; do
	bpftool cgroup detach "$(group)" "${program%:*}" id "$(bpftool cgroup show "$(group)" |
		awk -v hook="${program%:*}" '$2 == hook { print $1; exit }')"
	run start
	[ "$status" = 125 ] && grep -q "$unavailable" "$work/err" || missed="$missed ${program%:*}"
	"$caverun" --forget --all
	"$caverun" --prepare "$work/net.bpf"
done
expect "each of the nine" "$(echo "$attached" | wc -l)$missed" = 9
# A host that has prepared it already: with each start it is asked again, in one thread or in two.
host() { run env CAVE_LOAD="$build/cave-load" "$@" "$build/tests/library/caverun" "$work/net.bpf" -- "$probe" tcp 127.0.0.1 3; }
for caller in THREAD CALLER; do
	host $caller=1 MEANWHILE="bpftool cgroup detach $(group) $connect4 id $(id_of "$(group)")"
	expect "one that was detached after a host had prepared it, $caller" \
		"$status $(grep -c $unavailable "$work/err") $(cat "$work/out")" = '125 1 '
	"$caverun" --forget --all
	host $caller=1 MEANWHILE=true
	expect "control: nothing was changed, $caller" "$status $(cat "$work/out")" = '1 tcp 127.0.0.1 3: refused EPERM'
done
"$caverun" --prepare "$work/other.bpf"
bpftool cgroup attach "$(of net)" "$connect4" id "$(id_of "$(of other)")" multi
changed "a program that was added"
"$caverun" --prepare "$work/other.bpf"
bpftool cgroup detach "$(of net)" "$connect4" id "$(id_of "$(of net)")"
bpftool cgroup attach "$(of net)" "$connect4" id "$(id_of "$(of other)")" multi
changed "a program that was replaced by another policy's"
# On a hook that the policy has no program for; it lets everything through.
compile named "$work/named.bpf" <<'END'
profile named { network { allow tcp "api.example.com" port 443 } }
END
pins=/sys/fs/bpf/cave-kept-$$
bpftool prog loadall "$work/named.bpf" "$pins" >/dev/null 2>&1
pin=$(find "$pins" -name '*recvmsg4*')
if [ -n "$pin" ] && bpftool cgroup attach "$(of net)" recvmsg4 pinned "$pin" multi; then
	rm -rf "$pins"
	changed "a program on a hook that the policy does not have"
else
	rm -rf "$pins"
	skip "a program on a hook that the policy does not have" "bpftool does not load it"
fi
chmod 755 "$(group)"
changed "another mode"
chown 65534 "$(group)"
changed "another owner"
echo 1 >"$(group)/cgroup.freeze"
expect_code "a frozen group: refused" 125 $unavailable timeout 20 "$caverun" "$work/net.bpf" -- true
echo 0 >"$(group)/cgroup.freeze"
expect_status "a frozen group: control, thawed" 0 start
"$caverun" --forget --all
"$caverun" --prepare "$work/other.bpf"
"$caverun" --prepare "$work/net.bpf"
# A record that names the other policy's programs, on a group that holds them.
"$python" -c 'import os, sys
os.setxattr(sys.argv[2], "user.cave", os.getxattr(sys.argv[1], "user.cave"))' "$(of other)" "$(of net)"
changed "a record that is another policy's"
"$python" -c 'import os, sys
words = os.getxattr(sys.argv[1], "user.cave").split(b" ")
words[1] = b"1"
os.setxattr(sys.argv[1], "user.cave", b" ".join(words))' "$(of net)"
changed "a record of another program"
"$caverun" --forget --all

# --- what the verifier refuses: which program, and why; and nothing stays of it
mkdir "$work/tmp"
"$python" "$top/tests/tools/forge.py" "$work/net.bpf" "$work/unset.bpf" unset cgroup_skb/egress
TMPDIR=$work/tmp
export TMPDIR
expect_code "a program that the verifier refuses: refused" 125 $unavailable "$caverun" "$work/unset.bpf" -- true
expect "with the program and what is wrong with it" -n \
	"$(grep "for cgroup_skb/egress; its log ends in \".*R9 !read_ok\"" "$work/err")"
expect "and no log or group is left" "$(ls -A "$work/tmp") $("$caverun" --list)" = ' '
expect_status "control: as it was compiled" 0 start
unset TMPDIR

# --- left by who was killed
"$caverun" --prepare "$work/net.bpf"
name=$(basename "$(group)")
"$caverun" --forget --all
mkdir -m 700 "$cgroup/$name"
expect_output "an empty group that nobody finished" 'tcp 127.0.0.1 3: refused EPERM' start
expect "is finished" "$(programs "$(group)" | wc -w)" = 9
"$python" -c 'import os, sys; os.removexattr(sys.argv[1], "user.cave")' "$(group)"
inode=$(stat -c %i "$(group)")
expect_output "one with programs and no record" 'tcp 127.0.0.1 3: refused EPERM' start
expect "is made anew" "$(stat -c %i "$(group)")" != "$inode"
for delay in 0.001 0.003 0.006 0.010 0.015 0.02; do
	"$caverun" --forget --all
	timeout -s KILL $delay "$caverun" "$work/net.bpf" -- true >/dev/null 2>&1
done
expect_output "after first starts that were killed at any time" 'tcp 127.0.0.1 3: refused EPERM' start
expect "there is one group, whole" "$(find "$cgroup" -mindepth 1 -type d | wc -l) $(programs "$(group)" | wc -w)" = '1 9'

# --- in use, and unused
"$caverun" "$work/net.bpf" -- "$probe" wait 600000 >"$work/wait" &
victim=$!
for _ in $(seq 100); do grep -q here "$work/wait" && break; sleep 0.05; done
expect_status "one in use is not forgotten" 1 "$caverun" --forget --all
expect "--list says so" "$("$caverun" --list | cut -d ' ' -f 2)" = used
touch -d '2 hours ago' "$(group)"
expect_status "nor collected" 0 start other
expect "by another's first start" "$("$caverun" --list | wc -l)" = 2
kill -9 "$victim"
wait "$victim" 2>/dev/null
victim=
for _ in $(seq 100); do [ "$("$caverun" --list | grep -c ' used ')" = 0 ] && break; sleep 0.05; done
touch -d '2 hours ago' "$(of net)" "$(of other)"
expect_status "a start finds what nobody has used for an hour" 0 start other
expect "and removes it" "$("$caverun" --list | cut -d ' ' -f 4)" = other
touch -d '5 minutes ago' "$(of other)"
start other >/dev/null
expect "a start notes when it was" "$("$caverun" --list | cut -d ' ' -f 3)" -lt 100

# Collecting and starting at once: starts never fail, whatever is removed beneath them.
(while [ ! -e "$work/w.done" ]; do "$caverun" --forget --all >/dev/null 2>&1; done) &
collector=$!
failed=0
for _ in $(seq 25); do start >"$work/out" 2>"$work/err" || { failed=$((failed + 1)); cat "$work/err"; }; done
touch "$work/w.done"
wait $collector
expect "25 starts while all is forgotten again and again" $failed = 0

# --- who may
expect_code "without the privileges nothing is prepared" 125 $unavailable \
	setpriv --inh-caps -all --reuid 65534 --regid 65534 --clear-groups "$caverun" --prepare "$work/net.bpf"
expect_status "usage: --prepare without a policy" 125 "$caverun" --prepare
expect_status "usage: --forget without a policy" 125 "$caverun" --forget
expect_status "usage: --list with a program" 125 "$caverun" --list -- true
expect_status "usage: --all without --forget" 125 "$caverun" --all "$work/net.bpf" -- true
