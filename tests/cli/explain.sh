#!/bin/sh
# SPDX-License-Identifier: MIT
# cavec explain: allowed or refused, by which line, by what; the summary.
. "$(dirname "$0")/../lib.sh"

cat >"$work/p.cave" <<'END'
profile explained {
    network {
        allow tcp 10.0.0.0/24 except 10.0.0.9 port 443
        deny tcp 10.0.0.8 port 443; deny udp 192.0.2.53 port 53
        allow resolver
    }
    credentialEnv OPENAI_API_KEY
    env { pass TERM; set MODE "fast" }
    files { read "./lib", "/srv"; write workspace, tmp; deny "/srv/secret" }
    syscalls {
        allow personality(persona == 8)
        deny uname with kill
    }
    profile small { syscalls { deny uname } }
}
END
"$cavec" "$work/p.cave" -o "$work/p.bpf" 2>"$work/err" || not_ok 'p.cave compiles' "$(cat "$work/err")"

# asks NAME STATUS TEXT QUESTION…: of the profile, and of its artefact.
asks() {
	test_name=$1 wanted=$2 text=$3
	shift 3
	run "$cavec" explain "$work/p.cave" "$@"
	if [ "$status" = "$wanted" ] && grep -qF -- "$text" "$work/out"; then ok "$test_name"
	else not_ok "$test_name" "status $status; $(cat "$work/out" "$work/err")"; fi
	run "$cavec" explain "$work/p.bpf" "$@"
	expect "$test_name: of the artefact" "$status" = "$wanted"
}
asks 'a destination' 0 'p.cave:3: allow tcp 10.0.0.0/24' connect tcp 10.0.0.1 port 443
asks 'another port' 1 'for other ports' connect tcp 10.0.0.1 port 444
asks 'another protocol' 1 'for another protocol' connect udp 10.0.0.1 port 443
asks 'an except' 1 'excepts this address' connect tcp 10.0.0.9 port 443
asks 'a denial' 1 'p.cave:4: deny tcp 10.0.0.8 port 443' connect tcp 10.0.0.8 port 443
asks 'another address' 1 'no line allows this address' connect tcp 192.0.2.1 port 443
asks 'a name server' 1 "if the address is one of the host's name servers" connect udp 192.0.2.1 port 53
asks 'a name server that is denied' 1 'this line denies' connect udp 192.0.2.53 port 53
expect 'is none that depends' -z "$(grep -F "the host's name servers" "$work/out")"
asks 'by what' 1 'by the egress program at connect4 (cgroup BPF), with EPERM' connect tcp 192.0.2.1 port 443
asks 'listening' 1 'no line listens at this address' listen tcp 127.0.0.1 port 80
asks 'a call of the base set' 0 'the base set allows it' syscall read
asks 'a call of a line' 0 'p.cave:11: allow personality(persona == 8)' syscall personality 8
asks 'a condition' 0 'this line allows it' syscall 'personality(persona == 0x8)'
asks 'a call that no line allows' 1 'no line allows it' syscall mount
asks 'a call that a line denies' 1 'p.cave:12: deny uname with kill' syscall uname
asks 'how it is refused' 1 'it ends the process' syscall uname
asks 'names of values' 1 'it is refused with EPERM' syscall socket AF_INET SOCK_RAW
asks 'open arguments' 1 'as an example of all that get this answer' syscall personality
asks 'any value of an argument' 1 'refused' syscall socket - SOCK_RAW
asks 'a file' 0 'p.cave:9: "/srv"' read /srv/x
asks 'a relative file' 0 'p.cave:9: "./lib"' read ./lib/x
asks 'a relative file, by its whole path' 0 'this line allows it' read "$work/lib/x"
asks 'a file that is denied' 1 'this line denies it' read /srv/secret/x
for path in /srv//secret /srv/./secret/x //srv/secret/ /srv/secret/a..b; do
	asks "a file that is denied, however it is spelled: $path" 1 'this line denies it' read "$path"
done
asks 'a name with dots' 0 'this line allows it' read /srv/a..b
asks 'a folder of which some is denied' 1 'it depends: read /srv/' read /srv/
asks 'a place' 0 'this line allows it' write tmp/x
asks 'the workspace' 0 'this line allows it' write workspace/x
asks 'a file that is only readable' 1 'no line allows this path' write /srv/x
asks 'a file of the built-in set' 0 'base system' read /usr/lib/x
asks 'another file' 1 'no line allows this path' read /etc/shadow
asks 'another program' 1 'no other program' execute /bin/sh
asks 'a variable' 0 'passes the caller' env TERM
asks 'a variable that is set' 0 'this line sets it' env MODE
asks 'a credential' 0 'a credential that the profile grants' env OPENAI_API_KEY
asks 'a variable of every tool' 0 'the runtime gives every tool' env PATH
asks 'another variable' 1 'no line names it' env HOME
asks 'a lookup' 0 "the host's name servers, for any name" lookup example.org

