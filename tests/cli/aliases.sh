#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles that mean the same have the same identity and the same programs; profiles that do not, do not.
. "$(dirname "$0")/../lib.sh"

# All sections but those that hold positions, lines and rules of the source.
digest() {
	"$python" "$top/tests/tools/sections.py" "$1" |
		grep -Ev '^(cave.lines|cave.rules|cave.seccomp.*lines|cave.digest|\.BTF|\.BTF\.ext|\.strtab|\.shstrtab|\.symtab) '
}

both() {
	for which in a b; do
		[ $which = a ] && text=$2 || text=$3
		printf '%s\n' "$text" >"$work/$which.cave"
		if ! "$cavec" "$work/$which.cave" -o "$work/$which.bpf" 2>"$work/err"; then
			not_ok "$1" "$which does not compile: $(cat "$work/err")"
			return 1
		fi
		digest "$work/$which.bpf" >"$work/$which.digest"
	done
}

same() {
	both "same: $1" "$2" "$3" || return
	if cmp -s "$work/a.digest" "$work/b.digest"; then
		ok "same: $1"
	else
		not_ok "same: $1" "$(diff "$work/a.digest" "$work/b.digest" | cut -c1-60)"
	fi
}

differ() {
	both "differ: $1" "$2" "$3" || return
	a=$(grep '^cave.identity ' "$work/a.digest") b=$(grep '^cave.identity ' "$work/b.digest")
	expect "differ: $1" "$a" != "$b"
}

net() { printf 'profile p { network { %s } }' "$1"; }

same "comments and blanks" 'profile p { network { } }' 'profile  p {   # what for
	network {
	}
}'
same "nothing, and an empty network" 'profile p { }' 'profile p { network { } }'
same "nothing, and everything denied aloud" 'profile p { }' 'profile p { network false; childProcess false; sandbox required }'
same "the order of rules" "$(net 'allow tcp 10.0.0.1 port 1; allow udp 10.0.0.2 port 2')" \
	"$(net 'allow udp 10.0.0.2 port 2; allow tcp 10.0.0.1 port 1')"
same "two halves and the whole" "$(net 'allow tcp { 10.0.0.0/9, 10.128.0.0/9 } port 1')" \
	"$(net 'allow tcp 10.0.0.0/8 port 1')"
same "ports in pieces" "$(net 'allow tcp 10.0.0.1 port { 80, 81, 82-90 }')" "$(net 'allow tcp 10.0.0.1 port 80-90')"
same "protocols together" "$(net 'allow { tcp, udp } 10.0.0.1 port 1')" \
	"$(net 'allow tcp 10.0.0.1 port 1; allow udp 10.0.0.1 port 1')"
same "a mapped address" "$(net 'allow tcp ::ffff:10.0.0.1 port 1')" "$(net 'allow tcp 10.0.0.1 port 1')"
same "spellings of an IPv6 address" "$(net 'allow tcp 2001:DB8:0:0::1 port 1')" "$(net 'allow tcp 2001:db8::1 port 1')"
same "a full prefix and an address" "$(net 'allow tcp 10.0.0.1/32 port 1')" "$(net 'allow tcp 10.0.0.1 port 1')"
same "an except and a deny" "$(net 'allow tcp 10.0.0.0/8 except 10.1.0.0/16 port 1')" \
	"$(net 'allow tcp 10.0.0.0/8 port 1; deny 10.1.0.0/16')"
same "localhost written out" "$(net 'allow tcp localhost port 1')" "$(net 'allow tcp { 127.0.0.0/8, ::1 } port 1')"
same "a rule twice" "$(net 'allow tcp 10.0.0.1 port 1; allow tcp 10.0.0.1 port 1')" "$(net 'allow tcp 10.0.0.1 port 1')"
same "netlink twice" "$(net 'allow netlink route; allow netlink route')" "$(net 'allow netlink route')"
same "netlink denied" "$(net 'allow netlink route; deny netlink route')" 'profile p { }'
same "every local address" "$(net 'listen tcp any port 1')" "$(net 'listen tcp { 0.0.0.0, :: } port 1')"
same "a listen within another" "$(net 'listen tcp 0.0.0.0 port 1; listen tcp 10.0.0.1 port 1')" \
	"$(net 'listen tcp 0.0.0.0 port 1')"
same "a resolver denied" "$(net 'allow resolver; deny resolver')" 'profile p { }'
same "credentials in any order" 'profile p { credentialEnv GEMINI_API_KEY, GOOGLE_API_KEY }' \
	'profile p { credentialEnv GOOGLE_API_KEY
credentialEnv GEMINI_API_KEY }'
same "a path with dots" 'profile p { files { read "/etc/./hosts" } }' 'profile p { files { read "/etc/hosts" } }'

differ "a port" "$(net 'allow tcp 10.0.0.1 port 1')" "$(net 'allow tcp 10.0.0.1 port 2')"
differ "a protocol" "$(net 'allow tcp 10.0.0.1 port 1')" "$(net 'allow udp 10.0.0.1 port 1')"
differ "netlink" 'profile p { }' "$(net 'allow netlink route')"
differ "netlink beside a rule" "$(net 'allow tcp 10.0.0.1 port 1')" "$(net 'allow tcp 10.0.0.1 port 1; allow netlink route')"
differ "a listen" 'profile p { }' "$(net 'listen tcp 127.0.0.1 port 1')"
differ "a listen and an allow" "$(net 'allow tcp 127.0.0.1 port 1')" "$(net 'listen tcp 127.0.0.1 port 1')"
differ "a listen's port" "$(net 'listen tcp 127.0.0.1 port 2')" "$(net 'listen tcp 127.0.0.1 port 1')"
differ "the resolver" 'profile p { }' "$(net 'allow resolver')"
differ "a syscall" 'profile p { }' 'profile p { syscalls { deny uname } }'
differ "a file" 'profile p { files { read "/srv" } }' 'profile p { files { write "/srv" } }'
differ "a variable" 'profile p { env { set A "1" } }' 'profile p { env { set A "2" } }'

# The JSON profile means what the same profile written out means, but for its name.
printf '{"schema_version":1,"network":false,"child_process":false,"credential_env":["OPENAI_API_KEY"]}' >"$work/p.json"
printf 'profile p { credentialEnv OPENAI_API_KEY }' >"$work/q.cave"
"$cavec" "$work/p.json" -o "$work/j.bpf" && "$cavec" "$work/q.cave" -o "$work/q.bpf"
a=$("$python" "$top/tests/tools/sections.py" "$work/j.bpf" cave.seccomp.x86_64 | sha256sum)
b=$("$python" "$top/tests/tools/sections.py" "$work/q.bpf" cave.seccomp.x86_64 | sha256sum)
expect "a JSON profile has the filter of the same profile" "$a" = "$b"
