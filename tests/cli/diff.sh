#!/bin/sh
# SPDX-License-Identifier: MIT
# cavec diff: what is newly granted, by kind of grant, in every form; --within; artefacts and profiles alike.
. "$(dirname "$0")/../lib.sh"

profile() { printf 'profile %s {\n%s\n}\n' "$1" "$2" >"$work/$1.cave"; }

# differs NAME STATUS TEXT OLD NEW: the diff of two bodies has the status and a line that holds TEXT.
differs() {
	profile old "$4"
	profile new "$5"
	run "$cavec" diff "$work/old.cave" "$work/new.cave"
	if [ "$status" = "$2" ] && grep -qF -- "$3" "$work/out"; then
		ok "$1"
	else
		not_ok "$1" "status $status; $(cat "$work/out" "$work/err")"
	fi
}

a='network { allow tcp 10.0.0.0/24 port 443 }'
differs 'equal reach, other text' 0 'equal reach' "$a" 'network { allow tcp { 10.0.0.0/25, 10.0.0.128/25 } port 443 }'
differs 'equal reach of other names of sets' 0 'equal reach' 'syscalls { deny @keyring }' \
	'syscalls { deny add_key, keyctl, request_key }'
differs 'a wider network' 1 '+ tcp 10.0.1.0/24 port 443  # 256 addresses' "$a" 'network { allow tcp 10.0.0.0/23 port 443 }'
differs 'a narrower network' 0 '- tcp 10.0.0.128/25 port 443' "$a" 'network { allow tcp 10.0.0.0/25 port 443 }'
differs 'a narrower network grants nothing' 0 'nothing is newly granted' "$a" 'network { allow tcp 10.0.0.0/25 port 443 }'
differs 'another port' 1 '+ tcp 10.0.0.0/24 port 80' "$a" 'network { allow tcp 10.0.0.0/24 port { 80, 443 } }'
differs 'another protocol' 1 '+ udp 10.0.0.0/24 port 443' "$a" 'network { allow { tcp, udp } 10.0.0.0/24 port 443 }'
differs 'an except that goes' 1 '+ tcp 10.0.0.9 port 443  # 1 address' \
	'network { allow tcp 10.0.0.0/24 except 10.0.0.9 port 443 }' "$a"
differs 'name servers' 1 '+ the name servers of the host' '' 'network { allow resolver }'
differs 'netlink' 1 'netlink route' '' 'network { allow netlink route }'
differs 'listening' 1 '+ tcp 127.0.0.1 port 8080' '' 'network { listen tcp 127.0.0.1 port 8080 }'
differs 'listening everywhere' 1 'any local IPv4 address port 80' '' 'network { listen tcp 0.0.0.0 port 80 }'
differs 'a credential' 1 '+ OPENAI_API_KEY' '' 'credentialEnv OPENAI_API_KEY'
differs 'a destination while a credential is held' 1 '+ tcp 10.0.1.0/24 port 443, holding OPENAI_API_KEY' \
	"$a; credentialEnv OPENAI_API_KEY" 'network { allow tcp 10.0.0.0/23 port 443 }; credentialEnv OPENAI_API_KEY'
differs 'an old destination, and a new credential' 1 '+ tcp 10.0.0.0/24 port 443, holding OPENAI_API_KEY' \
	"$a" "$a; credentialEnv OPENAI_API_KEY"
differs 'a variable that is passed' 1 '+ pass TERM' '' 'env { pass TERM }'
differs 'another value' 1 '+ set A "2"' 'env { set A "1" }' 'env { set A "2" }'
differs 'a file' 1 '+ read /etc/foo' '' 'files { read "/etc/foo" }'
differs 'a file in a folder that was granted' 0 'equal reach' 'files { read "/srv" }' 'files { read "/srv", "/srv/a" }'
differs 'a folder around one that was granted' 1 '+ read /srv  # but for /srv/a' 'files { read "/srv/a" }' 'files { read "/srv" }'
differs 'writing what was readable' 1 '+ write /srv' 'files { read "/srv" }' 'files { write "/srv" }'
differs 'executing what was readable' 1 '+ execute /srv/x' 'files { read "/srv" }' 'files { read "/srv"; execute "/srv/x" }'
differs 'a call' 1 '+ acct' '' 'syscalls { allow acct }'
differs 'arguments' 1 '+ personality(persona == 0x8)' '' 'syscalls { allow personality(persona == 8) }'
differs 'an example of a call' 1 'example: syscall personality(persona == 0x8)' '' 'syscalls { allow personality(persona == 8) }'
differs 'how a call is refused' 0 '~ ptrace: ends the process, was refused with EPERM' '' 'syscalls { deny ptrace with kill }'
differs 'what is logged' 0 '~ acct: allowed and logged, was allowed' 'syscalls { allow acct }' 'syscalls { allow acct logged }'

