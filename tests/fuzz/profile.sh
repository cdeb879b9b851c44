#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles made from the examples by taking words away, doubling, exchanging and inserting them, through the whole compiler
# under sanitizers; and what is accepted must be the same policy when its canonical text is compiled.
# `tests/fuzz/profile.sh SECONDS` hunts as long as that with libFuzzer, from the same inputs (make fuzz-profile).
. "$(dirname "$0")/../lib.sh"

replay=$build/san/tests/fuzz/profile
mkdir "$work/inputs" "$work/found"
# The first number is the seed, the second how many are made.
"$python" - 1 1000 "$work" "$top"/examples/*.cave <<'END'
import random, re, sys
rng, n, work = random.Random(int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
texts = [open(name).read() for name in sys.argv[4:]]
split = [re.findall(r'"(?:[^"\\\n]|\\.)*"|#.*|\n|[{}(),;|&]|[^\s{}(),;|&"]+|[ \t]+|.', text) for text in texts]
words = sorted({w for part in split for w in part if w.strip() and not w.startswith("#")})
words += ["any", "true", "*", "0.0.0.0/0", "::/0", "::ffff:10.0.0.1", "65536", "-1", "0x7fffffffffffffff", "\0", "\u202e",
          "profile q {", "expect", "with errno ENOSYS", "in { 1-3, 2 }", "${folder:x}", "&&", "||", "optional", "home/x"]


def change(part):
    part = list(part)
    for _ in range(rng.randrange(1, 5)):
        at, other = rng.randrange(len(part)), rng.randrange(len(part))
        how = rng.randrange(5)
        if how == 0:
            del part[at:at + rng.randrange(1, 4)]
        elif how == 1:
            part[at:at] = part[other:other + rng.randrange(1, 12)]
        elif how == 2:
            part[at], part[other] = part[other], part[at]
        elif how == 3:
            part[at] = rng.choice(words)
        else:
            part.insert(at, " " + rng.choice(words) + " ")
        part = part or [" "]
    return "".join(part)


for i, text in enumerate(texts):
    open(f"{work}/inputs/{i}", "w").write(text)
for i in range(len(texts), n):
    open(f"{work}/inputs/{i}", "w").write(change(rng.choice(split)))
words = [w.replace("\\", "\\\\").replace('"', '\\"') for w in words if w.isascii() and w.isprintable()]
open(work + "/words", "w").writelines(f'"{w}"\n' for w in words)
END

if [ $# = 0 ]; then
	if [ ! -x "$replay" ]; then
		skip "the compiler's fuzzer" "it is not built: make SAN=1 unit"
		exit 0
	fi
	expect "examples and what was made of them" "$(find "$work/inputs" -type f | wc -l)" = 1000
	if "$replay" "$work/inputs" 60 >"$work/out" 2>&1; then
		ok "each is refused, or the same policy by its canonical text"
	else
		not_ok "each is refused, or the same policy by its canonical text" "status $?; $(tail -n 40 "$work/out")"
	fi
	expect "all were tried" "$(tail -n 1 "$work/out")" = 1000
	exit 0
fi
if "$build/fuzz/profile" -artifact_prefix="$work/found/" -dict="$work/words" -timeout=120 -max_len=1000 \
	-max_total_time="$1" "$work/inputs" >"$work/out" 2>&1; then
	ok "new inputs for $1 seconds"
else
	not_ok "new inputs for $1 seconds" "$(grep SUMMARY "$work/out"); input $(cat "$work"/found/[!s]*)"
fi
