#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""nameserver.py ADDRESS: answers every question for an A record with 192.0.2.2, and others with nothing.

UDP and TCP, port 53.  Prints "ready" when it is.
"""

import ipaddress
import socket
import socketserver
import struct
import sys
import threading


def answer(query):
    """What is no question is not answered."""
    if len(query) < 17:
        return b""
    end = query.index(b"\0", 12) + 5
    kind = struct.unpack_from("!H", query, end - 4)[0]
    found = kind == 1
    reply = query[:2] + struct.pack("!HHHHH", 0x8180, 1, found, 0, 0) + query[12:end]
    return reply + (b"\xc0\x0c" + struct.pack("!HHIH4s", 1, 1, 60, 4, bytes([192, 0, 2, 2])) if found else b"")


class Datagrams(socketserver.BaseRequestHandler):
    def handle(self):
        query, sock = self.request
        reply = answer(query)
        if reply:
            sock.sendto(reply, self.client_address)


class Streams(socketserver.StreamRequestHandler):
    def handle(self):
        head = self.rfile.read(2)
        if len(head) == 2:
            reply = answer(self.rfile.read(struct.unpack("!H", head)[0]))
            self.wfile.write(struct.pack("!H", len(reply)) + reply)


def main():
    six = ipaddress.ip_address(sys.argv[1]).version == 6
    for base in (socketserver.ThreadingUDPServer, socketserver.ThreadingTCPServer):
        base.address_family = socket.AF_INET6 if six else socket.AF_INET
        base.allow_reuse_address = True
    servers = [socketserver.ThreadingUDPServer((sys.argv[1], 53), Datagrams),
               socketserver.ThreadingTCPServer((sys.argv[1], 53), Streams)]
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    servers[0].serve_forever()


main()
