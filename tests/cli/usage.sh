#!/bin/sh
# SPDX-License-Identifier: MIT
# Exit statuses, files left behind, secrets, includes and the root, JSON profiles.
. "$(dirname "$0")/../lib.sh"

echo 'profile p { }' >"$work/good.cave"
echo 'profile p { network true }' >"$work/bad.cave"

# --- usage and I/O: 2
expect_status "no arguments" 2 "$cavec"
expect_status "no output" 2 "$cavec" "$work/good.cave"
expect_status "an unknown option" 2 "$cavec" --frobnicate "$work/good.cave" -o "$work/o.bpf"
expect_status "an option without its value" 2 "$cavec" "$work/good.cave" -o
expect_status "two profiles" 2 "$cavec" "$work/good.cave" "$work/good.cave" -o "$work/o.bpf"
expect_status "an output folder that is not there" 2 "$cavec" "$work/good.cave" -o "$work/none/o.bpf"
expect_status "an unknown kind of output" 2 "$cavec" "$work/good.cave" -o "$work/o.bpf" --emit frob
expect_status "a folder for a profile" 2 "$cavec" "$work" -o "$work/o.bpf"
expect "a usage error leaves no output" ! -e "$work/o.bpf"
expect_status "the version" 0 "$cavec" --version

# --- an absent profile: 1, with its code
expect_code "an absent profile" 1 cave_live_eval_sandbox_profile_missing \
	"$cavec" "$work/absent.cave" -o "$work/o.bpf"
expect "an absent profile leaves no output" ! -e "$work/o.bpf"

# --- the output is all or nothing
mkdir "$work/target"
expect_status "a refused profile" 1 "$cavec" "$work/bad.cave" -o "$work/target/o.bpf"
expect "a refused profile leaves nothing behind" -z "$(ls -A "$work/target")"
expect_status "a good profile" 0 "$cavec" "$work/good.cave" -o "$work/target/o.bpf"
expect "a good profile leaves the artefact alone" "$(ls -A "$work/target")" = o.bpf
expect "a good profile says nothing" -z "$(cat "$work/out" "$work/err")"

# --- secrets: the name is echoed in no form
for profile in 'credentialEnv CORP_S3CRET_NAME' 'env { pass CORP_S3CRET_NAME_TOKEN }' \
	'credentialEnv ANTHROPIC_API_KEY, CORP_S3CRET_NAME' \
	'credentialEnv CORP_S3CRET_NAME; network { allow tcp 10.1.2.3/8 port 1 }'; do
	printf 'profile p {\n  %s\n}\n' "$profile" >"$work/p.cave"
	run "$cavec" "$work/p.cave" -o "$work/o.bpf"
	expect "refused: a credential that is not listed" "$status" = 1
	expect "its name is not echoed" -z "$(grep -i S3CRET "$work/err" "$work/out" 2>/dev/null)"
done

# --- includes stay beneath the root
mkdir -p "$work/root/sub"
echo 'network { deny 10.1.2.3 }' >"$work/root/base.cave"
echo 'network { deny 10.1.2.3 }' >"$work/outside.cave"
ln -s ../outside.cave "$work/root/link.cave"
printf 'include "base.cave"\nprofile p { network { allow tcp 10.0.0.0/8 port 443 } }\n' >"$work/root/p.cave"
expect_status "an include" 0 "$cavec" "$work/root/p.cave" -o "$work/o.bpf"
for include in ../outside.cave link.cave "$work/outside.cave"; do
	printf 'include "%s"\nprofile p { }\n' "$include" >"$work/root/q.cave"
	expect_code "an include of $(basename "$include") outside the root" 1 \
		cave_live_eval_sandbox_profile_escapes_root "$cavec" "$work/root/q.cave" -o "$work/o2.bpf"
done
printf 'include "../base.cave"\nprofile p { }\n' >"$work/root/sub/p.cave"
expect_code "an include above the profile's folder" 1 cave_live_eval_sandbox_profile_escapes_root \
	"$cavec" "$work/root/sub/p.cave" -o "$work/o2.bpf"
expect_status "the same with --root" 0 "$cavec" "$work/root/sub/p.cave" -o "$work/o2.bpf" --root "$work/root"
expect_code "a profile outside --root" 1 cave_live_eval_sandbox_profile_escapes_root \
	"$cavec" "$work/good.cave" -o "$work/o2.bpf" --root "$work/root"
