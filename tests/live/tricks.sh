#!/bin/sh
# SPDX-License-Identifier: MIT
# Tricks with paths while a tool is started, with processes and with programs: what they try comes to nothing, as root and
# as an ordinary user, and beside it stands that the same gets through where it is granted, or outside.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
flipper=''
cleanup() { kill -9 "$holder" ${flipper:+"$flipper"} 2>/dev/null; }

# policy NAME BODY: in the folder of the kind, whose relative paths begin there.
policy() {
	compile "$1" "$home/$1.bpf" <<END
profile $1 {
	$2
}
END
	chmod 644 "$home/$1.bpf"
}
under() {
	name=$1
	shift
	as "$bin/caverun" ${w:+--workspace "$w"} "$home/$name.bpf" -- "$@"
}
own() { [ "$kind" = root ] || chown -hR "$nobody:$nobody" "$@"; }

# --- a path that is another thing each time it is looked at
cat >"$work/flip.py" <<'END'
import ctypes, sys, time
libc, a, b = ctypes.CDLL(None), sys.argv[1].encode(), sys.argv[2].encode()
print("ready", flush=True)
while True:
    libc.renameat2(-100, a, -100, b, 2)  # RENAME_EXCHANGE
    time.sleep(0.0002)
END
# flip A B: exchanges the two until stop_flipping.
flip() {
	"$python" "$work/flip.py" "$1" "$2" >"$work/flipping" &
	flipper=$!
	until grep -qs ready "$work/flipping"; do sleep 0.02; done
}
stop_flipping() {
	kill "$flipper"
	wait "$flipper" 2>/dev/null
	flipper=''
}
# count_starts POLICY: 60 starts of a tool that reads and writes by the path; what came of them, in $work/came: "secret" if
# it got at what lies outside of what the path may name.
count_starts() {
	for _ in $(seq 60); do
		under "$1" "$python" -c "$reach" 2>&1
	done | sed 's/^caverun: .*\[\(.*\)\]$/\1/' | sort | uniq -c | awk '{ print $2 }' >"$work/came"
}
races() {
	w=$work/$kind-w
	out=$work/$kind-out
	reach="
for how in 'r', 'r+':
    for path in '$w/sub/file', '$out/file':
        try: text = open(path, how).read().strip()
        except OSError: continue
        print(text, how) if text == 'secret' or how == 'r+' else print(text)"
	mkdir -p "$w/sub" "$out" "$home/lib"
	echo text >"$w/sub/file"
	echo secret >"$out/file"
	echo text >"$home/lib/file"
	ln -s "../$kind-out" "$w/link"
	ln -s "../$kind-out" "$home/link"
	own "$w" "$out"
	policy below 'files { write workspace/sub }'
	policy relative 'files { read "./lib" }'
	policy control "files { write workspace; write \"$out\" }"
	expect "$kind: control: who may, reaches what is outside" \
		"$(under control "$python" -c "$reach" | sort -u | tr '\n' ' ')" = 'secret r secret r+ text text r+ '

	# Another tool in the same workspace turns a folder into a link, and back.
	flip "$w/sub" "$w/link"
	count_starts below
	stop_flipping
	expect "$kind: a link that comes and goes leads nowhere" -z "$(grep secret "$work/came")"
	expect "$kind: some starts met the folder" -n "$(grep text "$work/came")"
	expect "$kind: and some the link, and were refused" \
		-n "$(grep -x cave_sandbox_source_read_grant_escapes_staging "$work/came")"
	reach=$(echo "$reach" | sed "s#$w/sub/#$home/lib/#") kept=$w w=
	flip "$home/lib" "$home/link"
	count_starts relative
	stop_flipping
	expect "$kind: nor beside the policy" -z "$(grep secret "$work/came")"
	expect "$kind: beside it, some met each" \
		"$(grep -cx 'text\|cave_sandbox_source_read_grant_escapes_staging' "$work/came")" = 2

	w=$kept
	# What is denied is moved away and back, in the moment of the start.
	rm -rf "$w"
	mkdir "$w"
	echo secret >"$w/.env"
	echo text >"$w/other"
	own "$w"
	policy covered 'files { write workspace; deny workspace/.env }'
	reach="import os
for name in os.listdir('.'):
    try: print(open(name).read().strip())
    except OSError: pass"
	expect "$kind: control: outside both are read" "$(cd "$w" && "$python" -c "$reach" | sort | tr '\n' ' ')" = 'secret text '
	flip "$w/.env" "$w/other"
	count_starts covered
	stop_flipping
	# Which of the two is denied is the host's affair at this moment; never is none of them.
	for _ in $(seq 30); do
		flip "$w/.env" "$w/other"
		under covered "$python" -c "$reach" 2>/dev/null | sort -u | wc -l
		stop_flipping
	done | sort | uniq -c | awk '{ print $2 }' >"$work/came"
	expect "$kind: what is denied is denied, whichever it was" "$(sort -n "$work/came" | tail -n 1)" = 1
	rm -rf "$w" "${home:?}/lib" "$home/link"
}