run "$cavec" explain "$work/p.cave"
for text in 'explained is a sandbox profile' 'reach tcp { 10.0.0.0/29, 10.0.0.10-10.0.0.255 } port 443, 254 addresses' \
	'hold the credential OPENAI_API_KEY' 'write workspace' 'call personality(persona == 0x8)' \
	'It starts no other program' 'the profile small'; do
	expect "the summary says: $text" -n "$(grep -F "$text" "$work/out")"
done
run "$cavec" explain --profile small "$work/p.cave"
expect 'the summary of a nested profile' "$status $(grep -c 'It has no network' "$work/out")" = '0 1'
expect_status 'a question of a nested profile' 1 "$cavec" explain --profile small "$work/p.bpf" connect tcp 10.0.0.1 port 443
run "$cavec" explain --format json "$work/p.cave" connect tcp 10.0.0.1 port 443
expect 'JSON' "$("$python" -c 'import json, sys; r = json.load(open(sys.argv[1]))[0]; print(r["verdict"], r["line"])' \
	"$work/out")" = 'allowed 3'

# --- host names
cat >"$work/p.cave" <<'END'
profile named {
    network {
        allow tcp { api.example.com, *.blob.example.net } except x.blob.example.net port 443
        allow tcp db.internal.example port 5432 within 10.0.0.0/8
        allow udp shut.example.org port 99 within 10.1.2.0/24
        deny old.blob.example.net
        deny 10.1.0.0/16
    }
}
END
"$cavec" "$work/p.cave" -o "$work/p.bpf" 2>"$work/err" || not_ok 'names compile' "$(cat "$work/err")"
asks 'a name' 0 'p.cave:3: allow tcp { api.example.com' lookup api.example.com
asks 'a name, as it may be written' 0 'this line grants the name' lookup API.Example.com.
asks 'a name below a wildcard' 0 'p.cave:3: ' lookup a.b.blob.example.net
asks 'the base of a wildcard' 1 'and not the name itself' lookup blob.example.net
asks 'a name that is excepted' 1 'excepts it' lookup x.blob.example.net
asks 'a name that is denied' 1 'p.cave:6: deny old.blob.example.net' lookup old.blob.example.net
asks 'another name' 1 'no line grants this name' lookup example.org
asks 'a look-alike' 1 'no line grants this name' lookup xapi.example.com
asks 'by whom a name is refused' 1 'nothing leaves the machine' lookup example.org
asks 'a connect to a name' 0 'globally reachable' connect tcp api.example.com port 443
asks 'a connect to a name elsewhere' 0 'p.cave:4: ' connect tcp db.internal.example port 5432
asks 'a connect to a name, by another port' 1 'for other ports' connect tcp api.example.com port 80
asks 'a connect to a name, by another protocol' 1 'for other ports' connect udp api.example.com port 443
asks 'a connect to a name that leads to what is denied' 1 'denials by address cover all' connect udp shut.example.org port 99
asks 'a connect to another name' 1 'no line grants this name' connect tcp example.org port 443
asks 'an address that a name may lead to' 1 'while a lookup of api.example.com leads there' connect tcp 9.9.9.9 port 443
asks 'an address that a name may not lead to' 1 'no line allows this address' connect tcp 10.0.0.1 port 443
run "$cavec" explain "$work/p.cave" connect tcp 10.0.0.1 port 443
expect 'and none is named for it' "$(grep -c lookup "$work/out")" = 0
run "$cavec" explain "$work/p.cave" connect tcp 10.1.0.1 port 5432
expect 'nor for one that is denied' "$(grep -c lookup "$work/out")" = 0
asks 'port 53 of an address' 1 "led to the run's own resolver" connect udp 9.9.9.9 port 53
asks 'localhost' 0 'without asking' lookup localhost
expect_status 'a star is no question' 2 "$cavec" explain "$work/p.cave" lookup '*.blob.example.net'
expect_status 'an empty label' 2 "$cavec" explain "$work/p.cave" connect tcp a..b port 1
printf 'profile q { network { allow tcp www.example.com port 80\nallow tcp 8.8.4.4 port 53 } }\n' >"$work/q.cave"
expect_status 'port 53 of an address that is granted' 0 "$cavec" explain "$work/q.cave" connect tcp 8.8.4.4 port 53
run "$cavec" explain "$work/p.cave"
for text in 'look up and reach tcp api.example.com port 443' \
	'tcp *.blob.example.net except { old.blob.example.net, x.blob.example.net } port 443' \
	'tcp db.internal.example port 5432 within '; do
	expect "the summary says: $text" -n "$(grep -F "$text" "$work/out")"
