#!/bin/sh
# SPDX-License-Identifier: MIT
# --report and --log: what was refused, how often, by which line, and what would grant it.
# The attempts are words.
# shellcheck disable=SC2086
. "$(dirname "$0")/../lib.sh"
need_root

compile report "$work/report.bpf" <<'END'
profile report {
    network {
        allow tcp 192.0.2.2 port 80
        allow tcp 127.0.0.1 port 7001
        listen tcp 127.0.0.1 port 3917
        deny tcp 127.0.0.9
        deny udp 192.0.2.128/25 port 99-100
        allow udp 192.0.2.0/24 port 99
    }
}
END
watched() { run "$caverun" "$@" "$work/report.bpf" -- "$probe" $attempts; }
# says NAME SENTENCE: the report has this line; without --report nothing is said.
says() {
	expect "$1" "$(grep -cxF "caverun: $2" "$work/err")" = 1
}

attempts='tcp 127.0.0.9 7001 , tcp 127.0.0.1 80 , tcp 192.0.2.9 80 , udp-sendto 192.0.2.2 80 , tcp ::1 7001
	listen-tcp :: 3917 , listen-tcp 127.0.0.1 3917 , udp-sendto 192.0.2.200 100 , udp-sendto 192.0.2.2 99
	udp-connect 10.0.0.53 53 , tcp 127.0.0.9 7001 , tcp-mapped 127.0.0.9 7001 , tcp 2001:db8::1 443
	udp-connect 192.0.2.2 80 , udp-connect 192.0.2.7 9 , udp-connect 198.51.100.1 4433'
attempts=$(echo "$attempts" | sed '$!s/$/ ,/')
watched
expect "without --report nothing is said" -z "$(cat "$work/err")"
outcome=$(cat "$work/out")
watched --report
expect "with it the tool sees the same" "$(cat "$work/out")" = "$outcome"
says "a denial names its line" 'refused by policy: connect tcp 127.0.0.9:7001, 2 times; report.cave:6 denies it'
says "another port" \
	'refused by policy: connect tcp 127.0.0.1:80; no rule; report.cave:4 grants tcp 127.0.0.1 port 7001'
says "another address" \
	'refused by policy: connect tcp 192.0.2.9:80; no rule; report.cave:3 grants tcp 192.0.2.2 port 80'
says "another protocol, or a nearer port" \
	'refused by policy: send udp 192.0.2.2:80; no rule; report.cave:8 grants udp 192.0.2.0-192.0.2.255 port 99'
says "a family of which nothing is granted by that port" \
	'refused by policy: connect tcp [2001:db8::1]:443; no rule names IPv6'
says "listening elsewhere than granted" \
	'refused by policy: listen tcp [::]:3917; no rule; report.cave:5 grants tcp 127.0.0.1 port 3917; pass host "127.0.0.1"'
says "a denial by port" 'refused by policy: send udp 192.0.2.200:100; report.cave:7 denies it'
says "a name lookup names the grant" 'refused by policy: connect udp 10.0.0.53:53; no rule; a name lookup? grant: allow resolver'
says "probes are counted apart" '2 address probes, harmless'
says "a datagram socket that is connected elsewhere is none" 'refused by policy: connect udp 198.51.100.1:4433; no rule'
expect "what is granted is not in it" "$(grep -cE '192\.0\.2\.2:99|127\.0\.0\.1:3917' "$work/err")" = 0
expect "every line is accounted for" "$(grep -c '^caverun: ' "$work/err")" = 12

attempts='tcp 127.0.0.1 7001'
watched --report
says "nothing to report" "nothing was refused by the network's policy"

# Every run has its own counts, and leaves nothing.
attempts='tcp 127.0.0.9 7001 , wait 1500'
"$caverun" --report "$work/report.bpf" -- "$probe" $attempts >/dev/null 2>"$work/first" &
first=$!
attempts='tcp 127.0.0.1 80 , tcp 127.0.0.1 80 , tcp 127.0.0.1 80'
watched --report
wait $first
expect "counts are of one run" "$(grep -c . "$work/err")/$(grep -c 127.0.0.9 "$work/first")/$(grep -c . "$work/first")" = 1/1/1
says "and of all of it" \
	'refused by policy: connect tcp 127.0.0.1:80, 3 times; no rule; report.cave:4 grants tcp 127.0.0.1 port 7001'