# --- paths in a profile
paths() {
	mkdir -p "$w/in"
	echo text >"$w/file"
	ln -sfn /etc "$home/etc"
	ln -sfn / "$home/root"
	own "$w"
	for path in /proc/self/root/etc /proc/self/cwd /proc/self/fd/0 "/proc/$$/root/etc" "/proc/$$/cwd"; do
		policy magic "files { write workspace; read \"$path\" }"
		expect_status "$kind: control: $path is there" 0 as test -e "$(echo "$path" | sed "s#/proc/$$/#/proc/self/#")"
		run under magic "$bin/probe" read /etc/shells
		expect "$kind: a link of /proc grants nothing: $path" "$(cat "$work/out")" != 'read /etc/shells: allowed'
	done
	policy linked "files { write workspace; read \"$home/etc\" }"
	expect_output "$kind: an ordinary link does" 'read /etc/shells: allowed' under linked "$bin/probe" read /etc/shells
	policy all "files { write workspace; read \"$home/root\" }"
	expect_code "$kind: but not one to the root" 125 cave_sandbox_source_read_root_refused under all true
	for path in "$w/../secret" workspace/../x ./../x "/tmp/../etc"; do
		printf 'profile p { files { write "%s" } }\n' "$path" >"$work/dots.cave"
		expect_status "$kind: .. is refused where it is written: $path" 1 "$cavec" "$work/dots.cave" -o "$work/dots.bpf"
	done
	for path in /proc/self /sys/fs/cgroup /sys/fs/bpf /proc; do
		printf 'profile p { files { write "%s" } }\n' "$path" >"$work/kernel.cave"
		expect_status "$kind: a write grant of the kernel's own: $path" 1 "$cavec" "$work/kernel.cave" -o "$work/k.bpf"
		ln -sfn "$path" "$home/kernel"
		policy kernel "files { write workspace; write \"$home/kernel\" }"
		expect_code "$kind: nor by a link: $path" 125 cave_sandbox_failed under kernel true
	done
	if [ "$kind" = root ]; then
		policy within 'files { write workspace }'
		mkdir "$w/mount"
		for type in proc cgroup2 bpf sysfs tmpfs; do
			# shellcheck disable=SC2016
			run unshare --mount sh -c 'mount -t "$1" none "$0/mount" && shift && exec "$@"' "$w" $type \
				"$bin/caverun" --workspace "$w" "$home/within.bpf" -- true
			wanted=125
			[ $type != tmpfs ] || wanted=0
			expect "$kind: a workspace with a mount in it of $type: $wanted" "$status" = $wanted
		done
		rmdir "$w/mount"
	fi
	policy missing "files { write workspace; read \"$w/none\" }"
	expect_code "$kind: what is missing" 125 cave_sandbox_failed under missing true
	policy missing "files { write workspace; read optional \"$w/none\" }"
	expect_status "$kind: and may be" 0 under missing true
}

# --- more processes than are granted
cat >"$work/more.py" <<'END'
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
PARENT, UNTRACED, IO = 0x8000, 0x800000, 0x80000000
def alive():
    return len([p for p in os.listdir("/proc") if p.isdigit()])
def clone(flags):
    pid = libc.syscall(56, ctypes.c_ulong(flags), None, None, None, None)
    if pid == 0:
        time.sleep(1)
        os._exit(0)
    return pid
def orphans():  # each is the grandchild of one that has gone
    for _ in range(8):
        try: pid = os.fork()
        except BlockingIOError: continue
        if not pid:
            os.setsid()
            try: pid = os.fork()
            except BlockingIOError: os._exit(0)
            if not pid: time.sleep(1)
            os._exit(0)
        os.waitpid(pid, 0)
def chain():  # each makes the next
    for _ in range(8):
        try: pid = os.fork()
        except BlockingIOError: break
        if pid:
            time.sleep(1)
            if os.getpid() != tool: os._exit(0)
            break
