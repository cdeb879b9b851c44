# SPDX-License-Identifier: MIT
"""asker.py STEPS: what a tool does with names.  STEPS is JSON, a list of [VERB, ARGUMENT...]; prints one line of JSON
with the outcome of each, and nothing else but what `wait` prints.  An outcome that is an error is its name."""

import ctypes
import errno
import ipaddress
import json
import socket
import struct
import sys
import time

EAI = {getattr(socket, x): x for x in dir(socket) if x.startswith("EAI_")}
held = {}


def named(error):
    if isinstance(error, socket.gaierror):
        return EAI.get(error.errno, str(error.errno))
    if isinstance(error, TimeoutError):
        return "timeout"
    return errno.errorcode.get(error.errno, str(error))


def lookup(name, family=0):
    """The addresses that the C library finds."""
    found = socket.getaddrinfo(name, 1, {0: 0, 4: socket.AF_INET, 6: socket.AF_INET6}[family], socket.SOCK_STREAM)
    return sorted({x[4][0] for x in found})


def connect(host, port):
    with socket.create_connection((host, port), 10) as s:
        return "%s" % ipaddress.ip_address(s.getpeername()[0])


def hold(name, port):
    held[name] = socket.create_connection((name, port), 10)
    return held[name].getpeername()[0]


def echo(name):
    """Over the connection that `hold` made."""
    held[name].sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    return held[name].recv(4096)[:8].decode()


def question(name, kind):
    raw = bytes.fromhex(name[4:]) if name.startswith("hex:") else b"".join(
        bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"
    return struct.pack("!HHHHHH", 0x4321, 0x100, 1, 0, 0, 1) + raw + struct.pack(
        "!HH", kind, 1) + b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)


def understand(message):
    """[response code, addresses, extended error or None]"""
    flags, _, answers, _, more = struct.unpack_from("!HHHHH", message, 2)
    at, found, extended = 12, [], None
    while message[at]:
        at += 1 + message[at]
    at += 5
    for _ in range(answers + more):
        at += 2 if message[at] & 0xc0 == 0xc0 else 1
        kind, _, _, n = struct.unpack_from("!HHIH", message, at)
        data = message[at + 10:at + 10 + n]
        at += 10 + n
        if kind in (1, 28):
            found.append(str(ipaddress.ip_address(data)))
        elif kind == 41 and n >= 6:
            extended = struct.unpack_from("!H", data, 4)[0]
    return [flags & 15, sorted(found), extended]


def ask(server, name, kind=1, port=53, way="sendto"):
    """A question to a server of one's own choice, byte for byte."""
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    message = question(name, kind)
    if way == "tcp":
        with socket.create_connection((server, port), 10) as s:
            s.sendall(struct.pack("!H", len(message)) + message)
            return understand(s.recv(4096)[2:])
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(8)
        if way == "connect":
            s.connect((server, port))
            s.send(message)
            if s.getpeername()[:2] != (server, port):
                return "another peer"
        elif way == "sendmsg":
            s.sendmsg([message[:20], message[20:]], [], 0, (server, port))
        elif way.startswith("interface "):
            kind = (socket.IPPROTO_IP, 8, struct.pack("i8s", int(way[10:]), bytes(8)))  # IP_PKTINFO
            if family == socket.AF_INET6:
                kind = (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, struct.pack("16si", bytes(16), int(way[10:])))
            s.sendmsg([message], [kind], 0, (server, port))
        else:
            s.sendto(message, (server, port))
        reply, who = s.recvfrom(4096)
        return understand(reply) if who[:2] == (server, port) or server == "0.0.0.0" else f"from {who[0]}:{who[1]}"


def datagram(host, port):
    """One there and back."""
    info = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0]
    with socket.socket(*info[:3]) as s:
        s.settimeout(8)
        s.sendto(b"ping", info[4])
        return s.recvfrom(64)[0].decode()


