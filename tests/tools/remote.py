#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""remote.py LOG: a host of a test network.

Listens on TCP ports 7000-7399 and 8000-8099 of every address and writes one line to LOG for every IP packet that
arrives from another host: "PROTOCOL DESTINATION PORT", where PROTOCOL may be preceded by "routed " (an IPv6 routing
header) or "options " (IPv4 options).  Neighbour discovery is left out.  Prints "ready" when it is.
"""

import ipaddress
import resource
import socket
import struct
import sys

PROTOCOLS = {1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 58: "icmp6", 132: "sctp", 136: "udplite"}
ROUTING = 43
EXTENSIONS = (0, 60, ROUTING)


def listeners():
    sockets = []
    for port in (*range(7000, 7400), *range(8000, 8100)):
        s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        s.bind(("::", port))
        s.listen(8)
        sockets.append(s)
    return sockets


def upper(protocol, payload):
    port = struct.unpack_from("!H", payload, 2)[0] if protocol in (6, 17, 132, 136) else 0
    return PROTOCOLS.get(protocol, str(protocol)), port


def describe4(p):
    size = (p[0] & 15) * 4
    protocol, port = upper(p[9], p[size:])
    return f"{'options ' if size > 20 else ''}{protocol} {ipaddress.ip_address(p[16:20])} {port}"


def describe6(p):
    protocol, at, routed = p[6], 40, ""
    while protocol in EXTENSIONS:
        routed = "routed " if protocol == ROUTING else routed
        protocol, at = p[at], at + (p[at + 1] + 1) * 8
    if protocol == 58 and 133 <= p[at] <= 137:
        return None
    name, port = upper(protocol, p[at:])
    return f"{routed}{name} {ipaddress.ip_address(p[24:40])} {port}"


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    kept = listeners()
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    with open(sys.argv[1], "w", buffering=1, encoding="ascii") as log:
        print("ready", flush=True)
        while kept:
            packet, (_, ethertype, kind, *_) = wire.recvfrom(65536)
            if kind == socket.PACKET_OUTGOING:
                continue
            describe = {0x0800: describe4, 0x86DD: describe6}.get(ethertype)
            line = describe(packet) if describe else None
            if line:
                print(line, file=log)


main()
