#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles that would mislead their reader, the machine, or whoever reads the messages.
. "$(dirname "$0")/../lib.sh"

# refused NAME CODE LINE:COLUMN TEXT: the profile TEXT (of printf) is refused there with that code.
refused() {
	# shellcheck disable=SC2059
	printf "$4" >"$work/p.cave"
	rm -f "$work/p.bpf"
	run "$cavec" "$work/p.cave" -o "$work/p.bpf"
	if [ "$status" = 1 ] && grep -q "p\.cave:$3: error: .*\[$2\]" "$work/err" && [ ! -e "$work/p.bpf" ]; then
		ok "$1"
	else
		not_ok "$1" "status $status; $(cat "$work/err")"
	fi
}
# accepted NAME TEXT
accepted() {
	# shellcheck disable=SC2059
	printf "$2" >"$work/p.cave"
	expect_status "$1" 0 "$cavec" "$work/p.cave" -o "$work/p.bpf"
	rm -f "$work/p.bpf"
}

# What a reviewer sees is what is compiled.
refused "a lone carriage return in a comment" cave_profile_syntax 2:13 'profile p {\n network{} #\rdeny 10.0.0.1\n}\n'
refused "a mark that turns the direction of text" cave_profile_syntax 1:16 'profile p { } #\342\200\256 x\n'
refused "a line separator" cave_profile_syntax 1:17 'profile p { } # \342\200\250deny\n'
refused "a zero-width space in a path" cave_profile_syntax 1:26 'profile p { files { read \342\200\213/x } }\n'
refused "an escape byte in a string" cave_profile_syntax 1:27 'profile p { files { read "\033[2J/x" } }\n'
accepted "carriage returns that end lines" 'profile p {\r\n network false\r\n}\r\n'
accepted "letters of any language" 'profile p { files { read "/srv/Gr\303\266\303\237e/\346\226\207" } } # \320\266\n'
accepted "a byte-order mark" '\357\273\277profile p { }\n'
refused "a byte-order mark moves no column" cave_profile_unknown_name 1:13 '\357\273\277profile p { filez }\n'
# One of each kind of those that are blank or not to be seen, at the end of a denial, and bytes that are no characters.
for bytes in '\315\217' '\341\205\237' '\341\240\213' '\342\201\252' '\343\205\244' '\357\276\240' '\357\270\217' \
	'\363\240\204\200' '\342\240\200' '\360\235\205\231' '\360\223\220\260' '\302\240' '\342\200\200' '\342\200\257' \
	'\343\200\200' '\300\257' '\355\240\200' '\377'; do
	refused "a denial that ends in $bytes" cave_profile_syntax 1:38 "profile p { files { deny optional \"/x$bytes\" } }\\n"
done
accepted "a control: characters that are seen" \
	'profile p { files { deny optional "/\303\251\346\227\245\360\237\230\200" } } # \342\200\246\n'
printf '10.0.0.1 # old \r10.0.0.2 # must stay denied\n' >"$work/list.txt"
printf 'profile p { network { allow tcp 10.0.0.0/28 port 1; deny list "list.txt" } }\n' >"$work/p.cave"
run "$cavec" "$work/p.cave" -o "$work/p.bpf"
expect "a carriage return in a list" "$status$(grep -c 'list.txt:1:16: error: .*cave_profile_syntax' "$work/err")" = 11
printf '10.0.0.1 # \342\200\256\n' >"$work/list.txt"
run "$cavec" "$work/p.cave" -o "$work/p.bpf"
expect "a mark that turns text, in a list" "$status$(grep -c 'list.txt:1:12: error: .*cave_profile_syntax' "$work/err")" = 11
printf '10.0.0.1 # \303\251\r\n10.0.0.2\n' >"$work/list.txt"
expect_status "a control: a list with lines of DOS" 0 "$cavec" "$work/p.cave" -o "$work/p.bpf"

# The sources of a compile are not its output.
printf 'profile p { }\n' >"$work/s.cave"
cp "$work/s.cave" "$work/copy.cave"
printf 'credential corp CORP_LOGIN\n' >"$work/table"
expect_status "the profile is not written over" 2 "$cavec" "$work/s.cave" -o "$work/s.cave"
ln -s s.cave "$work/link.cave"
expect_status "nor through a link" 2 "$cavec" "$work/s.cave" -o "$work/link.cave"
expect_status "nor the table" 2 "$cavec" "$work/s.cave" --capabilities "$work/table" -o "$work/table"
expect "the profile is as it was" "$(cat "$work/s.cave")" = "$(cat "$work/copy.cave")"
expect "the table is as it was" "$(cat "$work/table")" = "credential corp CORP_LOGIN"
expect_status "a root that is no folder" 2 "$cavec" "$work/s.cave" --root "$work/s.cave" -o "$work/o.bpf"
expect_status "a folder is no profile" 2 "$cavec" "$work" -o "$work/o.bpf"
: >"$work/private.bpf"
chmod 600 "$work/private.bpf"
run "$cavec" "$work/s.cave" -o "$work/private.bpf"
expect "an output keeps its mode" "$(stat -c %a "$work/private.bpf")" = 600

