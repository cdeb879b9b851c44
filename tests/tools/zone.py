#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""zone.py ZONE LOG ADDRESS...: a scripted name server at port 53 of each address, UDP and TCP.

ZONE is JSON: {NAME: {"A": [ADDRESS...], "AAAA": [...], "CNAME": NAME, "TTL": SECONDS, "rotate": true}}.  A key "*.X"
answers for every name below X that has no entry.  With "rotate" each question is answered with the next address alone,
with "window": N with the next N.
What does not fit into 1,232 bytes is cut.  Each question is a line of LOG: "NAME TYPE udp|tcp ADDRESS", the address
of the server.  A name that has no entry does not exist.  Prints "ready" when it is.
"""

import ipaddress
import json
import selectors
import socket
import struct
import sys
import threading

KINDS = {1: "A", 28: "AAAA", 5: "CNAME"}


def wire(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def record(owner, kind, data, ttl):
    return wire(owner) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


class Zone:
    def __init__(self, path, log):
        with open(path, encoding="ascii") as f:
            self.names = json.load(f)
        self.log = open(log, "a", encoding="ascii", buffering=1)
        self.turn = {}

    def find(self, name):
        if name in self.names:
            return self.names[name]
        labels = name.split(".")
        return next((self.names[x] for i in range(1, len(labels)) if (x := "*." + ".".join(labels[i:])) in self.names), None)

    def addresses(self, name, entry, kind):
        found = entry.get(KINDS[kind], [])
        size = 1 if entry.get("rotate") else entry.get("window", 0)
        if not size or not found:
            return found
        self.turn[name] = self.turn.get(name, -1) + 1
        first = self.turn[name] * size % len(found)
        return found[first:first + size]

    def records(self, name, kind):
        """The records from the name to its addresses, and whether it exists."""
        out, entry = [], self.find(name)
        exists = entry is not None
        while entry and "CNAME" in entry:
            out.append(record(name, 5, wire(entry["CNAME"]), entry.get("TTL", 60)))
            name = entry["CNAME"]
            entry = self.find(name)
        if entry and kind in (1, 28):
            out += [record(name, kind, ipaddress.ip_address(x).packed, entry.get("TTL", 60))
                    for x in self.addresses(name, entry, kind)]
        return out, exists

    def answer(self, query, transport, server):
        end = query.index(b"\0", 12)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += query[at] + 1
        name, kind = ".".join(labels).lower(), struct.unpack_from("!H", query, end + 1)[0]
        print(name, KINDS.get(kind, kind), transport, server, file=self.log)
        records, exists = self.records(name, kind)
        flags = 0x8180 | (0 if exists else 3)
        reply = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + query[12:end + 5] + b"".join(records)
        if transport == "udp" and len(reply) > 1232:
            return query[:2] + struct.pack("!HHHHH", flags | 0x200, 1, 0, 0, 0) + query[12:end + 5]
        return reply


def stream(zone, conn, server):
    with conn:
        conn.settimeout(10)
        head = conn.recv(2)
        if len(head) == 2:
            reply = zone.answer(conn.recv(struct.unpack("!H", head)[0]), "tcp", server)
            conn.sendall(struct.pack("!H", len(reply)) + reply)


def main():
    zone, watched = Zone(sys.argv[1], sys.argv[2]), selectors.DefaultSelector()
    for server in sys.argv[3:]:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, kind)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((server, 53))
            if kind == socket.SOCK_STREAM:
                s.listen(32)
            watched.register(s, selectors.EVENT_READ, server)
    print("ready", flush=True)
    while True:
        for key, _ in watched.select():
            if key.fileobj.type == socket.SOCK_STREAM:
                threading.Thread(target=stream, args=(zone, key.fileobj.accept()[0], key.data), daemon=True).start()
                continue
            query, who = key.fileobj.recvfrom(4096)
            if len(query) > 16:
                key.fileobj.sendto(zone.answer(query, "udp", key.data), who)


main()
