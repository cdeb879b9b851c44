#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""forge.py IN OUT path|text OLD NEW | forge.py IN OUT answer | forge.py IN OUT unset SECTION: a forged artefact.

path, text: NEW stands for OLD, of the same length, in the manifest or in the canonical text.
answer: in its filters, every call that is allowed unconditionally gets the answer 0 and is not made.
unset: the program of that section begins with what was never set, which the kernel's verifier refuses.
Identity and digest are made to fit.
"""

import hashlib
import struct
import sys

FILTER, ALLOW, ANSWER_0, RET = 6, 0x7FFF0000, 0x00050000, 0x06
HOOKS = ["cgroup/" + hook for hook in ("connect4", "connect6", "sendmsg4", "sendmsg6", "bind4", "bind6", "sock_create")]
HOOKS += ["cgroup_skb/egress", "cgroup_skb/ingress"]
R0_IS_R9 = b"\xbf\x90\0\0\0\0\0\0"
ARCHES = {0xC000003E: "x86_64", 0xC00000B7: "aarch64", 0xC00000F3: "riscv64"}


def sections(data):
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    strings = headers[names][4]
    return {bytes(data[strings + h[0]:data.index(b"\0", strings + h[0])]).decode(): (h[4], h[5]) for h in headers}


def records(data, start, size):
    at = start + 16
    while at < start + size:
        kind, _, length = struct.unpack_from("<HHI", data, at)
        yield kind, at + 8
        at += 8 + (length + 7) // 8 * 8


def answer(data, where):
    for kind, at in records(data, *where["cave.manifest"]):
        if kind != FILTER:
            continue
        arch, count = struct.unpack_from("<II", data, at)
        patched = {struct.unpack_from("<I", data, at + 8 + 8 * i)[0] for i in range(count)}
        start, size = where["cave.seccomp." + ARCHES[arch]]
        for i in range(size // 8):
            code, _, value = struct.unpack_from("<HHI", data, start + 8 * i)
            if code == RET and value == ALLOW and i not in patched:
                struct.pack_into("<I", data, start + 8 * i + 4, ANSWER_0)


def main():
    with open(sys.argv[1], "rb") as f:
        data = bytearray(f.read())
    where = sections(data)
    if sys.argv[3] in ("path", "text"):
        start, size = where["cave.manifest" if sys.argv[3] == "path" else "cave.policy"]
        old, new = sys.argv[4].encode(), sys.argv[5].encode()
        section = bytes(data[start:start + size])
        assert len(old) == len(new) and section.count(old) == 1
        data[start:start + size] = section.replace(old, new)
    elif sys.argv[3] == "unset":
        start, _ = where[sys.argv[4]]
        data[start:start + 8] = R0_IS_R9
    else:
        answer(data, where)
    identity = hashlib.sha256()
    for name in ("cave.manifest", "cave.policy", *HOOKS, *("cave.seccomp." + arch for arch in ARCHES.values())):
        if name in where:
            at, length = where[name]
            identity.update(name.encode() + b"\0" + struct.pack("<Q", length) + data[at:at + length])
    at = where["cave.identity"][0]
    data[at:at + 32] = identity.digest()
    data[-32:] = hashlib.sha256(data[:-32]).digest()
    with open(sys.argv[2], "wb") as f:
        f.write(data)


main()