def clones(flags):
    for _ in range(8): clone(flags)
def clone3():
    args = (ctypes.c_uint64 * 11)()
    args[4] = 17
    for _ in range(8):
        if libc.syscall(435, args, 88) == 0: time.sleep(1); os._exit(0)
def siblings():  # a child gives its parent more children
    pid = os.fork()
    if not pid:
        clones(PARENT)
        time.sleep(1)
        os._exit(0)
    time.sleep(0.2)
tool = os.getpid()
ways = {"orphans": orphans, "chain": chain, "clone": lambda: clones(17), "silent": lambda: clones(0), "clone3": clone3,
        "untraced": lambda: clones(UNTRACED | 17), "io": lambda: clones(IO | 17), "siblings": siblings}
most = 0
def watch():
    global most
    while True:
        most = max(most, alive())
        time.sleep(0.005)
threading.Thread(target=watch, daemon=True).start()
ways[sys.argv[1]]()
time.sleep(0.3)
if os.getpid() == tool: print(most, flush=True)
os._exit(0)
END
counted() {
	for n in 3 30; do
		policy family$n "files { read \"$work/more.py\"; write workspace }; use <python3>
			childProcess { max-processes $n; execute \"/usr/bin/python3\" }"
	done
	for way in orphans chain clone silent clone3 untraced io siblings; do
		most=4 more=4
		# What is refused whatever there is room for: a library falls back from clone3 to clone.
		case $way in
		clone3 | untraced) most=1 more=0 ;;
		siblings) most=2 more=1 ;;
		esac
		expect_output "$kind: no more processes by $way" $most under family3 "$python" "$work/more.py" $way
		run under family30 "$python" "$work/more.py" $way
		expect "$kind: control: with room there are more" "$(cat "$work/out")" -gt $more
	done
	expect_output "$kind: control: outside each of these calls makes one" 'True True True' as "$python" -c '
import ctypes, os
libc, a = ctypes.CDLL(None), (ctypes.c_uint64 * 11)()
a[4], made = 17, []
for call in (lambda: libc.syscall(435, a, 88), lambda: libc.syscall(56, 0x800011, 0, 0, 0, 0),
            lambda: libc.syscall(56, 0x8011, 0, 0, 0, 0)):
    n = call()
    if not n: os._exit(0)
    made.append(str(n > 0))
print(*made)'
	expect_output "$kind: the tool has nothing of what counts them" '0 1 2' under family3 "$python" -c '
