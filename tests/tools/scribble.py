#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scribble.py IN OUT SECTION SEED: random bytes in a section that is outside the identity; the digest is made to fit."""

import hashlib
import random
import struct
import sys


def main():
    with open(sys.argv[1], "rb") as f:
        data = bytearray(f.read())
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    strings = headers[names][4]
    dice = random.Random(int(sys.argv[4]))
    for h in headers:
        name = bytes(data[strings + h[0]:data.index(b"\0", strings + h[0])]).decode()
        if name != sys.argv[3]:
            continue
        # The number of rows stays now and then, so that what comes after it is read.
        first = h[4] + (8 if dice.random() < .8 else 0)
        for at in range(first, h[4] + h[5]):
            if dice.random() < .3:
                data[at] = dice.randrange(256)
        if dice.random() < .5:
            data[h[4] + h[5] - 1] = 0
    data[-32:] = hashlib.sha256(data[:-32]).digest()
    with open(sys.argv[2], "wb") as f:
        f.write(data)


main()