own=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)$(sed -n 's/^0:://p' /proc/self/cgroup)
group=cave-1-$("$cavec" dump "$work/report.bpf" | sed -n 's/^identity \(.\{32\}\).*/\1/p')
watched
expect "a control: a start without it keeps programs" "$(find "$own" -maxdepth 1 -name "$group" | wc -l)" = 1
"$caverun" --forget "$work/report.bpf"
watched --report
expect "no programs are kept for a report" "$(find "$own" -maxdepth 1 -name "$group" | wc -l)" = 0
# --- the record of --status-fd: the same, counted -----------------------------------------------------------
# record OPTION…: what it says of refusals.
record() {
	"$caverun" --status-fd 9 "$@" "$work/report.bpf" -- "$probe" $attempts 9>"$work/record" >/dev/null 2>"$work/err"
	"$python" -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["refusals"]))' "$work/record"
}
expect "nothing is counted that is not asked for" "$(record)" = null
counted=$(record --report)
# Every sentence says how often, if more than once.
total=$("$python" -c '
import re, sys
lines = [line for line in open(sys.argv[1]) if "refused by policy" in line]
print(sum(int((re.search(r", (\d+) times", line) or [0, 1])[1]) for line in lines))' "$work/err")
expect "the record has as many as the report" "$counted" = "{\"network\": $total, \"probes\": 0, \"lookups\": 0}"
expect "and the log counts the same" "$(record --log "$work/log.counted")" = "$counted"
"$caverun" --status-fd 9 --report "$work/report.bpf" -- "$probe" ids 9>"$work/record" >/dev/null 2>&1
expect "nothing refused is 0, and not unknown" -n "$(grep -F '"refusals":{"network":0,"probes":0,"lookups":0}' "$work/record")"
run "$caverun" --report "$work/report.bpf" --keep-fd 8 -- "$probe" ids 8</dev/null
expect "control: a start that is made reports" "$status $(grep -c 'nothing was refused' "$work/err")" = "0 1"
run "$caverun" --report "$work/report.bpf" --keep-fd 8 -- "$probe" ids 8<"$work"
expect "one that is refused has nothing to report" "$status $(grep -c 'was refused' "$work/err")" = "125 0"


# The log: JSON, appended, as it happens.
echo first >"$work/log"
attempts='tcp 127.0.0.9 7001 , wait 1500 , tcp 127.0.0.9 7001 , udp-connect 10.0.0.53 53'
"$caverun" --log "$work/log" "$work/report.bpf" -- "$probe" $attempts >/dev/null 2>"$work/err" &
run=$!
tries=0
until grep -q 7001 "$work/log" || [ $tries = 50 ]; do tries=$((tries + 1)) && sleep 0.1; done
expect "a refusal is logged while the tool runs" -d "/proc/$run"
wait $run
expect "nothing else is said" -z "$(cat "$work/err")"
expect_output "the log is appended to, a line of JSON each" 'first
connect4 tcp 127.0.0.9 7001 1 denied report.cave 6
connect4 udp 10.0.0.53 53 1 no rule allow resolver
connect4 tcp 127.0.0.9 7001 1 denied report.cave 6' "$python" -c '
import json, sys
for line in open(sys.argv[1]):
    if line.startswith("{"):
        d = json.loads(line)
        assert d["time_ms"] > 1e12 and d["probe"] is False
        said = ("hook", "protocol", "address", "port", "count", "reason", "file", "line", "grant")
        print(*[d[k] for k in said if k in d])
    else:
        print(line, end="")' "$work/log"
expect "it is for its owner alone" "$(rm "$work/log" && "$caverun" --log "$work/log" "$work/report.bpf" -- true &&
	stat -c %a "$work/log")" = 600
ln -s "$work/elsewhere" "$work/link"
for bad in "$work" /dev/null "$work/none/log" "$work/link"; do
	expect_code "a log that is no file: $bad" 125 cave_sandbox_failed \
		"$caverun" --log "$bad" "$work/report.bpf" -- "$probe" ids
	expect "then nothing is started" -z "$(cat "$work/out")"