differs 'more of a limit' 1 '+ time 2h  # was 1h' '' 'limits { time 2h }'
differs 'less of a limit' 0 '- time 1h  # is 59min' '' 'limits { time 59min }'
differs 'a limit that goes' 1 '+ memory none  # was 1MiB' 'limits { memory 1MiB }' ''
differs 'a limit that comes' 0 '- output none  # is 1B' '' 'limits { output 1B }'
differs 'a limit, spelled otherwise' 0 'equal reach' 'limits { time 60s }' 'limits { time 1min }'
c='execute "/bin/sh"'
differs 'children' 1 '+ max-processes 1  # was none' '' "childProcess { max-processes 1; $c }"
differs 'more children' 1 '+ max-processes 9  # was max-processes 1' "childProcess { max-processes 1; $c }" \
	"childProcess { max-processes 9; $c }"
differs 'fewer children' 0 '- max-processes 9  # is max-processes 1' "childProcess { max-processes 9; $c }" \
	"childProcess { max-processes 1; $c }"
differs 'another program for children' 1 '+ execute /bin/dash' "childProcess { max-processes 1; $c }" \
	"childProcess { max-processes 1; $c, \"/bin/dash\" }"

printf 'credential acme ACME_LOGIN\n' >"$work/capabilities"
profile old ''
profile new "env { pass ACME_LOGIN }; $a"
run "$cavec" diff --capabilities "$work/capabilities" "$work/old.cave" "$work/new.cave"
expect 'a variable that counts as a credential is one that is held' -n "$(grep 'port 443, holding ACME_LOGIN' "$work/out")"

# --- artefacts and profiles alike
profile one "$a; files { read \"./lib\" }"
profile two 'network { allow tcp 10.0.0.0/16 port 443 }'
for p in one two; do "$cavec" "$work/$p.cave" -o "$work/$p.bpf" 2>"$work/err" || not_ok "compile $p" "$(cat "$work/err")"; done
expect_output 'a profile and its artefact' 'equal reach' "$cavec" diff "$work/one.cave" "$work/one.bpf"
expect_output 'an artefact and its profile' 'equal reach' "$cavec" diff "$work/one.bpf" "$work/one.cave"
expect_status 'two artefacts' 1 "$cavec" diff "$work/one.bpf" "$work/two.bpf"
printf '{"schema_version":1,"network":false,"child_process":false,"credential_env":[]}' >"$work/seed.json"
profile nothing ''
expect_output 'a JSON profile' 'equal reach' "$cavec" diff "$work/seed.json" "$work/nothing.cave"

# Artefacts whose text says something else than their programs or their manifest: digest and identity are right.
profile forge 'files { read "/srv" }; syscalls { deny uname }'
"$cavec" "$work/forge.cave" -o "$work/forge.bpf"
"$python" "$top/tests/tools/forge.py" "$work/forge.bpf" "$work/forged.bpf" text uname fsync
expect_code 'an artefact whose programs do something else' 2 cave_profile_proof_failed \
	"$cavec" diff "$work/one.bpf" "$work/forged.bpf"
"$python" "$top/tests/tools/forge.py" "$work/forge.bpf" "$work/forged.bpf" path /srv /etc
expect_code 'an artefact whose manifest grants something else' 2 cave_sandbox_policy_invalid \
	"$cavec" diff "$work/one.bpf" "$work/forged.bpf"
"$python" "$top/tests/tools/forge.py" "$work/forge.bpf" "$work/forged.bpf" path /srv /srv
expect_status 'an artefact that was forged to be as it was' 1 "$cavec" diff "$work/one.bpf" "$work/forged.bpf"
head -c 3000 "$work/one.bpf" >"$work/cut.bpf"
expect_code 'half an artefact' 2 cave_sandbox_policy_invalid "$cavec" diff "$work/one.bpf" "$work/cut.bpf"

# --- within
profile max 'network { allow tcp 10.0.0.0/8 port 443 }; files { read "/srv"; read "./lib" }; syscalls { deny uname }'
profile in "$a; files { read \"/srv/x\" }; syscalls { deny uname }"
profile out 'network { allow tcp 10.0.0.1 port 444 }; files { write "/srv/x" }'
expect_output 'within' 'within the maximum' "$cavec" diff --within "$work/max.cave" "$work/in.cave"
profile wide 'network { allow { tcp, udp } 10.0.0.0/8 port any }; childProcess { max-processes 4; execute "/bin/sh" }'
profile narrow 'network { allow tcp 10.0.0.1 port 1 }'
expect_output 'within one that may start processes and send datagrams' 'within the maximum' \
	"$cavec" diff --within "$work/wide.cave" "$work/narrow.cave"