def forge(kind, name, addresses, ttl=60, count=None, cut=0):
    """Where the resolver is one that passes on what it gets: a message to who keeps the addresses.  [error, admitted]"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(3)
        data = struct.pack("=III256s", kind, 1, len(addresses) if count is None else count, name.encode("latin-1"))
        for x in addresses:
            x = ipaddress.ip_address(x)
            six = x.packed if x.version == 6 else bytes(10) + b"\xff\xff" + x.packed
            data += struct.pack("=IIIII", *struct.unpack(">IIII", six), ttl)
        s.sendto(data[:len(data) - cut], ("192.0.2.2", 53))
        answer = s.recv(64)
        return list(struct.unpack("=iIQ", answer))[::2] if len(answer) == 16 else "no answer"


def several(servers, name):
    """One socket, as musl has it: the same question to every server, and a reply from one of them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(8)
        for server in servers:
            s.sendto(question(name, 1), (server, 53))
        reply, who = s.recvfrom(4096)
        return understand(reply) if who[0] in servers and who[1] == 53 else f"from {who[0]}"


def reaim(first, then, port):
    """A socket that was let through to one address is aimed at another."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((first, port))
        s.connect((then, port))
        return s.send(b"x")


def corked(first, then, port):
    """The second part of a corked datagram names another address: it goes with the first."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendmsg([b"x"], [], socket.MSG_MORE, (first, port))
        s.sendmsg([b"y"], [], 0, (then, port))
        return "sent"


def dissolved(first, then, port):
    """AF_UNSPEC takes the connection off; then another is made."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(10)
        s.connect((first, port))
        unspec = ctypes.create_string_buffer(16)
        ctypes.CDLL(None, use_errno=True).connect(s.fileno(), unspec, 16)
        s.connect((then, port))
        return "connected"


def crowd(n, server):
    """Connections to the resolver that say nothing."""
    for i in range(n):
        held[f"crowd{i}"] = socket.create_connection((server, 53), 10)
    return n


def load(first, n, server):
    """n lookups; how many were answered with an address."""
    good = 0
    for i in range(first, first + n):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(10)
            s.connect((server, 53))
            s.send(question(f"n{i}.wild.test", 1))
            good += len(understand(s.recv(4096))[1]) == 1
    return good


def sockets(n, server):
    """So many sockets ask at once that what is known of the first is forgotten; what the kernel says of a new one."""
    for _ in range(n):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", (server, 53))
    return n


def meddle():
    """With a process whose number is given: what is not refused of what one could do to it."""
    print("waiting", flush=True)
    pid = int(sys.stdin.readline())
    libc = ctypes.CDLL(None, use_errno=True)
    none = (ctypes.c_ulong * 2)(0, 0)
    calls = {"ptrace": lambda: libc.ptrace(16, pid, 0, 0),
             "pidfd_open": lambda: libc.syscall(434, pid, 0), "read": lambda: libc.open(b"/proc/%d/mem" % pid, 0),
             "descriptors": lambda: libc.open(b"/proc/%d/fd/0" % pid, 0), "affinity": lambda: libc.syscall(203, pid, 8, none),
             "nice": lambda: libc.setpriority(0, pid, 19), "vm": lambda: libc.process_vm_writev(pid, none, 0, none, 0, 0),
             # At last, for what is dead has nothing to be read; without files, one that has just begun does not live on.
             "prlimit": lambda: libc.prlimit(pid, 7, none, None),
             "stop": lambda: libc.kill(pid, 19), "tkill": lambda: libc.syscall(200, pid, 9), "kill": lambda: libc.kill(pid, 9)}
    return [name for name, call in calls.items() if call() != -1]


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def wait():
    print("waiting", flush=True)
    return sys.stdin.readline().strip()


def main():
    verbs = {f.__name__: f for f in (lookup, connect, hold, echo, ask, several, datagram, forge, reaim, corked, dissolved,
                                     crowd, load, sockets, meddle, sleep, wait)}
    out = []
    for verb, *arguments in json.loads(sys.argv[1]):
        try:
            out.append(verbs[verb](*arguments))
        except OSError as e:
            out.append(named(e))
    print(json.dumps(out), flush=True)


main()
