#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every system call of a start made to fail in turn, by strace's fault injection.

Each time either the start is refused, with a code and the errno, and nothing was started; or it does without what
failed, and the tool, which tries things itself, finds nothing that is not refused.  Nothing may be left: no process,
control group, mount, folder, program or map.

    tests/live/faults.py            one errno for each call, and of those that a loop repeats a few
    tests/live/faults.py --all      every errno that a call can give, every one of the calls
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = f"{TOP}/build"
ALL = "--all" in sys.argv
REPEATED = 6  # calls of one kind and process that are made to fail, unless all are

# What may fail, by call; "" is for those that are not here.  The first one is what the bounded run uses.
ERRNOS = {
    "": ["EPERM", "ENOSYS", "EINVAL"],
    "open": ["EACCES", "EMFILE", "ENOENT", "EIO", "ENOMEM", "EINTR"],
    "openat": ["EACCES", "EMFILE", "ENOENT", "EIO", "ENOMEM", "EINTR"],
    "openat2": ["EACCES", "EMFILE", "ENOENT", "EAGAIN", "ENOSYS", "EXDEV"],
    "mmap": ["ENOMEM"],
    "brk": ["ENOMEM"],
    "read": ["EIO", "EINTR"],
    "pread64": ["EIO", "EINTR"],
    "write": ["EIO", "ENOSPC", "EINTR"],
    "fstat": ["EIO", "ENOMEM"],
    "stat": ["EACCES", "ENOENT"],
    "statx": ["EACCES", "ENOSYS"],
    "newfstatat": ["EACCES", "ENOENT"],
    "clone3": ["EAGAIN", "ENOMEM", "ENOSPC", "EUSERS", "ENOSYS", "EPERM", "EINVAL", "EBUSY"],
    "clone": ["EAGAIN", "ENOMEM"],
    "vfork": ["EAGAIN", "ENOMEM"],
    "execve": ["EACCES", "ENOENT", "ENOMEM", "E2BIG", "ETXTBSY", "ENOEXEC"],
    "mkdir": ["EACCES", "ENOSPC", "EEXIST", "EROFS"],
    "mkdirat": ["EACCES", "ENOSPC", "EEXIST", "EROFS", "EAGAIN"],
    "getrandom": ["EAGAIN", "ENOSYS", "EINTR"],
    "seccomp": ["EINVAL", "ENOMEM", "EACCES", "EPERM"],
    "landlock_create_ruleset": ["ENOSYS", "EOPNOTSUPP", "ENOMEM", "EMFILE"],
    "landlock_add_rule": ["EBADFD", "EINVAL", "ENOMEM"],
    "landlock_restrict_self": ["EPERM", "E2BIG", "EBADF"],
    "bpf": ["EPERM", "EINVAL", "ENOMEM", "EBUSY", "E2BIG"],
    "mount_setattr": ["EPERM", "EINVAL", "ENOSYS", "EBUSY", "ENOMEM"],
    "open_tree": ["EPERM", "ENOENT", "ENOSYS", "EMFILE", "ENOSPC"],
    "move_mount": ["EPERM", "ENOENT", "ENOSYS", "ELOOP", "EBUSY"],
    "pipe2": ["EMFILE", "ENFILE"],
    "memfd_create": ["EMFILE", "ENOMEM"],
    "dup3": ["EBADF", "EBUSY"],
    "flock": ["EAGAIN", "EINTR", "ENOLCK"],
    "unlinkat": ["EBUSY", "EACCES"],
    "mprotect": ["ENOMEM", "EACCES"],
}
# Waiting for the tool, and the way to the exit, which are not of the start; and what does not fail: close() above all
# closes whatever it answers, and would not if its fault were injected.
LEFT_OUT = {"close", "exit_group", "exit", "rt_sigreturn", "rt_sigaction", "wait4", "waitid", "rt_sigtimedwait", "futex",
            "restart_syscall", "munmap", "arch_prctl", "set_tid_address", "getuid", "geteuid", "getgid", "getegid",
            "getpid", "getppid"}


def result(good, name, why=""):
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


