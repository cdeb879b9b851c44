#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sections.py FILE [NAME]: the sections of an ELF64 file with their sizes and digests, or the bytes of one."""

import hashlib
import struct
import sys


def sections(data):
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    strings = headers[names][4]
    for header in headers:
        end = data.index(b"\0", strings + header[0])
        yield data[strings + header[0]:end].decode(), data[header[4]:header[4] + header[5]]


with open(sys.argv[1], "rb") as f:
    for name, content in sections(f.read()):
        if len(sys.argv) == 2:
            print(f"{name} {len(content)} {hashlib.sha256(content).hexdigest()}")
        elif name == sys.argv[2]:
            sys.stdout.buffer.write(content)
