#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""On a terminal of its own, under a shell with job control: a tool behaves in the sandbox as it does without."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = f"{TOP}/build"
PATIENCE = 15


def result(good, name, why=""):
    print(f"ok {name}" if good else f"not ok {name}: {why!r}", flush=True)


class Terminal:
    """A shell on a terminal, with a prompt that nothing else prints."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"],
                      {"PATH": os.environ["PATH"], "PS1": "READY>", "TERM": "dumb"})
        self.seen = ""
        self.expect("READY>")

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern):
        """Waits until it is printed; what was printed up to there is gone."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.seen)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return None
            try:
                self.seen += os.read(self.fd, 4096).decode(errors="replace").replace("\r", "")
            except OSError:
                return None
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def run(self, command):
        """Types a command, and waits until it is echoed; what it says of refusals is not looked at."""
        self.type(f"{command} 2>/dev/null\n")
        self.expect("/dev/null\n")
        time.sleep(0.3)  # until it reads: a shell may throw away what comes too early

    def stopped(self):
        """Asks the shell, which hears of it when it asks."""
        for _ in range(50):
            self.type("jobs\n")
            if "Stopped" in (self.expect("jobs\n(.|\n)*READY>") or ""):
                return True
            time.sleep(0.1)
        return False

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def try_all(kind, start):
    t = Terminal()

    def step(name, good):
        result(bool(good), f"{kind}: {name}", t.seen)

    t.run(f"{start} cat")
    t.type("hello\n")
    step("what is typed is read", t.expect("hello\nhello\n"))
    t.type("\x1a")
    step("Ctrl-Z stops it, and gives the terminal to the shell", t.expect("Stopped") and t.expect("READY>"))
    t.type("fg\n")
    t.expect("/dev/null\n")
    t.type("again\n")
    step("fg lets it go on, with the terminal", t.expect("again\nagain\n"))
    t.type("\x04")
    step("Ctrl-D ends what it reads", t.expect("READY>"))
    t.type("echo =$?=\n")
    step("and it ends by itself", t.expect("=0="))

    t.run(f"{start} cat")
    t.type("x\n")
    t.expect("x\nx\n")
    t.type("\x03")
    step("Ctrl-C ends it", t.expect("READY>"))
    t.type("echo =$?=\n")
    step("as the shell expects", t.expect("=130="))

    t.run(f"{start} cat")
    t.type("y\n")
    t.expect("y\ny\n")
    t.type("\x1c")
    step("Ctrl-\\ as well", t.expect("READY>"))
    t.type("echo =$?=\n")
    step("with its status", t.expect("=131="))

    t.size(31, 97)
    t.run(f"{start} stty size")
    step("it sees the size of the window", t.expect("31 97"))
    t.expect("READY>")
    program = ("import os,signal,time; signal.signal(28, lambda *a: os.write(1, b'%d %d' % os.get_terminal_size(0))); "
               "os.write(1, b'w' + b'aits'); [time.sleep(0.1) for _ in range(200)]")
    t.run(f"{start} /usr/bin/python3 -c \"{program}\"")
    t.expect("waits")
    t.size(40, 120)
    step("and is told when that changes", t.expect("120 40"))
    t.type("\x03")
    t.expect("READY>")

    t.type(f"{start} cat 2>/dev/null &\n")
    t.expect("READY>")
    step("in the background it stops when it reads", t.stopped())
    t.type("fg\n")
    t.expect("fg\n.*/dev/null\n")
    t.type("front\n")
    step("and goes on in the foreground", t.expect("front\nfront\n"))
    t.type("\x04")
    t.expect("READY>")
    t.end()


def try_alone(label, command, end):
    """As the leader of the session, as under ssh -t: the kernel tells it alone that the terminal is gone."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    seen = b""
    while b"here" not in seen:
        seen += os.read(fd, 4096)
    time.sleep(0.3)
    os.close(fd)
    deadline = time.monotonic() + PATIENCE
    while (gone := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.05)
    if gone == (0, 0):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    ended = gone != (0, 0) and os.waitstatus_to_exitcode(gone[1]) == end
    result(ended, f"{label}: it hears that the terminal is gone", gone)


def main():
    if os.geteuid():
        print("skip terminal: it needs root")
        return
    work = tempfile.mkdtemp(prefix="cave-terminal-")
    os.chmod(work, 0o755)
    try:
        shutil.copy(f"{BUILD}/caverun", work)
        shutil.copy(f"{BUILD}/cave-load", work)
        with open(f"{work}/p.cave", "w") as f:
            f.write('profile p { files { write workspace; read optional "/usr/lib/python3.11", "/usr/lib/python3" } }\n')
        subprocess.run([f"{BUILD}/cavec", f"{work}/p.cave", "-o", f"{work}/p.bpf"], check=True)
        os.chmod(f"{work}/p.bpf", 0o644)
        nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups "
        try_all("control, without a sandbox", "env")
        try_all("root", f"{work}/caverun {work}/p.bpf --")
        try_all("user", f"{nobody} {work}/caverun {work}/p.bpf --")
        with open(f"{work}/c.cave", "w") as f:
            f.write('profile c { childProcess { max-processes 2; execute "/bin/", "/usr/bin/" } }\n')
        subprocess.run([f"{BUILD}/cavec", f"{work}/c.cave", "-o", f"{work}/c.bpf"], check=True)
        tool = "import os, signal, time; {}os.write(1, b'here'); {}time.sleep({})"
        for what, before, after, seconds, end in (
                ("", "", "", 60, 129), (", which it ignores", "signal.signal(1, signal.SIG_IGN); ", "", 1, 0),
                (", stopped", "", "os.kill(os.getpid(), signal.SIGSTOP); ", 60, 129)):
            program = ["/usr/bin/python3", "-c", tool.format(before, after, seconds)]
            for policy in "p", "c":
                try_alone(f"alone, {policy}{what}", [f"{work}/caverun", f"{work}/{policy}.bpf", "--", *program], end)
            try_alone(f"control: alone, without a sandbox{what}", program, -1 if end else 0)
        try_all("traced", f"{work}/caverun --trace {work}/p.bpf --")
    finally:
        shutil.rmtree(work, ignore_errors=True)


sys.exit(main())