done

# --- where the home folder is, is known at the start; several rules on a line
cat >"$work/p.cave" <<'END'
profile p {
    files { read home/.config, "/data"; deny home/.config/keys, "/data/shut" }
    syscalls { deny getpid; allow personality(persona == 8) }
}
END
"$cavec" "$work/p.cave" -o "$work/p.bpf" 2>"$work/err" || not_ok 'a home compiles' "$(cat "$work/err")"
asks 'what may be of the home folder' 1 'it depends: read /people/u/.config/x' read /people/u/.config/x
asks 'what may be denied there' 1 'denies it if the home folder is there' read /data/.config/keys
asks 'what cannot be' 1 'refused: read /people/u/.configx' read /people/u/.configx
asks 'what is of the system' 1 'refused: read /etc/.config' read /etc/.config
asks 'an absolute grant may hold the home folder' 1 'it depends: read home/x' read home/x
asks 'a grant there' 1 'it depends: read home/.config' read home/.config
asks 'the rule of a line that is about the call' 0 'p.cave:3: allow personality(persona == 8)' syscall personality 8
asks 'and the other one' 1 'p.cave:3: deny getpid' syscall getpid

printf 'profile p { files { read "/srv" } }\n' >"$work/bytes.cave"
run "$cavec" explain --format json "$work/bytes.cave" read "$(printf '/srv/\377')"
expect 'a path that is no UTF-8 is no question' "$status" = 2 -a ! -s "$work/out" -a -n "$(grep 'does not show' "$work/err")"
run "$cavec" explain --format json "$work/bytes.cave" read "$(printf '/srv/\303\251')"
expect 'JSON of a path of other letters' "$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["verdict"])' \
	"$work/out")" = allowed

expect_status 'no policy' 2 "$cavec" explain
expect_status 'an unknown question' 2 "$cavec" explain "$work/p.cave" why
expect_status 'an unknown call' 2 "$cavec" explain "$work/p.cave" syscall reed
expect_status 'a range' 2 "$cavec" explain "$work/p.cave" connect tcp 10.0.0.0/8 port 1
expect_status 'an argument that is none' 2 "$cavec" explain "$work/p.cave" syscall uname 1 2 3
expect_status 'an unknown profile' 2 "$cavec" explain --profile none "$work/p.cave"
printf 'profile bad { network true }\n' >"$work/bad.cave"
expect_status 'a profile that is refused' 2 "$cavec" explain "$work/bad.cave"
printf 'filter f { allow read }\n' >"$work/f.cave"
expect_status 'a bare filter' 0 "$cavec" explain "$work/f.cave" syscall read
expect_status 'a bare filter has no network' 2 "$cavec" explain "$work/f.cave" connect tcp 10.0.0.1 port 1

# --- an option that is taken and has no effect: where datagrams reach a range
broadcast() {
	test_name=$1 text=$2
	printf 'profile b { network { %s } }\n' "$3" >"$work/b.cave"
	run "$cavec" explain "$work/b.cave" syscall setsockopt - SOL_SOCKET SO_BROADCAST
	expect "$test_name" "$(grep -cF -- "$text" "$work/out")" = 1
}
taken='is answered as if it had been made, and is not made' works='the base set allows it'
broadcast 'broadcast: a range' "$taken" 'allow udp 10.0.0.0/31 port 53'
broadcast 'broadcast: two ranges that are no range by UDP' "$works" 'allow tcp 10.0.0.0/24 port 1; allow udp 10.0.0.1 port 1'
broadcast 'broadcast: addresses beside each other' "$taken" 'allow udp 10.0.0.254 port 1; allow udp 10.0.0.255 port 1'
broadcast 'broadcast: addresses that stand alone' "$works" 'allow udp { 10.0.0.253, 10.0.0.255, localhost } port 1'
broadcast 'broadcast: beyond loopback' "$taken" 'allow udp 127.0.0.0-128.0.0.1 port 1'
broadcast 'broadcast: names by UDP' "$taken" 'allow udp www.example.com port 443'
broadcast 'broadcast: names by TCP' "$works" 'allow tcp www.example.com port 443'
broadcast 'broadcast: IPv6' "$works" 'allow udp 2001:db8::/64 port 443'
