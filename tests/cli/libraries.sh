#!/bin/sh
# SPDX-License-Identifier: MIT
# Two builds of the compiler, against two C libraries (the one with sanitizers is against the host's), make the same
# artefacts, byte for byte, and take each other's.
. "$(dirname "$0")/../lib.sh"

other=$build/san/cavec
if [ ! -x "$other" ]; then
	skip 'two C libraries' 'there is no second build: make SAN=1 all'
	exit 0
fi
cat >"$work/spellings.cave" <<'END'
profile spellings {
    network {
        allow tcp { 10.0.0.0/24, ::2, 2001:db8::1:0:0:1, 2001:db8:0:1::/64, 2001:db8:1:0:2:3:4:5 } port 443
        allow tcp { api.example.com, *.b.example.net } port 443 within { 10.0.0.0/8, fd01::/16 }
        deny { 10.0.0.3, ::2:0:0:3 }
        listen tcp { 127.0.0.1, ::1 } port 80
    }
    env { set A "b" }
    files { read "/srv/é"; write workspace }
    syscalls { allow personality(persona in { 8, 0x20 }); deny uname }
    profile in { syscalls { deny uname } }
}
END
for file in "$work/spellings.cave" "$top"/examples/api-call.cave "$top"/examples/database.cave \
	"$top"/examples/install-npm.cave "$top"/examples/container-default.cave; do
	name=$(basename "$file")
	if "$cavec" "$file" -o "$work/a.bpf" 2>"$work/err" && "$other" "$file" -o "$work/b.bpf" 2>>"$work/err"; then
		expect "$name: one artefact" -z "$(cmp "$work/a.bpf" "$work/b.bpf" 2>&1)"
	else
		not_ok "$name: one artefact" "$(cat "$work/err")"
	fi
done
"$cavec" "$work/spellings.cave" -o "$work/a.bpf"
expect_status 'an artefact of the other build' 0 "$other" diff "$work/a.bpf" "$work/spellings.cave"

# --- damaged artefacts with fitting digests, to the build with sanitizers: refused, or read, and nothing else
mkdir "$work/damaged"
"$python" "$top/tests/tools/resigned.py" "$work/a.bpf" "$work/damaged" "${CAVE_DAMAGED:-24}" 1 ||
	not_ok 'damage' 'artefacts are not re-signed as they are signed'
bad='' refused=0 n=0
for file in "$work"/damaged/*.bpf; do
	n=$((n + 1))
	for command in lint explain; do
		set -- "$file"
		[ "$command" != explain ] || set -- "$file" connect tcp 10.0.0.1 port 443
		# shellcheck disable=SC2086
		run "$other" $command "$@"
		[ "$status" -le 2 ] && ! grep -q 'Sanitizer\|runtime error' "$work/err" || bad="$bad $(basename "$file"):$command"
		[ "$status" != 2 ] || refused=$((refused + 1))
	done
done
expect 'damaged artefacts do no harm' -z "$bad"
expect 'most are refused' "$refused" -gt "$n" # of two commands each
