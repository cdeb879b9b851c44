#!/bin/sh
# SPDX-License-Identifier: MIT
# Containment without a network: files, processes, signals, capabilities, descriptors, environment.  Everything is
# asked three times: as root, as an ordinary user, and as an ordinary user who gets no user namespace.  Each refusal
# has its control: the same attempt outside the sandbox gets through.
. "$(dirname "$0")/../lib.sh"
need_root

. "$top/tests/kinds.sh"
victim='' server=''
cleanup() {
	for pid in $victim $server $holder; do kill -9 "$pid" 2>/dev/null; done
}

sandboxed() { as "$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- "$@"; }

# What became of the last attempt: "allowed", "refused ERRNO" or "status N".
outcome() {
	found=$(sed -n 's/^.*: \(allowed\|refused [A-Z0-9?]*\)$/\1/p' "$work/out" | tail -n 1)
	echo "${found:-status $status}"
}

fresh() {
	rm -rf "$home/workspace" "$home/outside" "$home/granted"
	mkdir "$home/workspace" "$home/outside" "$home/granted"
	for folder in workspace outside granted; do
		echo text >"$home/$folder/file"
		mkdir "$home/$folder/folder"
		cp "$bin/probe" "$home/$folder/program"
		ln -s "$home/outside/file" "$home/$folder/link"
	done
	[ "$kind" = root ] || chown -hR "$nobody:$nobody" "$home/workspace" "$home/outside" "$home/granted"
}

try() {
	where=$1
	shift
	fresh
	if [ "$where" = inside ]; then
		run sandboxed "$bin/probe" "$@"
	else
		cd "$home/workspace" || return
		run as "$bin/probe" "$@"
		cd / || return
	fi
	outcome
}

# refused ATTEMPT…: outside it gets through, inside it does not.
refused() {
	control=$(try outside "$@")
	got=$(try inside "$@")
	case $control/$got in
	allowed/refused* | 'status 0/refused'*) ok "$kind: refused: $(label "$@")" ;;
	allowed/* | 'status 0'/*) not_ok "$kind: refused: $(label "$@")" "inside: $got; $(cat "$work/err")" ;;
	'refused ENOSYS'/refused*) skip "$kind: refused: $(label "$@")" "this kernel does not have it" ;;
	*) not_ok "$kind: control: $(label "$@")" "outside: $control" ;;
	esac
}

# never ATTEMPT…: inside it is refused with EPERM or ENOSYS, whatever it does outside.
never() {
	got=$(try inside "$@")
	case $got in
	'refused EPERM' | 'refused ENOSYS') ok "$kind: refused: $(label "$@")" ;;
	*) not_ok "$kind: refused: $(label "$@")" "inside: $got; $(cat "$work/err")" ;;
	esac
}

# blocked ATTEMPT…: inside it does not get through; there is no control.
blocked() {
	got=$(try inside "$@")
	case $got in
	refused*) ok "$kind: refused: $(label "$@")" ;;
	*) not_ok "$kind: refused: $(label "$@")" "inside: $got; $(cat "$work/err")" ;;
	esac
}

# allowed ATTEMPT…: it gets through inside.
allowed() {
	got=$(try inside "$@")
	case $got in
	allowed) ok "$kind: works: $(label "$@")" ;;
	*) not_ok "$kind: works: $(label "$@")" "inside: $got; $(cat "$work/err")" ;;
	esac
}

# The attempt without the test's own folder and the victim's number.
label() { echo "$*" | sed "s#$home#~#g; s/\b$victim\b/VICTIM/g"; }

files() {
	w=$home/workspace o=$home/outside g=$home/granted
	allowed read "$w/file"
	allowed write "$w/file"
	allowed create "$w/new"
	[ "$kind" = bare ] || allowed truncate "$w/file"
	allowed unlink "$w/file"
	allowed rename "$w/file" "$w/other"
	allowed link "$w/file" "$w/other"
	allowed symlink /etc/shadow "$w/other"
	allowed mkdir "$w/other"
	allowed rmdir "$w/folder"
	allowed list "$w"
	allowed read "$g/file"
	allowed list "$g"
	allowed write /dev/null
	allowed read /etc/hosts
	allowed read /dev/urandom
	refused read "$o/file"
	refused list "$o"
	refused read "$w/link"
	refused write "$w/link"
	refused read "/proc/self/root$o/file"
	refused read "/proc/self/cwd/../outside/file"
	refused link "$o/file" "$w/other"
	refused rename "$o/file" "$w/other"
	refused rename "$w/file" "$o/other"
	refused rename "$w/folder" "$o/other"
	for f in "$o" "$g"; do
		refused write "$f/file"
		refused truncate "$f/file"
		refused create "$f/new"
		refused create-unnamed "$f"
		refused unlink "$f/file"
		refused rename "$f/file" "$f/other"
		refused link "$f/file" "$f/other"
		refused symlink x "$f/other"
		refused mkdir "$f/other"
		refused rmdir "$f/folder"
		refused mkfifo "$f/other"
		for call in chmod fchmodat fchmodat2 chown lchown fchownat utimes utimensat utime futimesat setxattr \
			lsetxattr chmod-by-name chown-by-name empty-readonly; do
			refused $call "$f/file"
		done
	done
	refused fchmod "$g/file"
	refused file-flags "$g/file"
	refused read-by-name "$o/file"
	allowed read-by-name "$g/file"
	for call in chmod fchmod fchmodat chown lchown fchownat utimes utimensat setxattr; do
		if [ "$kind" = bare ]; then never $call "$w/file"; else allowed $call "$w/file"; fi
	done
	blocked mkdevice "$w/device"
	[ "$kind" = root ] || return 0
	for file in /etc/hosts /proc/sys/vm/overcommit_memory /sys/kernel/mm/transparent_hugepage/enabled; do
		refused write $file
	done
	refused write "$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)/cgroup.procs"
	refused read /etc/shadow
}

# No set-id bit can be made, not even on a file of one's own.
setid() {
	w=$home/workspace
	for call in chmod fchmod fchmodat fchmodat2 high; do refused setid-$call "$w/file"; done
	for call in open openat openat2 creat mknod mknodat; do refused setid-$call "$w/new"; done
	refused setid-unnamed "$w" "$w/new"
	for call in mkdir mkdirat; do blocked setid-$call "$w/new"; done
}

processes() {
	for call in kill tgkill tkill sigqueue pidfd-signal; do refused $call "$victim" 0; done
	for call in ptrace vm-read vm-write prlimit prlimit-set affinity scheduler sched-param sched-attr \
		priority io-priority kcmp pidfd-getfd; do
		refused $call "$victim"
	done
	allowed prlimit-self
	allowed affinity 0
	refused proc-read "$victim" environ
	refused proc-read "$victim" mem
	blocked proc-read 1 environ
	blocked proc-read $$ environ
	allowed proc-read self maps
	refused death-signal
	refused dumpable 0
	for signal in 0 15; do
		blocked kill "$victim" $signal
		blocked tgkill "$victim" $signal
		blocked tkill "$victim" $signal
		blocked sigqueue "$victim" $signal
		blocked tgsigqueue "$victim" $signal
		blocked pidfd-signal "$victim" $signal
		blocked proc-signal "$victim" $signal
	done
	# The kernel answers kill(-1) with success even if it refused every single one.
	[ "$kind" = root ] || try inside kill -1 15 >/dev/null
	try inside setown "$victim" 15 >/dev/null
	expect "$kind: the victim of all signals lives" -d "/proc/$victim"
}

children() {
	for call in fork libc-fork vfork 'clone 0' 'clone 0x4000' clone-memory 'clone 0x100000000' 'clone3 0'; do
		# shellcheck disable=SC2086
		refused $call
	done
	refused spawn /bin/true
	for call in exec exec-at thread-exec exec-memory exec-memory-proc; do refused $call "$bin/probe"; done
	allowed thread
	for flag in 0x80 0x20000 0x02000000 0x04000000 0x08000000 0x10000000 0x20000000 0x40000000; do
		never unshare $flag
		[ $flag = 0x80 ] || never clone $flag
		never clone3 $flag
	done
	never setns-nothing
	[ "$kind" = bare ] || refused map-exec "$home/workspace/program"
}

kernel() {
	for call in shmget shmat semget msgget mq-open add-key request-key keyctl userfaultfd perf-event-open \
		io-uring-setup io-uring-enter io-uring-register bpf mount umount pivot-root chroot open-tree move-mount \
		fsopen fspick fsmount fsconfig name-to-handle open-by-handle init-module finit-module delete-module \
		kexec-load swapon swapoff sethostname setdomainname clock-settime settimeofday ioperm iopl acct quotactl \
		syslog fanotify-init vhangup move-pages migrate-pages process-madvise process-mrelease; do
		never $call
		[ "$kind" = root ] || continue
		control=$(try outside $call)
		expect "$kind: control: $call is not refused with EPERM outside" "$control" != 'refused EPERM'
	done
	never mount-writable /
	never remount-writable /
	for call in x32 x32-socket past-table negative; do
		got=$(try inside $call)
		expect "$kind: $call is no call here" "$got" = 'refused ENOSYS'
	done
	control=$(try outside int80)
	got=$(try inside int80)
	expect "$kind: control: int 0x80 works outside" "$control" = allowed
	expect "$kind: a foreign architecture ends the process" "$got" = 'status 159'
}

sockets() {
	mkdir -p "$home/sockets"
	chmod 777 "$home/sockets"
	rm -f "$home/sockets"/*
	"$python" "$top/tests/tools/unix_server.py" "$home/sockets" "cave-$$-$kind" >"$home/ready" &
	server="$server $!"
	until grep -qs ready "$home/ready"; do sleep 0.05; done
	for type in stream seqpacket dgram; do
		refused unix-$type "$home/sockets/$type"
		refused unix-$type "@cave-$$-$kind-$type"
	done
	for name in "$home/sockets/dgram" "@cave-$$-$kind-dgram"; do
		refused unix-send "$name"
		refused pair-dgram-reaim "$name"
		refused pair-flags-reaim "$name"
		refused pair-raw-reaim "$name"
		blocked pair-stream-reaim "$name"
	done
	refused unix-listen "$home/workspace/socket"
	refused unix-listen "@cave-$$-$kind-new"
	allowed pair-stream
	allowed pair-seqpacket
	for socket in '2 1 0' '2 2 0' '10 1 0' '10 2 0' '16 3 0' '40 1 0'; do
		# shellcheck disable=SC2086
		refused socket $socket
	done
	for socket in '2 3 1' '17 3 0x300' '38 5 0' '2 1 262' '29 3 1'; do
		# shellcheck disable=SC2086
		blocked socket $socket
	done
	refused listen-unbound 4
}

# The lines that reports print, without the results.
report() { sed '/: allowed$/d' "$work/out" | sort; }

state() {
	fresh
	base='LANG=C.UTF-8
LC_ALL=C.UTF-8
PATH=/usr/local/bin:/usr/bin:/bin
TZ=UTC'
	run as env -i PATH="$PATH" HOME=/root FOO=bar AWS_KEY=1 LD_LIBRARY_PATH=/x OPENAI_API_KEY=2 \
		"$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- "$bin/probe" environment
	expect "$kind: the environment is built from nothing" "$(report)" = "$base"
	run as env -i PATH="$PATH" LANG=de_DE.UTF-8 LC_ALL=C TZ=Europe/Berlin TERM=xterm ANTHROPIC_API_KEY=key=1 FOO=bar \
		"$bin/caverun" --workspace "$home/workspace" "$home/env.bpf" -- "$bin/probe" environment
	expect "$kind: what is named reaches it" "$(report)" = "ANTHROPIC_API_KEY=key=1
HOME=$home/workspace
LANG=de_DE.UTF-8
LC_ALL=C
NODE_ENV=production
PATH=/usr/local/bin:/usr/bin:/bin
TERM=xterm
TZ=Europe/Berlin"
	expect_code "$kind: a credential that is not there" 125 cave_sandbox_credential_missing \
		as env -i PATH="$PATH" "$bin/caverun" --workspace "$home/workspace" "$home/env.bpf" -- "$bin/probe" environment
	expect "$kind: then nothing was started" -z "$(cat "$work/out")"
	run sandboxed "$bin/probe" capabilities
	expect "$kind: no capability" "$(report)" = \
		"effective 000000000 permitted 000000000 inheritable 000000000 ambient 0"
	if [ "$kind" = root ]; then
		run setpriv --inh-caps +chown --ambient-caps +chown -- "$bin/probe" capabilities
		expect "control: one is ambient" "$(report | grep -o 'ambient 1')" = "ambient 1"
		run setpriv --inh-caps +chown --ambient-caps +chown -- \
			"$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- "$bin/probe" capabilities
		expect "none that is inheritable and ambient either" "$(report)" = \
			"effective 000000000 permitted 000000000 inheritable 000000000 ambient 0"
	fi
	run sandboxed "$bin/probe" no-new-privs
	expect "$kind: no new privileges" "$(report)" = "no_new_privs 1"
	run as "$bin/probe" ids
	ids=$(report)
	run sandboxed "$bin/probe" ids
	expect "$kind: the ids stay" "$(report)" = "$ids"
	run sandboxed grep -E '^Sig(Blk|Ign)' /proc/self/status
	expect "$kind: signals are as without it" "$(cat "$work/out")" = "$(grep -E '^Sig(Blk|Ign)' /proc/self/status)"
	run sandboxed "$bin/probe" folder
	expect "$kind: the working folder is the workspace" "$(report)" = "$home/workspace"
	: >"$home/workspace/marker"
	run sandboxed "$bin/probe" create ./relative
	expect "$kind: and it is writable by a relative name" -e "$home/workspace/relative"
}

# What may be started: nothing from a write grant, and no loader starts what could not be started itself.
programs() {
	fresh
	for loader in /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.*; do [ -e "$loader" ] && break; done
	cp /bin/true "$home/workspace/true"
	expect_status "$kind: control: a program in the workspace runs outside" 0 as "$home/workspace/true"
	expect_status "$kind: a program in a write grant is not started" 126 sandboxed "$home/workspace/true"
	expect_status "$kind: control: the loader starts it outside" 0 as "$loader" "$home/workspace/true"
	[ "$kind" = bare ] ||
		expect_status "$kind: nor is it by the loader" 127 sandboxed "$loader" "$home/workspace/true"
	printf '#!/usr/bin/env sh\necho "$@"\n' >"$home/granted/by-env"
	printf '#!/bin/sh -u\necho "$@"\n' >"$home/granted/by-path"
	chmod 755 "$home/granted/by-env" "$home/granted/by-path"
	expect_output "$kind: a script whose interpreter env finds" 'a b' sandboxed "$home/granted/by-env" a b
	expect_output "$kind: a script with an argument for its interpreter" 'a b' sandboxed "$home/granted/by-path" a b
	"$python" - /bin/echo "$home/granted/far" <<'END'
import struct, sys
image = bytearray(open(sys.argv[1], "rb").read())
(table,) = struct.unpack_from("<Q", image, 32)
while struct.unpack_from("<I", image, table)[0] != 3:  # PT_INTERP
    table += 56
at, size = struct.unpack_from("<Q", image, table + 8)[0], struct.unpack_from("<Q", image, table + 32)[0]
struct.pack_into("<Q", image, table + 8, len(image))
open(sys.argv[2], "wb").write(image + image[at:at + size])
END
	chmod 755 "$home/granted/far"
	expect_output "$kind: a program that names its loader at its end" 'a b' sandboxed "$home/granted/far" a b
	head -c 400 /bin/echo >"$home/granted/cut"
	chmod 755 "$home/granted/cut"
	expect_status "$kind: one that ends before it has named it" 126 sandboxed "$home/granted/cut"
}

descriptors() {
	fresh
	run as sh -c 'exec "$@" <&-' sh "$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- sh -c \
		'[ ! -e /proc/self/fd/0 ] || ! read -r line'
	expect "$kind: a closed standard input stays empty" "$status" = 0
	run sandboxed "$bin/probe" descriptors 7<"$home/outside/file" 8>"$home/outside/log"
	expect "$kind: no descriptor is inherited" "$(report)" = "$(printf 'fd 0\nfd 1\nfd 2')"
	keep() {
		number=$1
		shift
		run as "$bin/caverun" --keep-fd "$number" --workspace "$home/workspace" "$home/p.bpf" -- "$@"
	}
	keep 7 "$bin/probe" descriptors 7<"$home/outside/file" 8>"$home/outside/log"
	expect "$kind: but the one that is kept" "$(report)" = "$(printf 'fd 0\nfd 1\nfd 2\nfd 7')"
	keep 7 "$bin/probe" descriptors 7<"$home/outside"
	expect "$kind: a folder cannot be kept" "$status" = 125
	keep 7 "$bin/probe" descriptors 7</dev/null
	expect "$kind: the null device can" "$status" = 0
	keep 7 "$bin/probe" descriptors 7</dev/zero
	expect "$kind: another device cannot" "$status" = 125
	keep 7 "$bin/probe" descriptors 7<<END
a pipe or a file
END
	expect "$kind: a pipe can" "$status" = 0
	status=0
	as "$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- "$bin/probe" descriptors <"$home" >"$work/out" 2>&1 ||
		status=$?
	expect "$kind: a folder for standard input is refused" "$status" = 125
	run as "$python" -c "import os,sys
os.dup2(os.open(sys.argv[1], os.O_PATH), 7); os.set_inheritable(7,True); os.execv(sys.argv[2],sys.argv[2:])" \
		"$home/outside/file" "$bin/caverun" --keep-fd 7 --workspace "$home/workspace" "$home/p.bpf" -- \
		"$bin/probe" descriptors
	expect "$kind: a descriptor that only names a file cannot be kept" "$status" = 125
	run as "$python" -c "import os,socket,sys
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); os.dup2(s.fileno(),0); os.execv(sys.argv[1],sys.argv[1:])" \
		"$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- "$bin/probe" descriptors
	expect "$kind: a socket for standard input is refused" "$status" = 125
	keep 9 "$bin/probe" descriptors
	expect "$kind: nor what is not open" "$status" = 125
	for socket in 'AF_INET,socket.SOCK_DGRAM' 'AF_INET,socket.SOCK_STREAM' 'AF_UNIX,socket.SOCK_DGRAM' \
		'AF_UNIX,socket.SOCK_STREAM' 'AF_NETLINK,socket.SOCK_RAW'; do
		for number in 0 7; do
			run as "$python" -c "import os,socket,sys
s=socket.socket(socket.$socket); os.dup2(s.fileno(),$number); os.execv(sys.argv[1],sys.argv[1:])" \
				"$bin/caverun" --keep-fd "$number" --workspace "$home/workspace" "$home/p.bpf" -- \
				"$bin/probe" descriptors
			expect "$kind: a lone $socket cannot be kept as $number" "$status" = 125
		done
	done
	run as "$python" -c "import os,socket,sys
a,b=socket.socketpair(); os.dup2(a.fileno(),7); os.set_inheritable(b.fileno(),False); os.execv(sys.argv[1],sys.argv[1:])" \
		"$bin/caverun" --keep-fd 7 --workspace "$home/workspace" "$home/p.bpf" -- "$bin/probe" descriptors
	expect "$kind: a connected unix stream can" "$(report)" = "$(printf 'fd 0\nfd 1\nfd 2\nfd 7')"
}

terminal() {
	for attempt in tiocsti tiocsti-high; do
		run as "$python" "$top/tests/tools/on_pty.py" "$bin/probe" $attempt
		control=$(outcome)
		run as "$python" "$top/tests/tools/on_pty.py" "$bin/caverun" --workspace "$home/workspace" "$home/p.bpf" -- \
			"$bin/probe" $attempt
		expect "$kind: control: $attempt works on a terminal outside" "$control" = allowed
		expect "$kind: refused: $attempt on a terminal" "$(outcome)" = 'refused EPERM'
	done
	never tioclinux
}

suite() {
	kind=$1
	home=$work/$kind
	mkdir "$home"
	fresh
	compile p "$home/p.bpf" <<END
profile contain {
	files { write workspace; read "$home/granted" }
}
END
	compile env "$home/env.bpf" <<END
profile env {
	credentialEnv ANTHROPIC_API_KEY
	env { pass TERM, ABSENT; set NODE_ENV "production"; set HOME workspace }
	files { write workspace }
}
END
	chmod 644 "$home"/*.bpf
	become "$bin/probe" wait 3600000 >/dev/null &
	victim=$!
	sleep 0.2
	run sandboxed "$bin/probe" thread
	expect "$kind: the probe runs" "$(outcome)" = allowed
	files
	setid
	processes
	children
	kernel
	sockets
	state
	programs
	descriptors
	terminal
	kill -9 "$victim"
	wait "$victim" 2>/dev/null
	victim=''
}

for user in $kinds; do
	suite "$user"
done

# As root, kill(-1) is tried in a process namespace of its own, where it could end no more than a bystander.
everybody() {
	run unshare --pid --fork --mount-proc sh -c 'sleep 60 & bystander=$!
"$@" >/dev/null 2>&1
kill -9 "$bystander"
wait "$bystander"
[ $? = 143 ] || echo alive' sh "$@"
}
everybody "$bin/probe" kill -1 15
expect "root: control: kill(-1) reaches a bystander" "$(cat "$work/out")" != alive
everybody "$bin/caverun" --workspace "$work/root/workspace" "$work/root/p.bpf" -- "$bin/probe" kill -1 15
expect "root: refused: kill(-1) of a bystander" "$(cat "$work/out")" = alive