class Start:
    """One kind of start: a policy, and who starts it."""

    def __init__(self, name, profile, work, user=None):
        self.name, self.work, self.user = name, work, user
        self.tmp = f"{work}/tmp-{name}"
        os.mkdir(self.tmp)
        os.chmod(self.tmp, 0o1777)
        self.trace = f"{work}/trace-{name}"
        open(self.trace, "w").close()
        os.chmod(self.trace, 0o666)
        source = f"{work}/{name}.cave"
        with open(source, "w") as f:
            f.write(profile)
        subprocess.run([f"{BUILD}/cavec", source, "-o", f"{work}/{name}.bpf"], check=True)
        os.chmod(f"{work}/{name}.bpf", 0o644)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        self.caverun = [f"{work}/bin/caverun"]
        self.command = self.caverun + [f"{work}/{name}.bpf", "--", f"{work}/bin/faulted", f"{work}/secret"]
        self.strace = become + ["strace", "-f", "-qq", "-o", self.trace]

    def run(self, options):
        command = ["timeout", "-k", "1", "20"] + self.strace + options + self.command
        return subprocess.run(command, env={"PATH": os.environ["PATH"], "TMPDIR": self.tmp}, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def forget(self):
        subprocess.run(self.caverun + ["--forget", "--all"], capture_output=True, check=False)

    def sites(self):
        """What is called, and how often by the process that calls it most, up to the tool's own start."""
        made = self.run(["-e", "signal=none"])
        if made.returncode or made.stdout != "ran\n":
            raise SystemExit(f"not ok {self.name}: the start itself: {made.returncode} {made.stderr}")
        counts = collections.defaultdict(collections.Counter)
        tools = set()
        with open(self.trace, errors="replace") as f:
            for line in f:
                pid, _, rest = line.partition(" ")
                call = re.match(r" *([a-z_0-9]+)\(", rest)
                if not call or pid in tools:
                    continue
                counts[pid][call[1]] += 1
                if call[1] == "execve" and "/faulted" in rest:
                    tools.add(pid)
        most = collections.Counter()
        for calls in counts.values():
            most |= calls
        return {call: n for call, n in most.items() if call not in LEFT_OUT}


def left(start):
    """What a start has left behind, in words."""
    found = os.listdir(start.tmp)
    for e in os.listdir(start.tmp):
        path = f"{start.tmp}/{e}"
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for comm in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(comm) as f, open(comm.replace("comm", "cmdline")) as c:
                if f.read().strip() in ("faulted", "cave-load") and start.work in c.read():
                    found.append(comm)
        except OSError:
            pass
    return " ".join(found)


def judge(call, made):
    """What is wrong with what became of one start; "" if nothing is."""
    ran, rest = made.stdout == "ran\n", made.stderr
    if made.returncode == 42:
        return "the tool ran, and something that it tried was not refused"
    if made.returncode == 0 and not rest:
        return ""  # it did without, or the fault met the tool itself
    if ran and "is left" in rest:
        return ""  # it ran, and what could not be removed is said
    if ran and made.returncode in (0, 137) and "left" in rest:
        return ""
    if ran:
        return f"the tool ran, status {made.returncode}: {rest}"
    if made.returncode not in (125, 126, 127) or not re.search(r"\[cave_[a-z_]+\]", rest):
        # Where writing fails, the message may be what was to be written.
        return "" if call == "write" and made.returncode == 125 else \
            f"not refused with a code, status {made.returncode}: {rest}"
    return ""


def inject(start, call, error, when):
    made = start.run(["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"])
    return judge(call, made), made, left(start)


def faults(start):
    refused = survived = 0
    wrong = []
    for call, most in sorted(start.sites().items()):
        for when in range(1, (most if ALL else min(most, REPEATED)) + 1):
            for error in ERRNOS.get(call, ERRNOS[""])[: None if ALL else 1]:
                bad, made, rest = inject(start, call, error, when)
                if rest and "left" not in made.stderr:
                    bad += f"; left behind: {rest}"
                if bad:
                    wrong.append(f"{call} {error} at {when}: {bad}".replace("\n", " "))
                refused += made.returncode in (125, 126, 127)
                survived += made.returncode == 0
                if "network" in start.name:
                    start.forget()
    for line in wrong:
        result(False, f"{start.name}: {line}")
    result(not wrong, f"{start.name}: {refused + survived} faults, {refused} starts refused", f"{len(wrong)} were not met well")
    result(refused > 20, f"{start.name}: faults were met at all", f"{refused} were")


class Group:
    """A control group of the test's own: what starts make beneath it is theirs, whatever else runs on this host."""

    def __init__(self):
        with open("/proc/self/mountinfo") as f:
            point = next(m[4] for m in map(str.split, f) if m[m.index("-") + 1] == "cgroup2")
        with open("/proc/self/cgroup") as f:
            self.before = point + next(line[3:].strip() for line in f if line.startswith("0::"))
        self.path = f"{self.before}/faults-{os.getpid()}"
        os.mkdir(self.path)
        self.enter(self.path)

    def enter(self, path):
        with open(f"{path}/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))

    def left(self):
        return [e.name for e in os.scandir(self.path) if e.is_dir()]

    def end(self):
        self.enter(self.before)
        for name in self.left():
            os.rmdir(f"{self.path}/{name}")
        os.rmdir(self.path)


def objects():
    """How many programs and maps the kernel holds."""
    def count(what):
        return len(re.findall(r"^\d+:", subprocess.run(["bpftool", what], capture_output=True, text=True).stdout, re.M))

    return count("prog") + count("map")


def mounts():
    with open("/proc/self/mountinfo") as f:
        return sum("cave-faults" in line for line in f)


def main():
    if os.geteuid():
        print("skip faults: they need root")
        return
    work = tempfile.mkdtemp(prefix="cave-faults-")
    os.chmod(work, 0o755)
    group = Group()
    try:
        os.mkdir(f"{work}/bin")
        for name in ("caverun", "cave-load", "tests/tools/faulted"):
            shutil.copy(f"{BUILD}/{name}", f"{work}/bin")
        with open(f"{work}/secret", "w") as f:
            f.write("secret\n")
        os.chmod(f"{work}/secret", 0o666)
        before = objects()
        plain = "profile plain { files { base none; write workspace } }"
        network = ("profile network { files { base none }\nnetwork { allow tcp 192.0.2.1 port 443 } }")
        faults(Start("root", plain, work))
        faults(Start("user", plain, work, 65534))
        start = Start("network", network, work)
        faults(start)
        start.forget()
        limits = ("profile limits { files { base none }\n"
                  "limits { time 60s; memory 64MiB; tasks 8; output 1MiB; cpu-time 60s; open-files 64 } }")
        faults(Start("limits", limits, work))
        result(not group.left() and not mounts(), "no control group and no mount is left", f"{group.left()}")
        # Nine programs of each start would be more than others on this host make meanwhile.
        result(objects() < before + 200, "no programs or maps are left", f"{before} became {objects()}")
    finally:
        group.end()
        shutil.rmtree(work, ignore_errors=True)


main()