printf 'include "b.cave"\n' >"$work/root/a.cave"
printf 'include "a.cave"\n' >"$work/root/b.cave"
printf 'include "a.cave"\nprofile p { }\n' >"$work/root/c.cave"
expect_status "a cycle of includes" 1 "$cavec" "$work/root/c.cave" -o "$work/o2.bpf"
printf 'include "none.cave"\nprofile p { }\n' >"$work/root/d.cave"
expect_status "an include that is not there" 1 "$cavec" "$work/root/d.cave" -o "$work/o2.bpf"
printf 'childProcess true\n' >"$work/root/base.cave"
run "$cavec" "$work/root/p.cave" -o "$work/o2.bpf"
expect "a fault in an include is placed in it" -n "$(grep '/base.cave:1:14: error:' "$work/err")"
expect "and the includer is named" -n "$(grep 'p.cave:1' "$work/err")"

# --- the capability table of an operator
printf 'credential acme ACME_API_KEY\n' >"$work/caps"
printf 'profile p { credentialEnv ACME_API_KEY }\n' >"$work/p.cave"
expect_code "a credential of no table" 1 cave_sandbox_credential_env_not_allowlisted \
	"$cavec" "$work/p.cave" -o "$work/o3.bpf"
expect_status "a credential of the operator's table" 0 \
	"$cavec" "$work/p.cave" -o "$work/o3.bpf" --capabilities "$work/caps"
printf 'credential acme AWS_KEY\n' >"$work/caps"
printf 'profile p { credentialEnv AWS_KEY }\n' >"$work/p.cave"
run "$cavec" "$work/p.cave" -o "$work/o4.bpf" --capabilities "$work/caps"
expect "a table cannot make a denied name eligible" "$status" != 0

# --- JSON profiles of the seed system: exactly the schema
json() {
	printf '%s' "$3" >"$work/p.json"
	rm -f "$work/j.bpf"
	if [ "$2" = 0 ]; then
		expect_status "JSON: $1" 0 "$cavec" "$work/p.json" -o "$work/j.bpf"
	else
		expect_code "JSON: $1" 1 "$2" "$cavec" "$work/p.json" -o "$work/j.bpf"
	fi
}
invalid=cave_live_eval_sandbox_profile_invalid
json "the empty profile" 0 '{"schema_version":1,"network":false,"child_process":false,"credential_env":[]}'
json "in any order" 0 '{"credential_env":["OPENAI_API_KEY"],"network":false,"child_process":false,"schema_version":1}'
json "network" cave_sandbox_network_egress_unbounded \
	'{"schema_version":1,"network":true,"child_process":false,"credential_env":[]}'
json "children" cave_sandbox_child_process_containment_unavailable \
	'{"schema_version":1,"network":false,"child_process":true,"credential_env":[]}'
json "a credential" cave_sandbox_credential_env_not_allowlisted \
	'{"schema_version":1,"network":false,"child_process":false,"credential_env":["AWS_KEY"]}'
json "two capabilities" cave_sandbox_credential_capability_ambiguous \
	'{"schema_version":1,"network":false,"child_process":false,"credential_env":["OPENAI_API_KEY","GEMINI_API_KEY"]}'
json "a missing key" $invalid '{"schema_version":1,"network":false,"child_process":false}'
json "an unknown key" $invalid \
	'{"schema_version":1,"network":false,"child_process":false,"credential_env":[],"x":1}'
json "a key twice" $invalid \
	'{"schema_version":1,"network":true,"network":false,"child_process":false,"credential_env":[]}'
json "another version" $invalid '{"schema_version":2,"network":false,"child_process":false,"credential_env":[]}'
json "a real version" $invalid '{"schema_version":1.0,"network":false,"child_process":false,"credential_env":[]}'
json "a number for a boolean" $invalid '{"schema_version":1,"network":0,"child_process":false,"credential_env":[]}'
json "a string for a list" $invalid '{"schema_version":1,"network":false,"child_process":false,"credential_env":""}'
json "a number in the list" $invalid '{"schema_version":1,"network":false,"child_process":false,"credential_env":[1]}'
json "something after it" $invalid '{"schema_version":1,"network":false,"child_process":false,"credential_env":[]} x'
json "cut short" $invalid '{"schema_version":1,"network":false,'
json "a list" $invalid '[]'
