#!/bin/sh
# SPDX-License-Identifier: MIT
# The record of starts and ends: what is in it, and that no start goes without.
. "$(dirname "$0")/../lib.sh"
need_root

nobody=65534
bin=$work/bin
mkdir "$bin" "$work/etc" "$work/log"
cp "$caverun" "$build/cave-load" "$probe" "$bin"
chmod -R go+rX "$bin"
log=$work/log/runs.jsonl
printf 'record %s\n' "$log" >"$work/etc/operator.conf"
compile p "$work/p.bpf" <<'END'
profile p { }
END
compile limit "$work/limit.bpf" <<'END'
profile limit { limits { time 200ms } }
END
compile cred "$work/cred.bpf" <<'END'
profile cred { credentialEnv OPENAI_API_KEY }
END
chmod 644 "$work"/*.bpf
identity=$("$cavec" dump "$work/p.bpf" | sed -n 's/^identity //p')

recorded() { run "$bin/caverun" --config "$work/etc" "$@"; }
# lines EXPRESSION: of the list of records.
lines() { "$python" -c "import json; l = [json.loads(line) for line in open('$log')]; print(($1))"; }
# says NAME EXPRESSION WANTED
says() {
	got=$(lines "$2")
	expect "$1" "$got" = "$3"
}

recorded "$work/p.bpf" -- "$bin/cave-probe" exit 3
says "a start and an end" "[r['event'] for r in l]" "['start', 'end']"
says "of one run" "l[0]['run'] == l[1]['run'] and len(l[0]['run']) == 16" True
says "with the policy and the program" "l[0]['policy'], l[0]['identity'], l[0]['program'], l[0]['user']" \
	"('p', '$identity', '$bin/cave-probe', 0)"
says "and what became of it" "l[1]['outcome'], l[1]['tool_status'], l[1]['code'], l[1]['pid'] > 1, l[1]['run_ns'] > 0" \
	"('exited', 3, None, True, True)"
expect "for its owner alone" "$(stat -c %a "$log")" = 600
recorded "$work/p.bpf" -- /bin/sh -c 'kill -9 $$'
says "it grows" "len(l), l[3]['outcome'], l[3]['tool_signal']" "(4, 'signalled', 9)"
recorded "$work/limit.bpf" -- /bin/sleep 60
says "a limit" "l[-1]['outcome'], l[-1]['code'], l[-1]['policy']" "('limit', 'cave_sandbox_timeout', 'limit')"
n=$(wc -l <"$log")
recorded "$work/cred.bpf" -- /bin/true
expect "what is refused before it would start is no start" "$status $(wc -l <"$log")" = "125 $n"

run "$bin/caverun" --config "$work/etc" --record "$work/log/own.jsonl" "$work/p.bpf" -- /bin/true
expect "the caller's own is kept beside the operator's" "$(tail -n 2 "$log")" = "$(cat "$work/log/own.jsonl")"

# Many at once: every line is whole.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"$bin/caverun" --config "$work/etc" "$work/p.bpf" -- /bin/true &
done
wait
says "lines of many at once do not mix" "len(l) - $n, len({r['run'] for r in l[$n:]})" "(22, 11)"

# A start that cannot be recorded is none.
stays() {
	expect_code "$1" 125 'the record of starts' "$bin/caverun" --config "$work/etc" "$work/p.bpf" -- "$bin/cave-probe" ids
	expect "$1: nothing was started" -z "$(cat "$work/out")"
}
mv "$log" "$work/log/kept"
mkdir "$log"
stays "a folder in its place"
rmdir "$log"
ln -s kept "$log"
stays "a link in its place"
rm "$log"
mkfifo "$log"
stays "a pipe in its place"
rm "$log"
printf 'record /dev/full\n' >"$work/etc/operator.conf"
stays "a device"
printf 'record %s/none/log\n' "$work" >"$work/etc/operator.conf"
stays "a folder that is not there"
mkdir "$work/small"
mount -t tmpfs -o size=4k none "$work/small"
printf 'record %s/small/log\n' "$work" >"$work/etc/operator.conf"
dd if=/dev/zero of="$work/small/fill" bs=4096 count=1 2>/dev/null
stays "no room"
umount "$work/small"
mv "$work/log/kept" "$log"
printf 'record %s\n' "$log" >"$work/etc/operator.conf"
expect_code "a user who may not write it" 125 'Permission denied' \
	setpriv --reuid=$nobody --clear-groups "$bin/caverun" --config "$work/etc" "$work/p.bpf" -- /bin/true
chmod 622 "$log"
expect_status "control: one who may" 0 \
	setpriv --reuid=$nobody --clear-groups "$bin/caverun" --config "$work/etc" "$work/p.bpf" -- /bin/true
says "and it says who" "l[-1]['user']" $nobody

# What binds the tool is nothing that it may write.
chmod 600 "$log"
for grant in "$work/log" "$log" "$work/etc"; do
	mkdir -p "$work/apart"
	printf 'profile w { files { write "%s" } }\n' "$grant" >"$work/apart/w.cave"
	"$cavec" "$work/apart/w.cave" -o "$work/apart/w.bpf"
	expect_code "a write grant may not cover ${grant##*/}" 125 "covers the operator's rules or the record" \
		"$bin/caverun" --config "$work/etc" "$work/apart/w.bpf" -- /bin/true
done
printf 'profile w { files { write workspace } }\n' >"$work/apart/w.cave"
"$cavec" "$work/apart/w.cave" -o "$work/apart/w.bpf"
expect_code "nor may a workspace" 125 "covers the operator's rules or the record" \
	"$bin/caverun" --config "$work/etc" --workspace "$work/log" "$work/apart/w.bpf" -- /bin/true
expect_status "control: another one" 0 "$bin/caverun" --config "$work/etc" "$work/apart/w.bpf" -- /bin/true
