#!/bin/sh
# SPDX-License-Identifier: MIT
# What else cavec says: suggestions, list, dump; and profiles as large as people make them.
. "$(dirname "$0")/../lib.sh"
need_root

# --- a misspelt name is met with the nearest one, at every depth
suggests() {
	printf 'profile p {\n  %s\n}\n' "$1" >"$work/p.cave"
	run "$cavec" "$work/p.cave" -o "$work/p.bpf"
	expect "suggests $2 for: $1" "$status $(grep -c "did you mean '$2'" "$work/err")" = '1 1'
}
suggests 'filez { read "/etc" }' files
suggests 'network { alow tcp 10.0.0.1 port 1 }' allow
suggests 'network { allow tpc 10.0.0.1 port 1 }' tcp
suggests 'files { raed "/etc" }' read
suggests 'env { sett A "b" }' set
suggests 'syscalls { deny ptrac }' ptrace
suggests 'syscalls { deny @keyrings }' @keyring
suggests 'credentialEnvs ANTHROPIC_API_KEY' credentialEnv

# --- list
run "$cavec" list
expect "list names the groups" "$status $(grep -c '^@keyring ' "$work/out")" = '0 1'
run "$cavec" list @keyring
for call in add_key keyctl request_key; do
	expect "list @keyring has $call" -n "$(grep "^$call " "$work/out")"
done
expect_status "list of no group" 2 "$cavec" list @nope
run "$cavec" list base
expect "list base has read" "$status $(grep -c '^read ' "$work/out")" = '0 1'
run "$cavec" list system
# Debian's own Node keeps parts of itself in /usr/share/nodejs and aborts without them.
for path in /etc/hosts /etc/ssl/certs /usr/lib /usr/share/nodejs /usr/share/zoneinfo; do
	expect "list system has $path" -n "$(grep -E "^(read|write) +$path " "$work/out")"
done

# --- dump
cat >"$work/d.cave" <<'END'
profile dumped {
    network { allow tcp 192.0.2.7 port 443 }
    credentialEnv OPENAI_API_KEY
    env { set MODE "fast" }
    files { write workspace }
    syscalls { deny uname }
}
END
"$cavec" "$work/d.cave" -o "$work/d.bpf" 2>"$work/err" || not_ok "d.cave compiles" "$(cat "$work/err")"
run "$cavec" dump "$work/d.bpf"
expect "dump succeeds" "$status" = 0
for text in 'name dumped' OPENAI_API_KEY MODE workspace 192.0.2.7 'cgroup/connect4' 'd.cave:2' 'd.cave:6'; do
	expect "dump shows $text" -n "$(grep -F "$text" "$work/out")"
done
identity=$("$python" "$top/tests/tools/sections.py" "$work/d.bpf" cave.identity | od -An -tx1 | tr -d ' \n')
expect "dump shows the identity that the artefact holds" -n "$(grep -F "$identity" "$work/out")"
expect_code "dump of a profile" 1 cave_sandbox_policy_invalid "$cavec" dump "$work/d.cave"
head -c 900 "$work/d.bpf" >"$work/cut.bpf"
expect_code "dump of half an artefact" 1 cave_sandbox_policy_invalid "$cavec" dump "$work/cut.bpf"
expect_status "dump of nothing" 2 "$cavec" dump "$work/none.bpf"

# --- the canonical profile in an artefact means the same
"$python" "$top/tests/tools/sections.py" "$work/d.bpf" cave.policy >"$work/again.cave"
expect_status "the canonical profile compiles" 0 "$cavec" "$work/again.cave" -o "$work/again.bpf"
again=$("$python" "$top/tests/tools/sections.py" "$work/again.bpf" cave.identity | od -An -tx1 | tr -d ' \n')
expect "to the same identity" "$again" = "$identity"

# --- size
awk 'BEGIN {
	print "profile large { network {"
	for (i = 0; i < 1000; i++)
		printf "allow tcp 10.%d.%d.0/24 port { %d, 8000-8%03d }\n", i % 250, i / 250 * 2, 1000 + i % 7, i % 11
	print "} }"
}' >"$work/large.cave"
expect_status "a thousand rules compile in bounded time" 0 timeout 30 "$cavec" "$work/large.cave" -o "$work/large.bpf"
pins=/sys/fs/bpf/cave-large-$$
cleanup() { rm -rf "$pins"; }
expect_status "and the kernel takes their programs" 0 bpftool prog loadall "$work/large.bpf" "$pins"
{
	echo 'profile deep { network {'
	for n in $(seq 400); do echo "allow tcp 2001:db8:$n::/48 except 2001:db8:$n:7::/64 port $n"; done
	echo '} }'
} >"$work/deep.cave"
expect_status "four hundred IPv6 prefixes with exceptions" 0 timeout 60 "$cavec" "$work/deep.cave" -o "$work/deep.bpf"
{
	printf 'profile p { network { allow tcp '
	head -c 100000 /dev/zero | tr '\0' '{'
} >"$work/braces.cave"
expect_status "a hundred thousand braces are a fault of the profile's" 1 \
	timeout 30 "$cavec" "$work/braces.cave" -o "$work/x.bpf"
head -c 300000 /dev/zero | tr '\0' 'a' >"$work/word.cave"
expect_status "and so is one word of 300 kB" 1 timeout 30 "$cavec" "$work/word.cave" -o "$work/x.bpf"
head -c 20000 /dev/urandom >"$work/noise.cave"
expect_status "and noise" 1 timeout 30 "$cavec" "$work/noise.cave" -o "$work/x.bpf"