# Names of credentials are in no message, whatever else is wrong.
secretly() {
	# shellcheck disable=SC2059
	printf "$2" >"$work/$3"
	run "$cavec" "$work/$3" -o "$work/p.bpf"
	if [ "$status" = 1 ] && ! grep -q 'S3CRET' "$work/err" "$work/out"; then
		ok "$1"
	else
		not_ok "$1" "status $status; $(cat "$work/err")"
	fi
}
secretly "a string where a name is expected" 'profile p { env { pass "S3CRET_TOKEN" } }\n' p.cave
secretly "a string as a credential" 'profile p { credentialEnv "AWS_S3CRET" }\n' p.cave
secretly "a comma that is missing" 'profile p {\n credentialEnv ANTHROPIC_API_KEY S3CRET_NAME\n}\n' p.cave
secretly "a comma too many" 'profile p { credentialEnv S3CRET_NAME, }\n' p.cave
secretly "a misspelled credentialEnv" 'profile p {\n credentialEnvs S3CRET_TOKEN\n}\n' p.cave
secretly "a misspelled pass" 'profile p { env { pas S3CRET_NAME } }\n' p.cave
secretly "a pass that is missing" 'profile p { env { S3CRET_NAME } }\n' p.cave
secretly "another fault on the line" 'profile p { credentialEnv S3CRET_NAME; network { allow tcp 10.0.0.1/8 port 1 } }\n' p.cave
secretly "a looks-like name in a line of another kind" 'profile p { env { set S3CRET_TOKEN x } }\n' p.cave
for json in '{"schema_version":1,"network":true,"child_process":true,"credential_env":["AWS_S3CRET"],"x":1}' \
	'{"schema_version":2,"network":false,"child_process":false,"credential_env":["S3CRET"]}' \
	'{"schema_version":1,"credential_env":["S3CRET"],"credential_env":[]}' '{"credential_env":["S3CRET"'; do
	secretly "JSON: $(printf %s "$json" | cut -c1-40)" "$json" p.json
done
printf '%s' '{"schema_version":1,"network":true,"child_process":true,"credential_env":["AWS_X"],"x":1}' >"$work/p.json"
run "$cavec" "$work/p.json" -o "$work/p.bpf"
for code in cave_live_eval_sandbox_profile_invalid cave_sandbox_network_egress_unbounded \
	cave_sandbox_child_process_containment_unavailable cave_sandbox_credential_env_not_allowlisted; do
	expect "JSON: every code that applies is printed: $code" "$(grep -c "$code" "$work/err")" = 1
done

# Every code is printed, however many other errors there are.
{
	printf 'profile p {\n'
	i=0
	while [ $i -lt 80 ]; do
		echo "nonsense$i"
		i=$((i + 1))
	done
	printf 'childProcess true\nnetwork true\n}\n'
} >"$work/p.cave"
expect_code "a late code is not cut off" 1 cave_sandbox_child_process_containment_unavailable \
	"$cavec" "$work/p.cave" -o "$work/p.bpf"
expect "what is left out is counted" "$(tail -1 "$work/err")" = "cavec: 30 more errors are not shown"
refused "a block that is left open is looked at all the same" cave_sandbox_network_egress_unbounded 2:10 \
	'profile p {\n network true\n'
expect "and the missing brace is said once" "$(grep -c cave_profile_syntax "$work/err")" = 1
printf 'env { set }\nnetwork true\n' >"$work/part.cave"
printf 'include "part.cave"\nprofile p { }\n' >"$work/p.cave"
expect_code "an include with a fault is looked at as well" 1 cave_sandbox_network_egress_unbounded \
	"$cavec" "$work/p.cave" -o "$work/p.bpf"

# Denials that bind whoever includes them.
printf 'network { deny 10.0.0.1 }\n' >"$work/part.cave"
printf 'include "part.cave"\nprofile p { network false }\n' >"$work/p.cave"
expect_status "a denial does not contradict network false" 0 "$cavec" "$work/p.cave" -o "$work/p.bpf"

# What is read is a whole file: part of one, or none, may lack what it denies.
printf 'include "/proc/version"\nprofile p { }\n' >"$work/p.cave"
expect_code "an include that is longer than it says" 1 cave_live_eval_sandbox_profile_missing \
	"$cavec" --root / "$work/p.cave" -o "$work/p.bpf"
