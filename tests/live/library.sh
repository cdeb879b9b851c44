#!/bin/sh
# SPDX-License-Identifier: MIT
# The library: what it promises to hosts, as root and as an ordinary user, and the two example hosts.
. "$(dirname "$0")/../lib.sh"
need_root

compile plain "$work/plain.bpf" <<'END'
profile plain { }
END
compile write "$work/write.bpf" <<'END'
profile write { files { write workspace } }
END
compile output "$work/output.bpf" <<'END'
profile output { limits { output 64KiB } }
END
compile relative "$work/relative.bpf" <<'END'
profile relative { files { read "./w" } }
END
compile pass "$work/pass.bpf" <<'END'
profile pass { env { pass WORD } }
END
compile deny "$work/deny.bpf" <<END
profile deny { files { read "$work/w"; deny "$work/w/secret", optional "$work/w/later" } }
END
compile family "$work/family.bpf" <<'END'
profile family { childProcess { max-processes 1; execute "/bin/true" } }
END
cp "$build/tests/tools/hosttest" "$probe" "$work"
mkdir "$work/w"
chmod 777 "$work/w" "$work"
cd "$work" || exit 1

# The host says the results itself; the library says nothing.
host() {
	"$@" "$work/hosttest" "$work" "$work/cave-probe" >"$work/results" 2>"$work/said" </dev/null
	status=$?
	sed "s/^ok /ok $who: /; s/^not ok /not ok $who: /" "$work/results"
	expect "$who: the host lives to the end" $status = 0
	expect "$who: the library prints nothing" ! -s "$work/said"
	rm -rf "$work"/program* "$work/outside"
}
who=root
host env
who=user
host setpriv --reuid 65534 --regid 65534 --clear-groups
expect "no fresh workspace is left" -z "$(find "$work" -mindepth 1 -maxdepth 1 -name 'cave-*' ! -name cave-probe)"

# --- the same attacks, on starts of the library (the file says what, and caverun's own part is left out there)
export CAVE_LOAD="$build/cave-load"
CAVERUN=$build/tests/library/caverun "$top/tests/live/handed.sh" | sed 's/^\(not ok\|ok\) /&library: /'

# --- the example hosts
run "$build/examples/host" "$work/plain.bpf" echo hello
expect "examples/host.c shows what the tool prints" "$status $(cat "$work/out")" = '0 hello'
run "$build/examples/host" "$work/plain.bpf" sh -c 'exit 7'
expect "and ends as it does" "$status" = 7
expect_code "and says why a start is refused" 125 cave_sandbox_policy_invalid "$build/examples/host" "$probe" echo

cat >"$work/tool.mjs" <<'END'
import { readFileSync } from 'node:fs';
const answers = [process.argv[2]];
try { readFileSync('/etc/shadow'); answers.push('read'); } catch { answers.push('kept'); }
try { (await import('node:child_process')).execSync('true'); answers.push('ran'); } catch { answers.push('alone'); }
console.log(answers.join(' '), Object.keys(process.env).sort().join(','));
process.exit(3);
END
if command -v node >/dev/null 2>&1; then
	SECRET=x run node "$top/examples/host.mjs" "$build/caverun" "$work/plain.bpf" "$work/tool.mjs" argument
	expect "examples/host.mjs runs a tool, which is contained" \
		"$status $(head -n 1 "$work/out")" = '3 argument kept alone LANG,LC_ALL,PATH,TZ'
	expect "and tells how it ended" -n "$(grep '"status":3,"signal":null' "$work/out")"
	run node "$top/examples/host.mjs" "$build/caverun" "$probe" "$work/tool.mjs"
	expect "and a refusal by its code" -n "$(grep '"code":"cave_sandbox_policy_invalid","refused":true' "$work/out")"
fi

# --- what is installed can be used
make -C "$top" --no-print-directory -s install DESTDIR="$work/root" PREFIX=/usr >"$work/out" 2>&1 || cat "$work/out"
export PKG_CONFIG_SYSROOT_DIR="$work/root" PKG_CONFIG_PATH="$work/root/usr/lib/pkgconfig" \
	PKG_CONFIG_SYSTEM_INCLUDE_PATH=/none PKG_CONFIG_SYSTEM_LIBRARY_PATH=/none
if command -v pkg-config >/dev/null 2>&1; then
	flags=$(pkg-config --cflags --libs libcave)
else
	flags="-I$work/root/usr/include -L$work/root/usr/lib -lcave"
fi
# shellcheck disable=SC2086
expect_status "a host is built against what is installed" 0 gcc "$top/examples/host.c" -o "$work/shared" $flags
expect_output "and runs with the shared library" hello \
	env LD_LIBRARY_PATH="$work/root/usr/lib" "$work/shared" "$work/plain.bpf" echo hello
expect "which exports its interface only" -z \
	"$(nm -D --defined-only "$work/root/usr/lib/libcave.so.0" | grep -vE ' (T cave_|A CAVE_0)')"
expect "as the static one does" -z \
	"$(nm -g --defined-only "$work/root/usr/lib/libcave.a" | grep -E ' [A-Z] ' | grep -v ' T cave_')"
