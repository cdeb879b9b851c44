#!/bin/sh
# SPDX-License-Identifier: MIT
# A host with many threads: nothing of it is a race, nothing grows, and every tool becomes what it should.
. "$(dirname "$0")/../lib.sh"
need_root

compile plain "$work/plain.bpf" <<'END'
profile plain { }
END
compile limits "$work/limits.bpf" <<'END'
profile limits { limits { time 50ms; output 1KiB } }
END
compile write "$work/write.bpf" <<'END'
profile write { files { write workspace } }
END
compile children "$work/children.bpf" <<'END'
profile children { childProcess { max-processes 8; execute "/bin/sh" } }
END
compile net "$work/net.bpf" <<'END'
profile net { network { allow tcp 192.0.2.1 port 443 } }
END
cp "$build/tsan/hostthreads" "$probe" "$work"
cp "$build/tests/tools/hostthreads" "$work/plainly"
export CAVE_LOAD="$build/cave-load"

# host NAME COMMAND…: its results are ours.
host() {
	name=$1
	shift
	run "$@"
	sed "s/^ok /ok $name: /; s/^not ok /not ok $name: /" "$work/out"
	expect "$name: it comes to its end" "$status" = 0
	[ ! -s "$work/err" ] || head -n 20 "$work/err"
}
host root "$work/plainly" "$work" "$work/cave-probe" 60
host "an ordinary user" setpriv --reuid 65534 --regid 65534 --clear-groups "$work/plainly" "$work" "$work/cave-probe" 60
# Its shadow memory has a place of its own, which an address space that is laid out at random may take.
fixed=
if setarch -R true 2>/dev/null; then fixed='setarch -R'; fi # a container may not let it be changed
# shellcheck disable=SC2086
host "under ThreadSanitizer" $fixed "$work/hostthreads" "$work" "$work/cave-probe" 20
expect "no race" "$(grep -c 'WARNING: ThreadSanitizer' "$work/err")" = 0