done
expect "nor is a link followed" ! -e "$work/elsewhere"
expect_code "--report without a PROGRAM" 125 cave_sandbox_failed "$caverun" --report --list
mkdir "$work/bin"
cp "$caverun" "$build/cave-load" "$work/bin"
expect_code "without cave-report it is not started" 125 cave_sandbox_failed \
	"$work/bin/caverun" --report "$work/report.bpf" -- "$probe" ids
expect_status "and is, where no report is asked for" 0 "$work/bin/caverun" "$work/report.bpf" -- "$probe" ids
compile ports "$work/ports.bpf" <<'END'
profile ports { network { allow tcp 127.0.0.1 port { 443, 8000-8010 }; allow tcp 127.0.0.2 port { 1, 3, 5, 7, 9 } } }
END
run "$caverun" --report "$work/ports.bpf" -- "$probe" tcp 127.0.0.1 80 , tcp 127.0.0.2 80 , tcp 127.0.0.3 8010
grants='refused by policy: connect tcp 127.0.0'
says "all ports of the nearest rule" "$grants.1:80; no rule; ports.cave:1 grants tcp 127.0.0.1 port { 443, 8000-8010 }"
says "or the first of them" "$grants.2:80; no rule; ports.cave:1 grants tcp 127.0.0.2 port { 1, 3, 5, 7, and more }"
says "a port that only the second range has" \
	"$grants.3:8010; no rule; ports.cave:1 grants tcp 127.0.0.1 port { 443, 8000-8010 }"
compile spans "$work/spans.bpf" <<'END'
profile spans {
    network {
        allow tcp 10.9.0.5-10.9.0.9 port 7
        allow tcp 2001:db8:4000::/35 port 8
        allow tcp 2001:db8::5-2001:db8::9 port 9
    }
}
END
run "$caverun" --report "$work/spans.bpf" -- "$probe" tcp 10.9.0.9 80 , tcp 2001:db8:5fff::1 80 , tcp 2001:db8::9 80
grants='no rule; spans.cave'
says "a range that is no prefix" "refused by policy: connect tcp 10.9.0.9:80; $grants:3 grants tcp 10.9.0.5-10.9.0.9 port 7"
says "a prefix that ends within a word" "refused by policy: connect tcp [2001:db8:5fff::1]:80; $grants:4 grants \
tcp 2001:db8:4000::-2001:db8:5fff:ffff:ffff:ffff:ffff:ffff port 8"
says "a range of IPv6" \
	"refused by policy: connect tcp [2001:db8::9]:80; $grants:5 grants tcp 2001:db8::5-2001:db8::9 port 9"
compile plain "$work/plain.bpf" <<'END'
profile plain { }
END
expect_status "a policy without network" 0 "$caverun" --report --log "$work/log" "$work/plain.bpf" -- "$probe" ids
says "has nothing to count" 'the policy grants no network: no destination is counted'

# The section is outside the identity: whatever it holds, the run is the same, and what is said stays well formed.
attempts='tcp 127.0.0.9 7001 , listen-tcp :: 3917 , udp-sendto 192.0.2.200 100'
"$caverun" "$work/report.bpf" -- "$probe" $attempts >"$work/wanted"
wrong=
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
	"$python" "$top/tests/tools/scribble.py" "$work/report.bpf" "$work/scribbled.bpf" cave.rules $seed
	rm -f "$work/log"
	run "$caverun" --report --log "$work/log" "$work/scribbled.bpf" -- "$probe" $attempts
	{ [ "$status" = 1 ] && cmp -s "$work/out" "$work/wanted" && ! LC_ALL=C grep -q '[^ -~]' "$work/err" &&
		[ "$(grep -c '^caverun: refused by policy: ' "$work/err")" = 3 ] &&
		"$python" -c 'import json,sys; assert len([json.loads(l) for l in open(sys.argv[1])]) == 3' "$work/log"; } ||
		wrong="$wrong $seed"
done
expect "rules that somebody has scribbled in" -z "$wrong"
