#!/bin/sh
# SPDX-License-Identifier: MIT
# A bounded run of the fuzzer over what the resolver reads: every input of the corpus, then new ones made from them; and
# all that by musl's functions for messages, against which the resolver is linked.
# `tests/fuzz/resolve.sh SECONDS` runs as long as that and adds what it finds to the corpus.
. "$(dirname "$0")/../lib.sh"

fuzzer=$build/fuzz/resolve
corpus=$top/tests/fuzz/resolve.corpus
if [ ! -x "$fuzzer" ] || [ ! -x "$fuzzer-musl" ]; then
	skip "the resolver's fuzzer" "it is not built: make fuzz"
	exit 0
fi
mkdir "$work/corpus" "$work/found"
"$python" - "$corpus" "$work/corpus" <<'END'
import sys
for n, line in enumerate(open(sys.argv[1])):
    if not line.startswith("#"):
        open(f"{sys.argv[2]}/{n}", "wb").write(bytes.fromhex(line))
END
expect "the corpus is there" "$(find "$work/corpus" -type f | wc -l)" -gt 50

# hunt NAME OPTION…
hunt() {
	name=$1
	shift
	if "$fuzzer" -artifact_prefix="$work/found/" -timeout=5 "$@" >"$work/out" 2>&1; then
		ok "$name"
	else
		not_ok "$name" "$(grep SUMMARY "$work/out"); input $(cat "$work"/found/* | od -An -v -tx1 | tr -d ' \n')"
	fi
}

replay() {
	if "$fuzzer-musl" "$work/corpus" >"$work/out" 2>&1; then
		ok "the same by musl"
	else
		not_ok "the same by musl" "status $?; $(cat "$work/out")"
	fi
}

hunt "every input of the corpus" -runs=0 "$work/corpus"
if [ $# = 0 ]; then
	hunt "20000 new inputs" -runs=20000 -max_len=1024 "$work/corpus"
	replay
	exit 0
fi
hunt "new inputs for $1 seconds" -max_total_time="$1" -max_len=2048 "$work/corpus"
replay
mkdir "$work/least"
"$fuzzer" -merge=1 "$work/least" "$work/corpus" >/dev/null 2>&1
"$python" - "$work/least" "$corpus" <<'END'
import os, sys
head = [line for line in open(sys.argv[2]) if line.startswith("#")]
found = sorted((open(e.path, "rb").read() for e in os.scandir(sys.argv[1])), key=lambda b: (len(b), b))
open(sys.argv[2], "w").writelines(head + [b.hex() + "\n" for b in found])
END
