#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""resigned.py IN FOLDER N SEED: N artefacts with damage within one section each, identities and digest made to fit."""

import hashlib
import random
import struct
import sys

ARCHES = ("x86_64", "aarch64", "riscv64")
HOOKS = ["cgroup/" + hook for hook in ("connect4", "connect6", "sendmsg4", "sendmsg6", "bind4", "bind6", "sock_create")]
HOOKS += ["cgroup_skb/egress", "cgroup_skb/ingress"]
HOOKS += ["cgroup/" + hook for hook in ("recvmsg4", "recvmsg6", "getpeername4", "getpeername6")]


def sections(data):
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    strings = headers[names][4]
    return {bytes(data[strings + h[0]:data.index(b"\0", strings + h[0])]).decode(): (h[4], h[5]) for h in headers}


def damage(data, start, size, rng):
    """Other bytes, a bit, numbers at the ends of their ranges, a piece of the section somewhere else in it."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = start + rng.randrange(size)
        how = rng.randrange(4)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at] = rng.randrange(256)
        elif how == 2 and at + 4 <= start + size:
            struct.pack_into("<I", data, at, rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, size, 0xFFFF)))
        else:
            n = min(rng.randrange(1, 64), start + size - at)
            source = start + rng.randrange(size - n + 1)
            data[at:at + n] = data[source:source + n]


def sign(data, where):
    identity = hashlib.sha256()
    for name in ("cave.manifest", "cave.policy", *HOOKS, *("cave.seccomp." + arch for arch in ARCHES)):
        if name in where:
            at, length = where[name]
            identity.update(name.encode() + b"\0" + struct.pack("<Q", length) + data[at:at + length])
    at = where["cave.identity"][0]
    data[at:at + 32] = identity.digest()
    data[-32:] = hashlib.sha256(data[:-32]).digest()


def main():
    with open(sys.argv[1], "rb") as f:
        whole = f.read()
    where, rng = sections(whole), random.Random(int(sys.argv[4]))
    names = sorted(name for name, (_, size) in where.items()
                   if size and name.startswith(("c", ".maps")) and name not in ("cave.identity", "cave.digest"))
    control = bytearray(whole)
    sign(control, where)
    assert control == whole, "what is not damaged has another identity"
    for i in range(int(sys.argv[3])):
        data, name = bytearray(whole), names[i % len(names)]
        damage(data, *where[name], rng)
        sign(data, where)
        with open(f"{sys.argv[2]}/{i}-{name.replace('/', '-')}.bpf", "wb") as f:
            f.write(data)


main()
