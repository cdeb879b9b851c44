# SPDX-License-Identifier: MIT
"""A network of namespaces for the live tests: HERE and two remote hosts, NEAR and FAR, each on a link of its own."""

import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
CAVEC, CAVERUN = f"{TOP}/build/cavec", f"{TOP}/build/caverun"
PROBE = f"{TOP}/build/cave-probe"
ID = f"cave{os.getpid()}"
HERE, NEAR, FAR = f"{ID}h", f"{ID}n", f"{ID}f"
NEAR4, NEAR6, FAR4, FAR6 = "192.0.2.2", "2001:db8:a::2", "198.51.100.2", "2001:db8:b::2"
AWAY6 = "2001:db8:c::2"  # routed by way of FAR
OTHER4, OTHER6 = "192.0.2.3", "2001:db8:a::3"  # NEAR's second address


class Results:
    failures = 0

    def check(self, holds, name, why=""):
        self.failures += not holds
        print(f"ok {name}" if holds else f"not ok {name}: {why}", flush=True)


results = Results()
check = results.check


def sh(command):
    subprocess.run(command, shell=True, check=True)


def inside(namespace, *command, **options):
    """Runs a command with the network of a namespace: `ip netns exec` would hide the cgroups too."""
    return subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", *command], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=120, **options)


def attempts(lines, policy=None):
    """Makes attempts in one process; returns {attempt: outcome}."""
    words = []
    for line in lines:
        words += [*line.split(), ","]
    prefix = [CAVERUN, policy, "--"] if policy else []
    done = inside(HERE, *prefix, PROBE, *words[:-1])
    outcome = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    if set(outcome) != set(lines):
        check(False, f"attempts under {policy}", f"status {done.returncode}; {done.stderr.strip()}")
    return {line: outcome.get(line, "no outcome") for line in lines}


def network():
    for ns in (HERE, NEAR, FAR):
        sh(f"ip netns add {ns}; ip -n {ns} link set lo up")
    for remote, v4, v6 in ((NEAR, "192.0.2", "2001:db8:a"), (FAR, "198.51.100", "2001:db8:b")):
        link = "near" if remote == NEAR else "far"
        sh(f"ip link add {link} netns {HERE} type veth peer name wire netns {remote}")
        for ns, name, n in ((HERE, link, 1), (remote, "wire", 2)):
            sh(f"ip -n {ns} addr add {v4}.{n}/24 brd + dev {name}")
            sh(f"ip -n {ns} addr add {v6}::{n}/64 nodad dev {name}")
            sh(f"ip -n {ns} link set {name} up")
        sh(f"ip -n {remote} route add default via {v4}.1; ip -n {remote} -6 route add default via {v6}::1")
        inside(remote, "sysctl", "-qw", "net.ipv4.conf.all.accept_source_route=1",
               "net.ipv4.conf.wire.accept_source_route=1", "net.ipv6.conf.all.seg6_enabled=1",
               "net.ipv6.conf.wire.seg6_enabled=1", "net.ipv4.tcp_fastopen=3")
    sh(f"ip -n {NEAR} addr add {OTHER4}/24 dev wire; ip -n {NEAR} addr add {OTHER6}/64 nodad dev wire")
    inside(HERE, "sysctl", "-qw", "net.ipv4.tcp_fastopen=1", "net.ipv4.ping_group_range=0 2147483647")


class Remote:
    def __init__(self, namespace, log):
        self.path = log
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{namespace}", "/usr/bin/python3", f"{TOP}/tests/tools/remote.py", log],
            stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def saw(self, port):
        with open(self.path, encoding="ascii") as log:
            return any(line.split()[-1] == str(port) for line in log)

    def lines(self):
        with open(self.path, encoding="ascii") as log:
            return log.read().splitlines()


