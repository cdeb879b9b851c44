#!/bin/sh
# SPDX-License-Identifier: MIT
# What an attacker tried on the runtime itself: each attempt is refused, and beside it stands what must go on working.
. "$(dirname "$0")/../lib.sh"
# In a mount namespace of its own: some attempts mount.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS:-}" ]; then
	OWN_MOUNTS=1 exec unshare --mount "$0"
fi
need_root

mkdir "$work/w" "$work/bin"
cp "$caverun" "$build/cave-load" "$work/bin"
cp "$probe" "$work/bin/probe"
compile plain "$work/plain.bpf" <<'END_OF_PROFILE'
profile plain { }
END_OF_PROFILE
compile write "$work/write.bpf" <<'END_OF_PROFILE'
profile write { files { write workspace } }
END_OF_PROFILE
compile net "$work/net.bpf" <<'END_OF_PROFILE'
profile net { network { allow tcp 127.0.0.1 port 1 } }
END_OF_PROFILE

# --- the caller's own network programs
hierarchy=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)
group=$hierarchy/cave-attacks-$$
pins=/sys/fs/bpf/cave-attacks-$$
cleanup() {
	rm -rf "$pins"
	within "$caverun" --forget --all 2>/dev/null
	rmdir "$group" 2>/dev/null
}
mkdir "$group"
bpftool prog loadall "$work/net.bpf" "$pins" >/dev/null 2>&1
pin=$(find "$pins" -name '*connect4*')
# shellcheck disable=SC2016
within() { sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }
expect_status "in a group without programs a network grant starts" 0 within "$caverun" "$work/net.bpf" -- "$probe" ids
bpftool cgroup attach "$group" connect4 pinned "$pin" override
expect_code "a program that the tool's own would switch off refuses the start" 125 \
	cave_sandbox_os_network_isolation_unavailable within "$caverun" "$work/net.bpf" -- "$probe" ids
expect "and the hook is named" -n "$(grep cgroup/connect4 "$work/err")"
bpftool cgroup detach "$group" connect4 pinned "$pin"
bpftool cgroup attach "$group" connect4 pinned "$pin" multi
expect_status "one that stays in force beside it does not" 0 within "$caverun" "$work/net.bpf" -- "$probe" ids

# --- a tool that outlives the runtime
expect_code "another user without the right to kill its processes is refused" 125 cave_sandbox_failed \
	setpriv --bounding-set=-kill "$caverun" --user nobody "$work/plain.bpf" -- /bin/true
expect_status "root itself is not" 0 setpriv --bounding-set=-kill "$caverun" --user root "$work/plain.bpf" -- /bin/true
expect_status "nor another user with it" 0 "$caverun" --user nobody "$work/plain.bpf" -- /bin/true
for ids in '--ruid=65534' '--euid=65534' '--rgid=65534' '--egid=65534'; do
	expect_code "$ids alone, with which an exec clears the parent-death signal, is refused" 125 cave_sandbox_failed \
		setpriv "$ids" --keep-groups "$work/bin/caverun" "$work/plain.bpf" -- /bin/true
done
expect_status "an ordinary user is not" 0 \
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/bin/caverun" "$work/plain.bpf" -- /bin/true

# --- artefacts that no compiler writes
mkdir "$work/x..y"
compile own "$work/own.bpf" <<END_OF_PROFILE
profile own { files { read "/proc/self/abc/d", "$work/x..y" } }
END_OF_PROFILE
forge() { "$python" "$top/tests/tools/forge.py" "$@"; }
forge "$work/own.bpf" "$work/forged.bpf" path /proc/self/abc/d /proc/self/../..
expect_code "a path of /proc/self that leads out of it is refused" 125 cave_sandbox_policy_invalid \
	"$caverun" "$work/forged.bpf" -- /bin/cat /etc/shadow
forge "$work/own.bpf" "$work/forged.bpf" path /proc/self/abc/d /proc/self/statm
expect_status "a forged artefact with another path starts" 0 "$caverun" "$work/forged.bpf" -- /bin/true

# --- the lock of a run's control group
within "$caverun" "$work/net.bpf" -- "$probe" wait 2000 >"$work/here" &
for _ in $(seq 100); do grep -qs here "$work/here" && break; sleep 0.02; done
run_group=$(find "$group" -mindepth 1 -type d)
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
expect "the run has a group" -d "$run_group"
expect_status "whose lock an ordinary user cannot take" 66 as_nobody flock --nonblock "$run_group" true
expect_status "as one can that of the group around it" 0 as_nobody flock --nonblock "$group" true
wait

