#!/bin/sh
# SPDX-License-Identifier: MIT
# The language server, by a client that speaks the protocol; once more with the sanitizers where they were built.
. "$(dirname "$0")/../lib.sh"

speak() {
	mkdir "$work/$2"
	"$python" "$top/tests/cli/lsp.py" "$1" "$work/$2" 2>"$work/err" ||
		not_ok "the client of $2 came to its end" "$(tail -n 3 "$work/err")"
}
speak "$cavec" plain
if [ -x "$build/san/cavec" ]; then
	ASAN_OPTIONS=detect_leaks=1 speak "$build/san/cavec" san
else
	skip "the sanitizers see nothing" "there is no build/san/cavec"
fi
expect_status "it takes no file" 2 "$cavec" lsp x.cave
