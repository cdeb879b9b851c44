#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mangle.py SEED [comments] < FILE: the same profile, laid out badly; with comments and blank lines strewn in."""

import random
import re
import sys

rng = random.Random(int(sys.argv[1]))
strew = len(sys.argv) > 2
number = 0


def blanks():
    return rng.choice(["", " ", "  ", "\t", " \t "])


def tokens(code):
    return re.findall(r'"(?:[^"\\]|\\.)*"|[{},;]|[^\s{},;"]+|\s+', code)


def mangle(line):
    """More blanks, a line's end behind { and , and a semicolon at the end of a statement."""
    global number
    at = re.match(r'(?:[^"#]|"(?:[^"\\]|\\.)*")*', line).end()
    code, comment = line[:at].rstrip(), line[at:].rstrip()
    out = blanks()
    for part in tokens(code):
        if part.isspace():
            out += " " + blanks()
        elif part in "{,":
            out += blanks() + part + (rng.choice(["", "", "\n"]) if not comment else "") + blanks()
        else:
            out += part
    if code.strip() and not comment and rng.random() < 0.3 and not re.search(r"[{,(&|]\s*$", code):
        out += blanks() + ";"
    if strew and not comment and rng.random() < 0.3:
        number += 1
        comment = f"# comment {number}"
    out += blanks() + comment + blanks() + "\n"
    if strew and rng.random() < 0.2:
        out += "\n" * rng.randrange(4)
    if strew and rng.random() < 0.1:
        number += 1
        out += f"   #comment {number}\n"
    return out


for text in sys.stdin:
    sys.stdout.write(mangle(text))
