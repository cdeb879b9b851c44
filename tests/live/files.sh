#!/bin/sh
# SPDX-License-Identifier: MIT
# What each statement of `files` means to a running tool: as root, as an ordinary user, and where there is no mount
# namespace to be had.  Every refusal has its control: the same attempt outside the sandbox gets through.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
cleanup() { kill -9 "$holder" 2>/dev/null; }

# policy NAME FILES-BLOCK
policy() {
	compile "$1" "$home/policy/$1.bpf" <<END
profile $1 { files { $2 } }
END
	chmod 644 "$home/policy/$1.bpf"
}
# under NAME [OPTION…] -- PROGRAM…
under() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	# shellcheck disable=SC2086
	as "$bin/caverun" $options "$home/policy/$name.bpf" "$@"
}
own() { [ "$kind" = root ] || chown -hR "$nobody:$nobody" "$@"; }

# What became of the last attempt: "allowed", "refused ERRNO" or "status N".
outcome() {
	found=$(sed -n 's/^.*: \(allowed\|refused [A-Z0-9?]*\)$/\1/p' "$work/out" | tail -n 1)
	echo "${found:-status $status}"
}
# The attempt without the test's own folder.
label() { echo "$*" | sed "s#$home#~#g; s#$bin/##g"; }

# works NAME [OPTION…] -- ATTEMPT…
works() {
	run under_probe "$@"
	expect "$kind: $(label "$@")" "$(outcome)" = allowed
}
under_probe() {
	policy=$1 before=
	shift
	while [ "$1" != -- ]; do
		before="$before $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	under "$policy" $before -- "$bin/probe" "$@"
}
# refuses NAME [OPTION…] -- ATTEMPT…
refuses() {
	test_label=$(label "$@")
	run outside "$@"
	control=$(outcome)
	run under_probe "$@"
	case $control/$(outcome) in
	allowed/refused* | 'status 0/refused'*) ok "$kind: refused: $test_label" ;;
	allowed/*) not_ok "$kind: refused: $test_label" "inside: $(outcome); $(cat "$work/err")" ;;
	*) not_ok "$kind: control: $test_label" "outside: $control" ;;
	esac
}
outside() {
	while [ "$1" != -- ]; do shift; done
	shift
	as "$bin/probe" "$@"
}
# stops NAME CODE TEXT [OPTION…]: the start is refused, and nothing was started.
stops() {
	policy=$1 code=$2 text=$3
	shift 3
	run under "$policy" "$@" -- "$bin/probe" ids
	if [ "$status" = 125 ] && [ ! -s "$work/out" ] && grep -qF "[$code]" "$work/err" && grep -qF "$text" "$work/err"; then
		ok "$kind: $policy is not started: $text"
	else
		not_ok "$kind: $policy is not started: $text" "status $status; $(cat "$work/out" "$work/err")"
	fi
}

# Execution is a right of its own.  The exec of a second program is refused by the filter, so that here it is seen by
# what may be started, and mapped as code.
execution() {
	w=$home/workspace
	mkdir -p "$w/bin" "$w/other"
	cp "$bin/probe" "$w/bin/program"
	cp "$bin/probe" "$w/program"
	own "$w"
	policy write-only 'write workspace'
	policy execute-all 'write workspace; execute workspace'
	policy execute-folder 'write workspace; execute workspace/bin/'
	policy execute-file 'write workspace; execute workspace/bin/program'
	policy execute-read 'execute workspace'
	policy execute-wrong 'write workspace; execute workspace/bin'
	policy execute-wrong-file 'execute workspace/program/'
	policy execute-missing 'execute workspace/none'
	policy execute-optional 'write workspace; execute optional workspace/none'
	policy execute-around "write \"$w/bin\"; execute \"$w/\""
	policy execute-inner "write \"$w\"; write \"$w/other\"; execute \"$w/bin/\", \"$w/bin/program\""
	if [ "$kind" != bare ]; then
		refuses write-only --workspace "$w" -- map-exec "$w/program"
		refuses execute-folder --workspace "$w" -- map-exec "$w/program"
		refuses execute-file --workspace "$w" -- map-exec "$w/program"
		refuses execute-inner -- map-exec "$w/program"
		refuses execute-optional --workspace "$w" -- map-exec "$w/program"
	fi
	works execute-all --workspace "$w" -- map-exec "$w/program"
	works execute-folder --workspace "$w" -- map-exec "$w/bin/program"
	works execute-file --workspace "$w" -- map-exec "$w/bin/program"
	works execute-around -- map-exec "$w/bin/program"
	works execute-inner -- map-exec "$w/bin/program"
	works execute-read --workspace "$w" -- map-exec "$w/program"
	works execute-folder --workspace "$w" -- create "$w/bin/new"
	works execute-folder --workspace "$w" -- unlink "$w/bin/new"
	refuses execute-read --workspace "$w" -- create "$w/new"
	rm -f "$w/new"
	for name in write-only execute-folder execute-file; do
		expect_code "$kind: PROGRAM is not started from a write grant: $name" 126 'write grant' \
			under "$name" --workspace "$w" -- "$w/program" ids
	done
	for name in execute-all execute-read; do
		expect_status "$kind: PROGRAM is started from what may be executed: $name" 0 \
			under "$name" --workspace "$w" -- "$w/program" ids
	done
	for name in execute-folder execute-file execute-inner execute-around; do
		option="--workspace $w"
		case $name in execute-inner | execute-around) option= ;; esac
		# shellcheck disable=SC2086
		expect_status "$kind: PROGRAM is started from what may be executed: $name" 0 \
			under $name $option -- "$w/bin/program" ids
	done
	stops execute-wrong cave_sandbox_failed 'final slash' --workspace "$w"
	stops execute-wrong-file cave_sandbox_failed 'is no folder' --workspace "$w"
	stops execute-missing cave_sandbox_failed 'workspace/none' --workspace "$w"
	refuses execute-all --workspace "$w" -- exec "$w/program"
}

optional() {
	policy maybe "read optional \"$home/perhaps\", \"$home/there\""
	policy both "read optional \"$home/perhaps\", \"$home/there\"; read \"$home/perhaps\""
	echo text >"$home/there"
	works maybe -- read "$home/there"
	stops both cave_sandbox_failed perhaps
	echo text >"$home/perhaps"
	works maybe -- read "$home/perhaps"
	works both -- read "$home/perhaps"
	rm "$home/perhaps" "$home/there"
}

suite() {
	kind=$1
	home=$work/$kind
	mkdir -p "$home/policy" "$home/workspace"
	own "$home/workspace"
	execution
	optional
}

for user in root user bare; do
	suite "$user"
done