# --- signals that the kernel sends to the runtime alone
cat >"$work/alarm.py" <<'END_OF_SCRIPT'
import os, signal, sys
signal.setitimer(signal.ITIMER_REAL, 0.3)
os.execv(sys.argv[1], sys.argv[1:])
END_OF_SCRIPT
alarm() { "$python" "$work/alarm.py" "$@"; }
expect_status "an alarm ends a program without the runtime" 142 alarm /bin/sleep 3
expect_status "and with it" 142 alarm "$caverun" "$work/plain.bpf" -- /bin/sleep 3

# --- the policy, or a program, in a write grant by another path
mkdir -p "$work/b/work/sub" "$work/b/pol" "$work/b/own"
cp "$work/write.bpf" "$work/b/work/p.bpf"
cp "$work/write.bpf" "$work/b/work/sub/p.bpf"
cp "$work/write.bpf" "$work/b/own/p.bpf"
cp /bin/true "$work/b/work/sub/true"
cp /bin/true "$work/b/own/true"
bound() { "$caverun" --workspace "$work/b/work" "$work/b/pol/p.bpf" -- "$@"; }
mount --bind "$work/b/own" "$work/b/pol"
expect_status "a policy in a folder that is mounted twice starts" 0 bound "$work/b/pol/true"
for folder in work work/sub; do
	umount "$work/b/pol"
	mount --bind "$work/b/$folder" "$work/b/pol"
	expect_code "but not if it lies in the workspace ($folder)" 125 "covers the policy itself" bound /bin/true
done
mount --bind "$work/b/own/p.bpf" "$work/b/pol/p.bpf"
expect_status "a program in the workspace, mounted elsewhere, is not executed" 126 bound "$work/b/pol/true"
expect_status "one beside it is" 0 bound "$work/b/own/true"
umount "$work/b/pol/p.bpf" "$work/b/pol"
mount -t tmpfs none "$work/b/work/sub"
cp "$work/write.bpf" "$work/b/work/sub/p.bpf"
mount --bind "$work/b/work/sub" "$work/b/pol"
expect_code "nor if it lies on what is mounted in the workspace" 125 "covers the policy itself" bound /bin/true
umount "$work/b/pol" "$work/b/work/sub"

# --- a policy that no path leads to
mkdir "$work/lib"
compile relative "$work/relative.bpf" <<'END_OF_PROFILE'
profile relative { files { read "lib" } }
END_OF_PROFILE
cat >"$work/memory.py" <<'END_OF_SCRIPT'
import os, sys
fd = os.memfd_create("policy", 0)
os.write(fd, open(sys.argv[1], "rb").read())
os.execv(sys.argv[2], [sys.argv[2], f"/proc/self/fd/{fd}", *sys.argv[3:]])
END_OF_SCRIPT
from_memory() { "$python" "$work/memory.py" "$1" "$caverun" -- /bin/true; }
expect_status "a policy in memory starts" 0 from_memory "$work/plain.bpf"
expect_code "unless it has paths relative to its file" 125 "relative to its file" from_memory "$work/relative.bpf"
expect_status "which is fine for a file" 0 "$caverun" "$work/relative.bpf" -- /bin/true

# --- ways to a start without the mount namespace, or outside of it
mkdir "$work/gone" "$work/mnt"
# shellcheck disable=SC2016
expect_code "a workspace that cannot be found again refuses the start" 125 "write grants" \
	sh -c 'cd "$0/gone" && rmdir "$0/gone" && exec "$@"' "$work" "$caverun" --workspace . "$work/write.bpf" -- /bin/true
mkdir "$work/gone"
# shellcheck disable=SC2016
expect_status "one that is there does not" 0 \
	sh -c 'cd "$0/gone" && exec "$@"' "$work" "$caverun" --workspace . "$work/write.bpf" -- /bin/true
# shellcheck disable=SC2016
detached() { sh -c 'mount -t tmpfs none "$0" && cd "$0" && umount -l "$0" && exec "$@"' "$work/mnt" "$@"; }
expect_code "a current directory on a detached mount is refused" 125 cave_sandbox_failed \
	detached "$caverun" "$work/plain.bpf" -- /bin/true
expect_status "unless another is named" 0 detached "$caverun" --chdir / "$work/plain.bpf" -- /bin/true

# --- a pipe whose owner is somebody else: the kernel would signal that process for the tool
cat >"$work/owned.py" <<'END_OF_SCRIPT'
import fcntl, os, subprocess, sys
inside, outside = os.pipe()
fcntl.fcntl(inside, fcntl.F_SETOWN, os.getpid())
sys.exit(subprocess.call(sys.argv[1:], stdin=inside))
END_OF_SCRIPT
cat >"$work/async.py" <<'END_OF_SCRIPT'
import fcntl, os
FIOASYNC = 0x5452
for attempt in (lambda: fcntl.fcntl(0, fcntl.F_SETSIG, 0), lambda: fcntl.ioctl(0, FIOASYNC, b"\1\0\0\0"),
                lambda: fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC), lambda: fcntl.fcntl(0, fcntl.F_SETFL, 0)):
    try:
        attempt()
        print("done", end=" ")
    except OSError as e:
        print(os.strerror(e.errno), end=", ")