def compile_policy(work, name, text):
    source, policy = f"{work}/{name}.cave", f"{work}/{name}.bpf"
    with open(source, "w", encoding="ascii") as f:
        f.write(text)
    done = subprocess.run([CAVEC, source, "-o", policy], capture_output=True, text=True, check=False)
    if done.returncode:
        check(False, f"compile {name}", done.stderr.replace("\n", " "))
        sys.exit(1)
    return policy


def settle():
    time.sleep(0.5)


AUTOMATIC = ",".join(str(port) for port in range(45000, 45008))  # what the kernel may choose from
CLIENT = """
import socket, sys, time
SOURCE = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 3 else None
end = time.time() + 2.5
while time.time() < end:
    for port in sys.argv[2].split(","):
        try:
            with socket.create_connection((sys.argv[1], int(port)), .3, SOURCE) as s:
                s.sendall(b"x")
                s.settimeout(.5)
                if s.recv(1) == b"x":
                    print("echo")
                    sys.exit()
        except OSError:
            time.sleep(.05)
"""


SENDER = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
mode, address, port = sys.argv[3], sys.argv[1], int(sys.argv[2])
def datagrams(source=None):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if source:
        s.bind(source)
    s.settimeout(.1)
    return s
sockets = [datagrams()]
if mode == "two":
    sockets = [datagrams(("192.0.2.2", 40001)), datagrams(("192.0.2.3", 40002))]
time.sleep(.7 if mode == "many" else 0)
end = time.time() + 2.5
while time.time() < end:
    for s in sockets:
        s.sendto(b"x", (address, port))
        try:
            if s.recv(1) == b"x":
                print("echo")
                sys.exit()
        except OSError:
            pass
    if mode == "many":
        for batch in range(12):
            many = [datagrams() for _ in range(800)]
            for s in many:
                s.sendto(b"y", (address, port))
                time.sleep(.00005)
            for s in many:
                s.close()
        sys.exit()
"""


def send_to(attempt, host, address, port, policy=None, mode="one"):
    """Makes an attempt while a client on `host` sends datagrams; (outcome, what the client got)."""
    client = subprocess.Popen(["nsenter", f"--net=/run/netns/{host}", "/usr/bin/python3", "-c", SENDER, address, str(port),
                               mode], stdout=subprocess.PIPE, text=True)
    outcome = attempts([attempt], policy)[attempt]
    return outcome, client.communicate()[0].strip()


def visit(attempt, host, address, ports, policy=None, *source):
    """Makes an attempt to accept while a client on `host` tries to come in; (outcome, what the client got)."""
    client = subprocess.Popen(["nsenter", f"--net=/run/netns/{host}", "/usr/bin/python3", "-c", CLIENT, address, ports,
                               *source], stdout=subprocess.PIPE, text=True)
    outcome = attempts([attempt], policy)[attempt]
    return outcome, client.communicate()[0].strip()


def with_resolv_conf(work, text, policy, *command):
    """Runs a command under a policy on a host that has this /etc/resolv.conf, or none."""
    conf = f"{work}/resolv.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write(text)
    return inside(HERE, "unshare", "--mount", "sh", "-c",
                  f"mount --bind {conf} $(readlink -f /etc/resolv.conf) && exec {CAVERUN} {policy} -- \"$@\"", "sh",
                  *command)


def clean_up(remotes):
    for remote in remotes:
        remote.process.kill()
        remote.process.wait()
    for ns in (HERE, NEAR, FAR):
        subprocess.run(["ip", "netns", "del", ns], check=False, stderr=subprocess.DEVNULL)


def laboratory(test):
    """Runs test(WORK, NEAR, FAR) on the network and ends with its result."""
    if os.getuid() != 0:
        print(f"skip {os.path.basename(sys.argv[0])}: it needs root")
        sys.exit(0)
    remotes = []
    with tempfile.TemporaryDirectory(prefix="cave-net.") as work:
        try:
            network()
            for namespace in (NEAR, FAR):
                remotes.append(Remote(namespace, f"{work}/{namespace}.log"))
            test(work, *remotes)
        finally:
            clean_up(remotes)
    sys.exit(1 if results.failures else 0)
