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
caverun=${CAVERUN:-$build/caverun} probe=$build/cave-probe python=/usr/bin/python3
work=$(mktemp -d "${TMPDIR:-/tmp}/cave-test.XXXXXX")
chmod 755 "$work"

cleanup() { :; }
finish() {
	trap - EXIT INT TERM HUP
	cleanup
	# What is kept of this test's policies; what others use at the same time stays.
	[ "$(id -u)" != 0 ] || [ ! -x "$caverun" ] || "$caverun" --forget --all >/dev/null 2>&1
	rm -rf "$work"
}
trap finish EXIT
trap 'finish; exit 130' INT TERM HUP

ok() { printf 'ok %s\n' "$1"; }
not_ok() { printf 'not ok %s: %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ' | cut -c1-400)"; }
skip() { printf 'skip %s: %s\n' "$1" "$2"; }

# A test that makes namespaces, users or cgroups cannot do without.
need_root() {
	[ "$(id -u)" = 0 ] && return
	skip "$(basename "$0")" "it needs root"
	exit 0
}

# Runs a command; $status, $work/out and $work/err are its result.
run() {
	status=0
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# The variables of these functions have names that the commands they run, if functions, do not use.

# expect NAME CONDITION…: a result by test(1).
expect() {
	test_name=$1
	shift
	if [ "$@" ]; then ok "$test_name"; else not_ok "$test_name" "[ $* ]"; fi
}

# expect_status NAME STATUS COMMAND…
expect_status() {
	test_name=$1 wanted=$2
	shift 2
	run "$@"
	if [ "$status" = "$wanted" ]; then
		ok "$test_name"
	else
		not_ok "$test_name" "exit status $status, expected $wanted; $(cat "$work/err")"
		return 1
	fi
}

# expect_output NAME TEXT COMMAND…: it succeeds and prints exactly TEXT.
expect_output() {
	test_name=$1 wanted=$2
	shift 2
	run "$@"
	if [ "$status" = 0 ] && [ "$(cat "$work/out")" = "$wanted" ]; then
		ok "$test_name"
	else
		not_ok "$test_name" "status $status, printed '$(cat "$work/out")', expected '$wanted'; $(cat "$work/err")"
	fi
}

# expect_code NAME STATUS CODE COMMAND…: it is refused with that code on its standard error.
expect_code() {
	test_name=$1 wanted=$2 wanted_code=$3
	shift 3
	run "$@"
	if [ "$status" = "$wanted" ] && grep -qF "$wanted_code" "$work/err"; then
		ok "$test_name"
	else
		not_ok "$test_name" "status $status, expected $wanted and $wanted_code; $(cat "$work/err")"
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