END_OF_SCRIPT
expect_output "no descriptor can be made to signal its owner" \
	"Operation not permitted, Operation not permitted, Operation not permitted, done " \
	"$python" "$work/owned.py" "$caverun" --script "$work/async.py" "$work/plain.bpf" -- "$python"
expect_output "outside of the sandbox it can" "done done done done " \
	"$python" "$work/owned.py" "$python" "$work/async.py"

# --- a name of the host's unix sockets, taken with a connected pair
cat >"$work/squat.py" <<'END_OF_SCRIPT'
import os, socket
for attempt in (lambda: socket.socketpair()[0].bind("\0cave-attacks-%d" % os.getppid()),
                lambda: socket.socket(socket.AF_INET).bind(("", 0)), lambda: socket.socket(socket.AF_INET6).bind(("", 0))):
    try:
        attempt()
        print("done", end=" ")
    except OSError as e:
        print(os.strerror(e.errno), end=", ")
END_OF_SCRIPT
expect_output "a connected pair takes no name" "Operation not permitted, done done " \
	"$caverun" --script "$work/squat.py" "$work/net.bpf" -- "$python"
expect_output "outside of the sandbox it does" "done done done " "$python" "$work/squat.py"

# --- what is missing, and who says so
compile absent "$work/absent.bpf" <<'END_OF_PROFILE'
profile absent { files { read "/proc/self/nonexistent" } }
END_OF_PROFILE
compile present "$work/present.bpf" <<'END_OF_PROFILE'
profile present { files { base none; read "/proc/self/status" } }
END_OF_PROFILE
expect_code "a missing path of /proc/self refuses the start" 125 /proc/self "$caverun" "$work/absent.bpf" -- /bin/true
expect_status "one that is there does not" 0 "$caverun" "$work/present.bpf" -- "$probe" ids
printf '#!/usr/bin/env no-such-program\n' >"$work/absent"
printf '#!/usr/bin/env sh\nexit 3\n' >"$work/there"
chmod 755 "$work/absent" "$work/there"
expect_status "a program that a script's env does not find is 127, as without the runtime" 127 \
	"$caverun" "$work/plain.bpf" -- "$work/absent"
expect_status "one that it finds is executed" 3 "$caverun" "$work/plain.bpf" -- "$work/there"
forge "$work/plain.bpf" "$work/forged.bpf" answer
expect_code "a filter that answers execve in the kernel's place is a failed start" 125 cave_sandbox_failed \
	"$caverun" "$work/forged.bpf" -- /bin/true

# --- a fresh workspace is left by nothing
mkdir "$work/tmp"
compile large "$work/large.bpf" <<'END_OF_PROFILE'
profile large { files { write workspace }; env { pass LARGE_A, LARGE_B, LARGE_C } }
END_OF_PROFILE
large=$(head -c 120000 /dev/zero | tr '\0' x)
left() { find "$work/tmp" -mindepth 1 | wc -l; }
refused=0 started=0
for kib in $(seq 200 40 1400); do
	TMPDIR=$work/tmp LARGE_A=$large LARGE_B=$large LARGE_C=$large \
		prlimit --as=$((kib * 1024)) "$caverun" "$work/large.bpf" -- "$probe" ids >"$work/out" 2>"$work/err"
	case $? in
	125) grep -q 'out of memory' "$work/err" && refused=$((refused + 1)) ;;
	0) started=$((started + 1)) ;;
	esac
done
expect "some starts had too little memory" "$refused" -gt 3
expect "and none of them left its workspace" "$(left)" = 0
for signal in TERM ABRT PIPE; do
	: >"$work/here"
	TMPDIR=$work/tmp "$caverun" "$work/write.bpf" -- "$probe" wait 5000 >"$work/here" &
	pid=$!
	for _ in $(seq 100); do grep -qs here "$work/here" && break; sleep 0.02; done
	expect "there is a workspace" "$(left)" = 1
	kill -$signal $pid
	wait $pid 2>/dev/null
	expect "SIG$signal to the runtime leaves none" "$(left)" = 0
done
: >"$work/here"
TMPDIR=$work/tmp "$caverun" "$work/write.bpf" -- "$probe" wait 600 >"$work/here" 2>"$work/err" &
pid=$!
for _ in $(seq 100); do grep -qs here "$work/here" && break; sleep 0.02; done
busy=$(find "$work/tmp" -mindepth 1)
mount -t tmpfs none "$busy"
wait $pid
expect "one that cannot be removed is named" -n "$(grep "$busy is left behind" "$work/err")"
umount "$busy"
rmdir "$busy"

# --- a script is a file
expect_code "a folder for a script is refused" 125 "no regular file" \
	"$caverun" --script "$work" "$work/plain.bpf" -- /bin/true
