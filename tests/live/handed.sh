#!/bin/sh
# SPDX-License-Identifier: MIT
# What a tool can do to the files behind the descriptors it is handed: their metadata lie outside its mounts.
. "$(dirname "$0")/../lib.sh"
need_root

compile handed "$work/handed.bpf" <<'END'
profile handed {
    files { write workspace }
}
END
cat >"$work/change.py" <<'END'
import os, sys
out = os.fdopen(os.dup(int(sys.argv[2])), "w") if len(sys.argv) > 2 else sys.stderr
for attempt in (lambda: os.fchmod(int(sys.argv[1]), 0o640), lambda: os.utime(int(sys.argv[1])),
                lambda: os.chmod("/proc/self/fd/" + sys.argv[1], 0o640)):
    try:
        attempt()
        print("changed", file=out)
    except OSError as e:
        print(os.strerror(e.errno), file=out)
END
three() { printf '%s\n%s\n%s' "$1" "$1" "$1"; }

# as NAME WANTED FD COMMAND: the shell command runs "$@" as the tool with descriptor FD arranged; its stderr tells.
as() {
	sh -c "$4" sh "$caverun" --script "$work/change.py" "$work/handed.bpf" -- "$python" "$3" 2>"$work/err" >"$work/out"
	if [ "$(cat "$work/err")" = "$(three "$2")" ]; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$work/err")"
	fi
}

echo secret >"$work/in"
chmod 644 "$work/in"
# shellcheck disable=SC2016
{
	as "/dev/null is opened again on a read-only mount" "Read-only file system" 0 '"$@" </dev/null'
	as "a file that is read keeps its metadata" "Operation not permitted" 0 "\"\$@\" <$work/in"
	as "a pipe has none that matter" "changed" 0 'echo | "$@"'
	as "beside a pipe, /dev/null is opened again" "Read-only file system" 1 'echo | "$@" >/dev/null'
}
expect "the file has its mode" "$(stat -c %a "$work/in")" = 644
expect "/dev/null has its mode" "$(stat -c %a /dev/null)" = 666
"$python" "$work/change.py" 0 <"$work/in" 2>"$work/err"
expect "outside of the sandbox the same attempts succeed" "$(cat "$work/err")" = "$(three changed)"

chmod 755 "$work/in"
cat >"$work/inside.py" <<'END'
import os, stat
open("new", "w").close()
os.chmod("new", 0o600)
print(oct(stat.S_IMODE(os.stat("new").st_mode)))
END
expect_output "metadata within the workspace can be changed" 0o600 \
	"$caverun" --script "$work/inside.py" "$work/handed.bpf" -- "$python"

# A terminal: its metadata are not the tool's either, and it still is one.
if script -qec "$caverun --script $work/change.py $work/handed.bpf -- $python 0" /dev/null </dev/null >"$work/out" 2>&1 &&
	[ "$(tr -d '\r' <"$work/out")" = "$(three "Read-only file system")" ]; then
	ok "a terminal is opened again on a read-only mount"
else
	not_ok "a terminal is opened again on a read-only mount" "$(cat "$work/out")"
fi
script -qec "$caverun $work/handed.bpf -- $python -c 'import sys; print(sys.stdin.isatty(), sys.stdout.isatty())'" \
	/dev/null </dev/null >"$work/out" 2>&1
expect "and it still is a terminal" "$(tr -d '\r' <"$work/out")" = "True True"

# The controlling side of a terminal types into the other.
cat >"$work/master.py" <<'END'
import os, pty, subprocess, sys
master, slave = pty.openpty()
sys.exit(subprocess.call(sys.argv[1:], stdin=int(os.environ["SIDE"] == "master") and master or slave))
END
expect_code "the controlling side of a terminal is refused" 125 cave_sandbox_failed \
	env SIDE=master "$python" "$work/master.py" "$caverun" "$work/handed.bpf" -- /bin/true
expect_status "its other side is not" 0 \
	env SIDE=slave "$python" "$work/master.py" "$caverun" "$work/handed.bpf" -- /bin/true

compile opened "$work/opened.bpf" <<'END'
profile opened { syscalls { allow chmod } }
END
# shellcheck disable=SC2016
expect_code "an explicit grant of chmod beside such a file is refused" 125 cave_sandbox_failed \
	sh -c '"$@" <'"$work/in" sh "$caverun" "$work/opened.bpf" -- /bin/true
expect_status "and starts without it" 0 "$caverun" "$work/opened.bpf" -- /bin/true

# A fresh workspace goes with the run, whatever the tool has made of it; and what its links lead to stays.
cat >"$work/mess.py" <<'END'
import os
os.symlink(os.environ["OUTSIDE"], "link")
for top in ("a", "b"):
    os.makedirs(f"{top}/c/d")
    open(f"{top}/c/d/file", "w").close()
    os.symlink(os.environ["OUTSIDE"], f"{top}/c/link")
    for folder in (f"{top}/c/d", f"{top}/c", top):
        os.chmod(folder, 0)
END
compile mess "$work/mess.bpf" <<'END'
profile mess {
    files { write workspace }
    env { pass OUTSIDE }
}
END
mkdir -m 711 "$work/outside" "$work/tmp"
chmod 1777 "$work/tmp"
echo kept >"$work/outside/file"
for user in '' nobody; do
	expect_status "a messy workspace, user '$user'" 0 env OUTSIDE="$work/outside" TMPDIR="$work/tmp" "$caverun" \
		${user:+--user "$user"} --script "$work/mess.py" "$work/mess.bpf" -- "$python"
	expect "nothing of it is left, user '$user'" -z "$(ls "$work/tmp")"
	expect "what its links led to is as it was, user '$user'" \
		"$(stat -c %a "$work/outside") $(cat "$work/outside/file")" = "711 kept"
done
