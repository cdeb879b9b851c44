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

# What is a regular file by its mode alone.
cat >"$work/kernel.py" <<'END'
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[1] == "queue":
    name = b"/cave-handed-%d" % os.getpid()
    fd = ctypes.CDLL("librt.so.1", use_errno=True).mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    ctypes.CDLL("librt.so.1").mq_unlink(name)
elif sys.argv[1] == "secret":
    fd = libc.syscall(447, 0)
else:
    fd = os.open(sys.argv[1], os.O_RDONLY)
if fd < 0: sys.exit(77)
sys.exit(subprocess.call(sys.argv[2:], stdin=fd))
END
for what in queue secret; do
	run "$python" "$work/kernel.py" $what "$caverun" "$work/handed.bpf" -- /bin/true
	if [ "$status" = 77 ]; then
		skip "a $what of the kernel's" "this kernel has none"
		continue
	fi
	expect "a $what of the kernel's is not handed over" \
		"$status $(grep -c 'a file of the kernel' "$work/err")" = '125 1'
done
expect_status "a file is" 0 "$python" "$work/kernel.py" "$work/in" "$caverun" "$work/handed.bpf" -- /bin/true

# One that has the number of another here: each devpts counts its own.
cat >"$work/instances.py" <<'END'
import fcntl, os, select, struct, subprocess, sys, time
def terminal(mounted):
    if not mounted: subprocess.check_call(["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "none", "/dev/pts"])
    master = os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(master, 0x40045431, struct.pack("i", 0))  # TIOCSPTLCK
    number = struct.unpack("i", fcntl.ioctl(master, 0x80045430, bytes(4)))[0]  # TIOCGPTN
    return master, os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
same = sys.argv[1] == "same"
terminal(False) if same else None
ours, slave = terminal(same)
theirs = None if same else terminal(False)[0]
subprocess.call(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave)
time.sleep(0.1)
for name, fd in ("ours", ours), ("theirs", theirs):
    if fd and select.select([fd], [], [], 0)[0]: print(name, os.read(fd, 99).decode().strip())
END
for where in same other; do
	expect_output "what is written to a terminal comes out at it, whichever others there are ($where)" "ours text" \
		unshare --mount "$python" "$work/instances.py" $where "$caverun" "$work/handed.bpf" -- echo text
done

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

# --- files at denied places: their descriptors keep the mount they were opened on, which has no covers
bin=$work/bin w=$work/ws
mkdir -p "$bin" "$work/aside/secret"
cp "$caverun" "$bin/caverun"
compile granted "$bin/granted.bpf" <<'END_OF'
profile granted { files { write workspace } }
END_OF
compile denied "$bin/denied.bpf" <<'END_OF'
profile denied { files { write workspace; deny write workspace/.git/config; deny workspace/secret } }
END_OF
compile reading "$bin/reading.bpf" <<'END_OF'
profile reading { files { read workspace; deny write workspace/.git } }
END_OF
compile named "$bin/named.bpf" <<'END_OF'
profile named {
	files { write folder data, optional home/.cache; deny folder data/secret; deny write optional home/.git }
}
END_OF
chmod 755 "$bin" "$bin/caverun"
chmod 644 "$bin"/*.bpf
# from COMMAND POLICY [OPTION…] -- TEXT: a shell in the workspace starts another, which does TEXT, as "$@".
from() {
	from_command=$1 from_policy=$bin/$2.bpf
	shift 2
	from_options=
	while [ "$1" != -- ]; do
		from_options="$from_options $1"
		shift
	done
	# shellcheck disable=SC2086
	set -- "$bin/caverun" $from_options "$from_policy" -- /bin/sh -c "$2"
	if [ "$kind" = user ]; then
		(cd "$w" && exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$from_command" sh "$@")
	else
		(cd "$w" && exec sh -c "$from_command" sh "$@")
	fi
}
anew() {
	rm -rf "$w"
	mkdir -p "$w/.git" "$w/secret" "$w/plain"
	echo original >"$w/.git/config"
	echo hidden >"$w/secret/f"
	printf 'one\ntwo\nthree\n' >"$w/plain/f"
	mkfifo "$w/secret/pipe"
	[ "$kind" = root ] || chown -R 65534:65534 "$w"
}
# keeps NAME COMMAND [POLICY [OPTION…]]: the start is refused, and nothing was written or shown.
keeps() {
	keeps_name="$kind: refused: $1" keeps_command=$2
	shift 2
	[ $# != 0 ] || set -- denied --workspace "$w" --keep-fd 7
	anew
	expect_code "$keeps_name" 125 cave_sandbox_failed from "$keeps_command" "$@" -- \
		'echo evil >/proc/self/fd/7; cat </proc/self/fd/7'
	expect "$keeps_name, with the denial named" \
		"$(grep -c 'descriptor [0-9] leads to a file in what the policy denies (deny' "$work/err")" = 1
	expect "$keeps_name, and all is as it was" \
		"$(cat "$w/.git/config" "$w/secret/f" "$work/out"; grep -c 'hidden\|original' "$work/err")" = "original
hidden
0"
}
# gives NAME TEXT COMMAND POLICY [OPTION…] -- TEXT
gives() {
	gives_name="$kind: $1" gives_text=$2
	shift 2
	anew
	expect_output "$gives_name" "$gives_text" from "$@"
}

# shellcheck disable=SC2016
for kind in root user; do
	chmod 755 "$work/aside"
	[ "$kind" = root ] || chown 65534:65534 "$work/aside"
	gives "control: without a denial the file is opened once more, and written" evil \
		'"$@" <.git/config && cat .git/config' granted --workspace "$w" -- 'echo evil >/proc/self/fd/0'
	gives "control: by its path it is not written" original '"$@" </dev/null 2>/dev/null; cat .git/config' \
		denied --workspace "$w" -- 'echo evil >.git/config'

	set -- denied --workspace "$w"
	keeps "0, for reading what may not be written" '"$@" <.git/config' "$@"
	keeps "0, for both" '"$@" <>.git/config' "$@"
	keeps "1, for writing what may not be written" '"$@" >>.git/config' "$@"
	keeps "0, for reading what is denied whole" '"$@" <secret/f' "$@"
	keeps "1, for writing what is denied whole" '"$@" >>secret/f' "$@"
	keeps "a kept one, for reading" '"$@" 7<.git/config'
	keeps "a kept one, for writing" '"$@" 7>>secret/f'
	keeps "a pipe with a name" '"$@" 7<>secret/pipe'
	keeps "a file that was removed" 'cp secret/f secret/g; exec 7<secret/g; rm secret/g; "$@"'
	keeps "a file that was replaced" \
		'cp .git/config new; exec 7<>.git/config; mv new .git/config; "$@"'
	keeps "one that has a name beside the denials as well" 'ln secret/f plain/g; "$@" 7<secret/f'
	keeps "a folder by name" 'export HOME="${PWD%/*}/aside"; exec 7<secret/f; "$@"' named --folder "data=$w" --keep-fd 7
	keeps "a place in the home" 'export HOME="$PWD"; exec 7>>.git/config; "$@"' \
		named --folder "data=$work/aside" --keep-fd 7
	keeps "for writing, what nothing grants to be written" '"$@" 7>>.git/config' reading --workspace "$w" --keep-fd 7

	anew
	run from '"$@" 2>>secret/f' "$@" -- 'cat </proc/self/fd/2 >&1'
	expect "$kind: refused: 2, for writing" "$status $(cat "$work/out")" = "125 "

	gives "for reading, what nothing grants to be written" original '"$@" <.git/config' reading --workspace "$w" -- \
		'read -r x; echo "$x"'
	gives "a file beside the denials, with its offset" 'one two three ' \
		'{ read -r a; printf "%s " "$a"; "$@"; read -r c; printf "%s " "$c"; } <plain/f' "$@" -- \
		'read -r b; printf "%s " "$b"'
	gives "one beside them is opened once more, and written" evil '"$@" <plain/f; cat plain/f' "$@" -- \
		'echo evil >/proc/self/fd/0'
	gives "one outside of every grant" hidden 'cp secret/f ../aside/f; exec 7<../aside/f; "$@"' "$@" --keep-fd 7 -- \
		'read -r x <&7; echo "$x"'
	gives "one that was removed, and never lay there" hidden \
		'cp secret/f plain/g; exec 7<plain/g; rm plain/g; "$@"' "$@" --keep-fd 7 -- 'read -r x <&7; echo "$x"'
	gives "by the name that is granted, whatever others it has" hidden 'ln secret/f plain/g; "$@" <plain/g' "$@" -- \
		'read -r x; echo "$x"'
	gives "a file in memory" 'in memory' "$python -c '
import os, sys
fd = os.memfd_create(\"x\", os.MFD_ALLOW_SEALING)
os.fchmod(fd, 0o600)
os.write(fd, b\"in memory\\n\")
os.lseek(fd, 0, 0)
os.dup2(fd, 0)
os.execv(sys.argv[1], sys.argv[1:])' \"\$@\"" "$@" -- 'read -r x; echo "$x"'
	gives "what lies in a denial, through a pipe" hidden 'cat secret/f | "$@"' "$@" -- 'read -r x; echo "$x"'
done

# By another mount of the same folder, and by one that is not there any more.
kind=root
mkdir "$work/again"
# shellcheck disable=SC2016
{
	keeps "by another mount" 'exec unshare --mount sh -c '\''mount --bind . ../again; exec 7<../again/secret/f; "$@"'\'' \
		sh "$@"'
	gives "another file by another mount" one \
		'exec unshare --mount sh -c '\''mount --bind . ../again; "$@" <../again/plain/f'\'' sh "$@"' \
		denied --workspace "$w" -- 'read -r x; echo "$x"'
	keeps "by a mount of it alone" \
		'exec unshare --mount sh -c '\''mount --bind secret ../again; exec 7<../again/f; "$@"'\'' sh "$@"'
	keeps "by a mount that was taken away" 'exec unshare --mount sh -c '\''mount --bind . ../again
		exec 7<../again/secret/f; umount -l ../again; "$@"'\'' sh "$@"'
	keeps "by a mount of another namespace" 'exec 7<secret/f; exec unshare --mount "$@"'
	gives "another file by a mount of another namespace" one 'exec <plain/f; exec unshare --mount "$@"' \
		denied --workspace "$w" -- 'read -r x; echo "$x"'
	anew
	expect_code "root: refused: one that something was mounted over" 125 'whose place cannot be known' \
		from 'exec unshare --mount sh -c '\''exec 7<plain/f; mount --bind ../aside/f plain/f; "$@"'\'' sh "$@"' \
		denied --workspace "$w" --keep-fd 7 -- :
}