expect_output 'children given up are nothing that is newly granted' 'nothing is newly granted' \
	sh -c '"$1" diff "$2/wide.cave" "$2/narrow.cave" | tail -n 1' - "$cavec" "$work"
run "$cavec" diff "$work/narrow.cave" "$work/wide.cave"
expect 'what children bound is newly refused' "$(grep -c '^    - memfd_create' "$work/out")" = 1
profile must 'files { read "/srv"; deny "/srv/x" }'
profile may 'files { read "/srv"; deny optional "/srv/x" }'
expect_status 'what need not be there when the tool starts' 1 "$cavec" diff "$work/must.cave" "$work/may.cave"
expect 'is denied no more if it comes later' -n "$(grep '+ read /srv/x, if it is not there' "$work/out")"
expect_status 'the other way round' 0 "$cavec" diff "$work/may.cave" "$work/must.cave"
expect 'it is newly refused' -n "$(grep -e '- read /srv/x, if it is not there' "$work/out")"
expect_output 'neither had to be there' 'equal reach' "$cavec" diff "$work/may.cave" "$work/may.cave"
profile rw 'files { write "/srv"; deny "/srv/x" }'
profile rwmay 'files { write "/srv"; deny optional "/srv/x" }'
expect_output 'where the tool writes it must be there all the same' 'equal reach' "$cavec" diff "$work/rw.cave" "$work/rwmay.cave"
profile range 'network { allow udp 10.0.0.0/24 port 9 }'
profile single 'network { allow udp 10.0.0.255 port 9 }'
expect_status 'an address that is left of a range may be a broadcast one' 1 "$cavec" diff "$work/range.cave" "$work/single.cave"
expect 'and that is said' -n "$(grep '+ setsockopt.*SO_BROADCAST' "$work/out")"
profile nothing 'network { }'
run "$cavec" diff "$work/range.cave" "$work/nothing.cave"
expect 'an option without effect that is refused' -n "$(grep 'refused with EPERM, was answered as if' "$work/out")"
profile shut 'network { listen tcp 0.0.0.0 port 80; deny { 10.0.0.9, 10.0.0.11 } port 22 }'
profile open 'network { listen tcp 0.0.0.0 port 80; deny 10.0.0.11 port 22 }'
run "$cavec" diff "$work/shut.cave" "$work/open.cave"
expect 'a denial that goes, with its ports' "$(grep -c '^    + tcp { 10.0.0.9, .* } port 22: no longer denied' "$work/out")" = 1
expect_status 'not within' 1 "$cavec" diff --within "$work/max.cave" "$work/out.cave"
for text in 'counterexample: connect tcp 10.0.0.1 port 444' 'counterexample: write /srv/x' 'syscall uname'; do
	expect "a counterexample: $text" -n "$(grep -F "$text" "$work/out")"
done

# --- forms
run "$cavec" diff --format json "$work/one.cave" "$work/two.cave"
expect 'JSON' "$("$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
g = d["granted"][0]
print(d["equal"], g["kind"], g["protocol"], g["count"], len(d["refused"]))' "$work/out")" = 'False destination tcp 65280 1'
run "$cavec" diff --format markdown "$work/one.cave" "$work/two.cave"
expect 'Markdown' "$status $(grep -cF '| destinations | `tcp 10.0.1.0-10.0.255.255 port 443`' "$work/out")$(
	grep -cF '#### Newly granted' "$work/out")" = '1 11'
run "$cavec" diff --color always "$work/one.cave" "$work/two.cave"
expect 'colour' -n "$(grep -F "$(printf '\033[31m')" "$work/out")"
run "$cavec" diff "$work/one.cave" "$work/two.cave"
expect 'no colour where there is no terminal' -z "$(grep -F "$(printf '\033')" "$work/out")"

# --- errors
printf 'profile bad { network true }\n' >"$work/bad.cave"
expect_status 'a profile that is refused' 2 "$cavec" diff "$work/one.cave" "$work/bad.cave"
expect_status 'no such file' 2 "$cavec" diff "$work/one.cave" "$work/none.cave"
expect_status 'one policy' 2 "$cavec" diff "$work/one.cave"
expect_status 'within, and two' 2 "$cavec" diff --within "$work/one.cave" "$work/one.cave" "$work/two.cave"
printf 'filter f { allow read }\n' >"$work/f.cave"
expect_status 'a profile and a filter' 2 "$cavec" diff "$work/one.cave" "$work/f.cave"
printf 'filter f { allow read, write }\n' >"$work/g.cave"
expect_status 'two filters' 1 "$cavec" diff "$work/f.cave" "$work/g.cave"
