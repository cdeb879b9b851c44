# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What every shell test starts with:  . "$(dirname "$0")/../lib.sh"
#
# Results are lines that tests/run counts: "ok NAME", "not ok NAME: why", "skip NAME: why".
# $work is a folder of the test's own, readable by all and removed at the end; cleanup() may be redefined to
# undo more.
set -u
umask 022
PATH=$PATH:/usr/sbin:/sbin
export PATH
unset CDPATH
top=$(cd "$(dirname "$0")/../.." && pwd -P)
build=$top/build
cavec=$build/cavec
# The other tests use these.
# shellcheck disable=SC2034
caverun=$build/caverun probe=$build/tests/tools/probe python=/usr/bin/python3
work=$(mktemp -d "${TMPDIR:-/tmp}/cave-test.XXXXXX")
chmod 755 "$work"

cleanup() { :; }
finish() {
	trap - EXIT INT TERM HUP
	cleanup
	rm -rf "$work"
}
trap finish EXIT
trap 'finish; exit 130' INT TERM HUP

ok() { printf 'ok %s\n' "$1"; }
not_ok() { printf 'not ok %s: %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ' | cut -c1-400)"; }
skip() { printf 'skip %s: %s\n' "$1" "$2"; }

# Runs a command; $status, $work/out and $work/err are its result.
run() {
	status=0
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# expect NAME CONDITION…: a result by test(1).
expect() {
	name=$1
	shift
	if [ "$@" ]; then ok "$name"; else not_ok "$name" "[ $* ]"; fi
}

# expect_status NAME STATUS COMMAND…
expect_status() {
	name=$1 want=$2
	shift 2
	run "$@"
	if [ "$status" = "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $status, expected $want; $(cat "$work/err")"
		return 1
	fi
}

# expect_output NAME TEXT COMMAND…: it succeeds and prints exactly TEXT.
expect_output() {
	name=$1 want=$2
	shift 2
	run "$@"
	if [ "$status" = 0 ] && [ "$(cat "$work/out")" = "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "status $status, printed '$(cat "$work/out")', expected '$want'; $(cat "$work/err")"
	fi
}

# expect_code NAME STATUS CODE COMMAND…: it is refused with that code on its standard error.
expect_code() {
	name=$1 want=$2 code=$3
	shift 3
	run "$@"
	if [ "$status" = "$want" ] && grep -qF "$code" "$work/err"; then
		ok "$name"
	else
		not_ok "$name" "status $status, expected $want and $code; $(cat "$work/err")"
	fi
}

# compile NAME OUT: compiles the profile on standard input; a failure is a failed test and ends the script.
compile() {
	mkdir -p "$(dirname "$2")"
	cat >"$work/$1.cave"
	if ! "$cavec" "$work/$1.cave" -o "$2" >"$work/out" 2>"$work/err"; then
		not_ok "compile $1" "$(cat "$work/err")"
		exit 1
	fi
}
