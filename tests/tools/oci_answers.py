# SPDX-License-Identifier: MIT
"""What a container engine's seccomp JSON says to calls: an evaluation of its own, after the runtime specification.

oci_answers.py FILE <calls      a call is a line: its name, its number, then up to five arguments

Prints for each what tests/tools/tryfilter prints.  Rules that overlap with different answers are an error, since the
engines do not say which of them counts.
"""
import json
import sys

policy = json.load(open(sys.argv[1]))
assert policy["architectures"] == ["SCMP_ARCH_X86_64"]


def answer(action, errno):
    return {"SCMP_ACT_ALLOW": "allowed", "SCMP_ACT_LOG": "allowed", "SCMP_ACT_ERRNO": f"errno {errno}",
            "SCMP_ACT_KILL_PROCESS": "killed"}[action]


def matches(rule, args):
    seen = [a["index"] for a in rule.get("args", [])]
    assert len(seen) == len(set(seen)), "two conditions on one argument are alternatives to an engine"
    for a in rule.get("args", []):
        assert a["op"] == "SCMP_CMP_MASKED_EQ"
        if args[a["index"]] & a["value"] != a["valueTwo"]:
            return False
    return True


for line in sys.stdin:
    name, _, *args = line.split()
    args = [int(a, 0) & 0xFFFFFFFFFFFFFFFF for a in args] + [0] * 6
    found = {answer(r["action"], r.get("errnoRet")) for r in policy["syscalls"]
             if name in r["names"] and matches(r, args)}
    assert len(found) < 2, f"{line}: {found}"
    print(found.pop() if found else answer(policy["defaultAction"], policy.get("defaultErrnoRet")))
