#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Packets whose data lies in several pieces, or that are cut and put together on the way, and addresses with a scope.

The programs for packets read headers where they lie: they have to be there whatever a packet is made of.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools"))
from netlab import *  # pylint: disable=wildcard-import,wrong-import-position

PORT = 7640
PROFILE = """profile pieces {{
    network {{ allow {{ tcp, udp }} {{ {peers} }} port {port} }}
    files {{ read "/usr/lib", "/usr/local/lib", "/etc/python3.11" }}
}}
"""

# Says how many bytes came; a datagram that begins with "want" asks for one of so many.
SERVER = """
import socket, sys, threading
PORT = int(sys.argv[1])
def stream():
    s = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True)
    print("ready", flush=True)
    while True:
        c = s.accept()[0]
        n = 0
        while got := c.recv(1 << 20):
            n += len(got)
        c.sendall(b"%d" % n)
        c.close()
def datagrams(address):
    family, kind, _, _, at = socket.getaddrinfo(address, PORT, type=socket.SOCK_DGRAM)[0]
    s = socket.socket(family, kind)
    s.setsockopt(socket.IPPROTO_IP, 15, 1) # IP_FREEBIND: an address of a link is tried out first
    s.bind(at)
    while True:
        data, peer = s.recvfrom(65535)
        s.sendto(b"z" * int(data[4:]) if data[:4] == b"want" else b"%d" % len(data), peer)
for address in sys.argv[2:]:
    threading.Thread(target=datagrams, args=(address,)).start()
stream()
"""

CLIENT = """
import os, socket, sys
way, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
family, kind, _, _, to = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM if way.startswith("tcp") else
                                            socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)[0]
s = socket.socket(family, kind)
s.settimeout(5)
try:
    if way == "udp-long":
        s.sendto(b"x" * 20000, to)
    else:
        s.connect(to)
    if way == "tcp-sendfile":
        with open(os.path.realpath(sys.executable), "rb") as f:
            os.sendfile(s.fileno(), f.fileno(), 0, 30000)
    elif way == "tcp-large":
        s.sendall(b"x" * 3000000)
    elif way == "udp-long-answer":
        s.send(b"want20000")
    elif way == "udp-segments":
        s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
        s.send(b"x" * 10000)
    elif way == "udp-cork":
        s.send(b"x" * 3000, socket.MSG_MORE)
        s.send(b"y" * 3000)
    elif way == "udp-splice":
        r, w = os.pipe()
        os.write(w, b"x" * 4000)
        os.splice(r, s.fileno(), 4000)
    if way.startswith("tcp"):
        s.shutdown(socket.SHUT_WR)
        print(s.recv(20).decode())
    elif way == "udp-segments":
        print(*(s.recv(20).decode() for _ in range(10)))
    else:
        got = s.recv(65535)
        print(len(got) if got[:1] == b"z" else got.decode())
except OSError as e:
    print(type(e).__name__, e.errno)
"""
WAYS = {"tcp-sendfile": "30000", "tcp-large": "3000000", "udp-long": "20000", "udp-long-answer": "20000",
        "udp-segments": " ".join(["1000"] * 10), "udp-cork": "6000", "udp-splice": "4000"}
REFUSED = "PermissionError 1"


def ask(policy, way, host):
    done = inside(HERE, *([CAVERUN, policy, "--"] if policy else []), "/usr/bin/python3", "-c", CLIENT, way, host, str(PORT))
    return done.stdout.strip() or done.stderr.strip()


def pieces(policy):
    for way, right in WAYS.items():
        for near, far in ((NEAR4, FAR4), (NEAR6, FAR6)):
            outside, granted, refused = ask(None, way, near), ask(policy, way, near), ask(policy, way, far)
            check(outside == right, f"outside: {way} to {near}", outside)
            check(granted == right, f"granted: {way} to {near}", granted)
            check(refused == REFUSED, f"refused: {way} to {far}", refused)


def link_local(namespace):
    shown = inside(namespace, "ip", "-o", "-6", "addr", "show", "dev", "wire", "scope", "link").stdout
    return shown.split(" inet6 ")[1].split("/")[0]


def scopes(work, without):
    """An address of a link is granted by name, and then on whatever link it is."""
    near, far = link_local(NEAR), link_local(FAR)
    # A tool without netlink knows no device by its name.
    at = {name: inside(HERE, "ip", "-o", "link", "show", name).stdout.split(":")[0] for name in ("near", "far")}
    named = compile_policy(work, "scoped", PROFILE.format(peers=near, port=PORT))
    for way in ("tcp-sendfile", "udp-long"):
        for address in (f"{near}%{at['near']}", f"{far}%{at['far']}"):
            check(ask(None, way, address) == WAYS[way], f"outside: {way} to {address}")
            refused = ask(without, way, address)
            check(refused == REFUSED, f"refused: {way} to {address}, which is not granted", refused)
        granted, refused = ask(named, way, f"{near}%{at['near']}"), ask(named, way, f"{far}%{at['far']}")
        check(granted == WAYS[way], f"granted: {way} to {near} of its link", granted)
        check(refused == REFUSED, f"refused: {way} to {far} beside it", refused)


def main(work, _near, _far):
    os.chmod(work, 0o755)
    servers = [subprocess.Popen(["nsenter", f"--net=/run/netns/{host}", "/usr/bin/python3", "-c", SERVER, str(PORT),
                                 *addresses, f"{link_local(host)}%wire"], stdout=subprocess.PIPE, text=True)
               for host, addresses in ((NEAR, (NEAR4, NEAR6)), (FAR, (FAR4, FAR6)))]
    try:
        for server in servers:
            server.stdout.readline()
        policy = compile_policy(work, "pieces", PROFILE.format(peers=f"{NEAR4}, {NEAR6}", port=PORT))
        pieces(policy)
        scopes(work, policy)
    finally:
        for server in servers:
            server.kill()
            server.wait()


laboratory(main)