import os
print(*sorted(f for f in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{f}")))'
	expect_output "$kind: nor is the first process in its reach" 'ESRCH-or-refused lives' under family3 "$python" -c '
import os, signal, time
for s in (9, 19):
    try: os.kill(1, s)
    except OSError: pass
for name in ("environ", "mem", "maps"):
    try: open(f"/proc/1/{name}").close(); print("read")
    except OSError: pass
try: os.sched_setaffinity(1, {0}); print("bound")
except OSError: pass
pid = os.fork()
if not pid: os._exit(0)
os.waitpid(pid, 0)
print("ESRCH-or-refused lives")'
	expect_output "$kind: a filter of its own lets no more through" 'a listener of its own: refused; 3' \
		under family3 "$python" -c '
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
prog = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
libc.syscall(317, 1, 0, prog)
print("a listener of its own:", "refused" if libc.syscall(317, 1, 8, prog) < 0 else "made", end="; ")
n = 0
for _ in range(6):
    try:
        if not os.fork(): time.sleep(0.5); os._exit(0)
        n += 1
    except BlockingIOError: pass
print(n)'
}

# --- programs that are not listed
cat >"$work/program.py" <<'END'
import ctypes, os, shutil, sys
libc = ctypes.CDLL(None, use_errno=True)
way, program, loader, folder = sys.argv[1:]
def at(fd):
    libc.syscall(322, fd, b"", (ctypes.c_char_p * 3)(b"probe", b"started-here", None), (ctypes.c_char_p * 1)(None), 0x1000)
    print("not by its descriptor")
    os._exit(3)
def copy(to):
    shutil.copy(program, to)
    os.chmod(to, 0o755)
    return to
def memory():
    fd = os.memfd_create("x", 8)
    os.write(fd, open(program, "rb").read())
    return fd
ways = {
    "path": lambda: os.execv(program, ["probe", "started-here"]),
    "descriptor": lambda: at(os.open(program, os.O_RDONLY)),
    "descriptor-path": lambda: os.execv("/proc/self/fd/%d" % os.open(program, os.O_RDONLY), ["probe", "started-here"]),
    "link": lambda: (os.symlink(program, folder + "/l"), os.execv(folder + "/l", ["probe", "started-here"])),
    "root": lambda: os.execv("/proc/self/root" + program, ["probe", "started-here"]),
    "hard": lambda: (os.link(program, folder + "/h"), os.execv(folder + "/h", ["probe", "started-here"])),
    "copy": lambda: os.execv(copy(folder + "/c"), ["probe", "started-here"]),
    "copy-loader": lambda: os.execv(loader, [loader, copy(folder + "/c"), "started-here"]),
    "copy-tmp": lambda: os.execv(copy(os.environ["TMPDIR"] + "/c"), ["probe", "started-here"]),
    "copy-tmp-loader": lambda: os.execv(loader, [loader, copy(os.environ["TMPDIR"] + "/c"), "started-here"]),
    "copy-shm": lambda: os.execv(copy("/dev/shm/c"), ["probe", "started-here"]),
    "copy-shm-loader": lambda: os.execv(loader, [loader, copy("/dev/shm/c"), "started-here"]),
    "memory": lambda: at(memory()),
    "memory-path": lambda: os.execv("/proc/self/fd/%d" % memory(), ["probe", "started-here"]),
    "script": lambda: (open(folder + "/s", "w").write(f"#!{program} started-here\n"), os.chmod(folder + "/s", 0o755),
                       os.execv(folder + "/s", ["s"])),
}
for name in ("l", "h", "c", "s"):
    try: os.unlink(folder + "/" + name)
    except OSError: pass
try: ways[way]()
except OSError as e: print(os.strerror(e.errno)); os._exit(3)
END
listed() {
	for loader in /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.*; do [ -e "$loader" ] && break; done
	cp /usr/bin/echo "$home/program"
	chmod 755 "$home/program"
	files="read \"$home/program\", \"$work/program.py\"; write workspace, tmp; shm"
	policy listed "use <python3>; files { $files }
		childProcess { max-processes 2; execute \"/usr/bin/python3\" }"
	policy all "use <python3>; files { $files; execute workspace, tmp, \"$home/program\" }
		childProcess { max-processes 2; execute \"/usr/bin/python3\" }"
	for way in path descriptor descriptor-path link root hard copy copy-loader copy-tmp copy-tmp-loader copy-shm \
		copy-shm-loader memory memory-path script; do
		case $way in
		*loader) wanted=127 ;; # its own
		*) wanted=3 ;;
		esac
		run under listed "$python" "$work/program.py" $way "$home/program" "$loader" "$w"
		expect "$kind: a program that is not listed is not started by $way" \
			"$status $(grep -c started-here "$work/out")" = "$wanted 0"
		case $way in
		*shm* | hard | descriptor | memory* | script) continue ;;
		esac
		run under all "$python" "$work/program.py" $way "$home/program" "$loader" "$w"
		expect "$kind: control: one that is, is, by $way" "$(grep -c started-here "$work/out")" = 1
	done
}

# What remains: the loader, which must be startable, maps what is readable, and what a tool writes into memory.  It is under
# the same policy as all else.
loaded() {
	cp /bin/cat "$home/program"
	echo secret >"$home/secret"
	policy loaded "use <python3>; files { read \"$work/program.py\", \"$home/program\"; write workspace }
		childProcess { max-processes 2; execute \"/usr/bin/python3\" }"
	run under loaded "$python" -c '
import os, sys
try: fd = os.memfd_create("x", 8)
except OSError: sys.exit(5)
os.write(fd, open(sys.argv[2], "rb").read())
os.execv(sys.argv[1], [sys.argv[1], "/proc/self/fd/%d" % fd, sys.argv[3]])' "$loader" "$home/program" "$home/secret"
	if [ "$status" = 5 ]; then
		skip "$kind: what the loader maps from memory" "this kernel has no MFD_NOEXEC_SEAL"
		return
	fi
	expect "$kind: what the loader maps from memory reads no more" \
		"$status $(cat "$work/out")$(grep -c 'secret: Permission denied' "$work/err")" = '1 1'
	expect_output "$kind: control: outside it is read" secret as "$loader" "$home/program" "$home/secret"
}

for kind in root user; do
	home=$work/$kind
	mkdir -p "$home"
	races
	w=$home/w
	mkdir -p "$w"
	own "$w"
	paths
	counted
	listed
	loaded
done
