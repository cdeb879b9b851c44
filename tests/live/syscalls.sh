#!/bin/sh
# SPDX-License-Identifier: MIT
# The lines of a profile's syscalls block, in the kernel: conditions, errors of their own, kill, logged.
. "$(dirname "$0")/../lib.sh"

# call LINES PYTHON: runs PYTHON under a profile with these lines; `call(NUMBER, ARGS…)` gives 0 or the error's name.
call() {
	printf 'profile p {\n    syscalls {\n%s\n    }\n}\n' "$1" >"$work/p.cave"
	if ! "$cavec" "$work/p.cave" -o "$work/p.bpf" 2>"$work/err"; then
		not_ok "compile: $1" "$(cat "$work/err")"
		return
	fi
	run "$caverun" "$work/p.bpf" -- "$python" -c "
import ctypes, errno, os, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    f = getattr(libc, name)
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return 0 if f(*args) >= 0 else errno.errorcode[ctypes.get_errno()]
$2"
}
# gives NAME LINES EXPECTED PYTHON
gives() {
	call "$2" "$4"
	if [ "$status $(tr '\n' ' ' <"$work/out")" = "0 $3 " ]; then
		ok "$1"
	else
		not_ok "$1" "status $status, printed '$(cat "$work/out")', expected '$3'; $(cat "$work/err")"
	fi
}

gives "without a line" '' 'EPERM EPERM' 'print(call("personality", 0), call("sethostname", b"", 0))'
gives "a condition is what it says" 'allow personality(persona in { 0, 0xffffffff })' '0 0 EPERM EPERM' \
	'print(call("personality", 0), call("personality", 0xffffffff), call("personality", 8), call("personality", -2))'
gives "an error of its own" 'deny uname with errno EIO; deny getpriority(which == 1) with errno ESRCH' 'EIO ESRCH 0' '
buf = ctypes.create_string_buffer(400)
print(call("uname", buf), call("getpriority", 1, 0), call("getpriority", 0, 0))'
gives "a mask" 'deny madvise(advice & 0x4 == 0x4) with errno EDOM' '0 EDOM' '
import mmap
m = mmap.mmap(-1, 4096); a = ctypes.addressof(ctypes.c_char.from_buffer(m))
print(*(call("madvise", ctypes.c_void_p(a), ctypes.c_size_t(4096), advice) for advice in (0, 4)))'
gives "signed arguments" 'deny lseek(offset < 0) with errno ERANGE' 'ERANGE 0 EINVAL' '
fd = os.open("/etc/hosts", os.O_RDONLY)
def seek(o, w):
    try: os.lseek(fd, o, w); return 0
    except OSError as e: return errno.errorcode[e.errno]
print(seek(-1, 1), seek(1, 0), seek(2**62, 9))'
gives "no executable memory that can be written" \
	'deny mmap(prot & (PROT_WRITE | PROT_EXEC) == PROT_WRITE | PROT_EXEC); deny mprotect(prot & PROT_EXEC)' 'refused 0' '
import mmap
try: mmap.mmap(-1, 4096, prot=7); print("made")
except PermissionError: print("refused")
mmap.mmap(-1, 4096, prot=3); print(0)'
gives "logged is allowed" 'allow personality(persona == 0) logged; allow uname logged' '0 EPERM Linux' \
	'print(call("personality", 0), call("personality", 8), os.uname().sysname)'
gives "deny wins over allow, in any order" 'allow personality; deny personality(persona == 8) with errno EBUSY' '0 EBUSY' \
	'print(call("personality", 0xffffffff), call("personality", 8))'
gives "ioctl requests in a range" 'allow ioctl(request in { 1000-1063 })' 'ENOTTY ENOTTY EPERM EPERM EPERM' '
fd = os.open("/etc/hosts", os.O_RDONLY)
print(*(call("ioctl", fd, r, ctypes.c_void_p(0)) for r in (1000, 1063, 999, 1064, 0x5412)))'
gives "threads still start" 'allow clone(flags & CLONE_THREAD && flags & 0x7e020000 == 0); deny clone3 with errno ENOSYS' \
	'thread refused' '
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
try: os.fork(); print("forked")
except PermissionError: print("refused")'
call 'deny uname with kill' 'os.uname(); print("survived")'
expect "kill ends the process" "$status $(cat "$work/out")" = '159 '
call 'deny getpriority(which == 2) with kill' 'os.getpriority(0, 0); print("alive", flush=True); os.getpriority(2, 0)'
expect "with a condition, where it holds" "$status $(cat "$work/out")" = '159 alive'
call 'deny getpgid with kill' '
t = threading.Thread(target=lambda: os.getpgid(0)); t.start(); t.join(); print("survived")'
expect "a thread takes the process with it" "$status $(cat "$work/out")" = '159 '
