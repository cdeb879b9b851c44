#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""unix_server.py FOLDER NAME: unix sockets of every type, at FOLDER/stream … and at the abstract names NAME-stream …"""

import os
import socket
import sys
import time

kept = []
for name, kind in (("stream", socket.SOCK_STREAM), ("seqpacket", socket.SOCK_SEQPACKET), ("dgram", socket.SOCK_DGRAM)):
    for address in (os.path.join(sys.argv[1], name), f"\0{sys.argv[2]}-{name}"):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(address)
        if address[0] != "\0":
            os.chmod(address, 0o777)
        if kind != socket.SOCK_DGRAM:
            s.listen(64)
        kept.append(s)
print("ready", flush=True)
time.sleep(600)