expect "it says so" -n "$(grep 'its length is not what it says' "$work/err")"
mkfifo "$work/fifo"
printf 'include "fifo"\nprofile p { }\n' >"$work/p.cave"
expect_code "an include that is no file" 1 'this is no regular file' "$cavec" "$work/p.cave" -o "$work/p.bpf"
expect_status "a profile that is no file" 2 "$cavec" --root / /dev/zero -o "$work/p.bpf"
refused "an include of no name" cave_profile_value 1:9 'include ""\nprofile p { }\n'
refused "a list of no name" cave_profile_value 1:38 'profile p { network { allow tcp list "" port 1 } }\n'

# Values past what a machine counts to.
for value in 17179869185GiB 16777217TiB 18014398509481985KiB; do
	refused "a memory of $value" cave_profile_value 1:29 "profile p { limits { memory $value } }\n"
	expect "it is said to be too much" -n "$(grep 'at most 64TiB' "$work/err")"
done
refused "a time of 18446744073709553s" cave_profile_value 1:27 'profile p { limits { time 18446744073709553s } }\n'
expect "it is said to be too much" -n "$(grep 'at most 720h' "$work/err")"

# Size: work grows with the text, limits have codes.
i=0
while [ $i -lt 40 ]; do
	printf 'include "b%s.cave"\ninclude "b%s.cave"\n' $((i + 1)) $((i + 1)) >"$work/b$i.cave"
	i=$((i + 1))
done
echo 'env { pass TERM }' >"$work/b40.cave"
printf 'include "b0.cave"\nprofile p { }\n' >"$work/p.cave"
expect_status "includes that double at each of forty steps" 0 timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
many() { # many COUNT FORMAT: a profile with so many lines
	printf 'profile p {\n'
	seq "$1" | sed "$2"
	printf '}\n'
}
many 80000 's/.*/syscalls { deny ptrace }/' >"$work/p.cave"
expect_status "80,000 lines" 0 timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
many 1100 's/.*/env { set A& "x" }/' >"$work/p.cave"
expect_code "more variables than an artefact holds" 1 cave_profile_value "$cavec" "$work/p.cave" -o "$work/p.bpf"
many 4100 's/.*/files { read "\/a\/&" }/' >"$work/p.cave"
expect_code "more paths than an artefact holds" 1 cave_profile_value "$cavec" "$work/p.cave" -o "$work/p.bpf"

# chain COUNT OPERATOR: an argument compared with so many values, one after the other.
chain() {
	printf 'profile p { syscalls { allow personality(persona == 0'
	seq "$1" | sed "s/.*/ $2 &/" | tr -d '\n'
	printf ') } }\n'
}
chain 4096 '|| persona ==' >"$work/p.cave"
expect_status "a condition with 4,096 operators" 0 timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
rm -f "$work/p.bpf"
for operator in '|| persona ==' '\&\& persona ==' '|' '\& '; do
	chain 200000 "$operator" >"$work/p.cave"
	run timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
	expect "a condition with 200,000: $operator" "$status$(grep -c 'has 4096 operators at most' "$work/err")$(
		grep -c error: "$work/err")" = 111
done
{
	printf 'profile p { syscalls { allow personality('
	seq 200000 | tr '\n' '!' | tr -d 0-9
	printf 'persona) } }\n'
} >"$work/p.cave"
expect_code "200,000 negations" 1 cave_profile_syntax timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
{
	printf 'profile p { syscalls { allow personality(persona in { 0'
	seq 2 2 400000 | sed 's/.*/, &/' | tr -d '\n'
	printf ' }) } }\n'
} >"$work/p.cave"
expect_code "200,000 values" 1 cave_profile_unsupported timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"

many 4096 's/.*/syscalls { deny personality(persona == 1&) }/' >"$work/p.cave"
expect_status "4,096 conditions on a call" 0 timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
rm -f "$work/p.bpf"
many 80000 's/.*/syscalls { deny personality(persona == 1) }/' >"$work/p.cave"
run timeout 10 "$cavec" "$work/p.cave" -o "$work/p.bpf"
expect "80,000 of them" "$status$(grep -c 'p.cave:4098:.*unsupported' "$work/err")$(grep -c error: "$work/err")" = 111

# Paths are taken as they stand.
refused "a tilde" cave_profile_value 1:26 'profile p { files { read ~/.ssh } }\n'
refused "a wildcard" cave_profile_value 1:26 'profile p { files { read "/etc/*.conf" } }\n'
refused "a place within a bare word" cave_profile_value 1:28 'profile p { env { set HOME workspace/home } }\n'
expect "the place is offered in a string" "$(grep -c '"${workspace}/home"' "$work/err")" = 1
