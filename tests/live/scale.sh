#!/bin/sh
# SPDX-License-Identifier: MIT
# A hundred thousand prefixes, with overlaps and denials: compiled, proved, loaded, and asked live about addresses in
# and around them.  In a network namespace where all of 10.0.0.0/8 is local: what is allowed is refused by nobody but
# the missing listener.
. "$(dirname "$0")/../lib.sh"
need_root

"$python" - "$work" <<'PY'
import ipaddress, random, sys
random.seed(20)
work, prefixes = sys.argv[1], []
for _ in range(100000):
    length = random.choice((26, 28, 29, 30, 31, 32, 32, 32))
    at = 10 << 24 | random.getrandbits(24)
    prefixes.append((at >> 32 - length << 32 - length, length))
denied = [(10 << 24 | random.getrandbits(24) & ~0xff, 24) for _ in range(200)]
show = lambda p: "%s/%d" % (ipaddress.ip_address(p[0]), p[1])
open(work + "/ranges.txt", "w").write("".join(show(p) + "\n" for p in prefixes))
with open(work + "/big.cave", "w") as f:
    f.write('profile big {\n network {\n  allow tcp list "ranges.txt" port { 443, 8000-8010 }\n')
    f.write("".join("  deny %s\n" % show(p) for p in denied))
    f.write(" }\n files { read %s }\n}\n" % '"/usr"')
held = {(p[0], p[1]) for p in prefixes}
shut = {p[0] for p in denied}
def allowed(a, port):
    if port != 443 and not 8000 <= port <= 8010 or a & ~0xff in shut:
        return False
    return any((a >> 32 - n << 32 - n, n) in held for n in (26, 28, 29, 30, 31, 32))
with open(work + "/asked", "w") as f:
    for at, length in random.sample(prefixes, 250) + random.sample(denied, 20):
        for a in (at - 1, at, at + (1 << 32 - length) - 1, at + (1 << 32 - length)):
            port = random.choice((443, 443, 8005, 8011))
            f.write("%s %d %d\n" % (ipaddress.ip_address(a), port, allowed(a, port)))
PY
cat >"$work/ask.py" <<'PY'
import errno, socket, sys
wrong = yes = no = 0
for line in sys.stdin:
    address, port, allowed = line.split()
    s = socket.socket()
    try:
        s.connect((address, int(port)))
        error = 0
    except OSError as e:
        error = e.errno
    s.close()
    yes, no = yes + (error == errno.ECONNREFUSED), no + (error == errno.EPERM)
    if error != (errno.ECONNREFUSED if allowed == "1" else errno.EPERM):
        wrong += 1
print("wrong %d" % wrong, "both" if yes > 100 and no > 100 else "one-sided %d %d" % (yes, no))
PY
chmod 644 "$work"/*

expect_status "a hundred thousand prefixes compile" 0 timeout 120 "$cavec" "$work/big.cave" -o "$work/big.bpf" || exit 0
expect "to an artefact of a sane size" "$(stat -c %s "$work/big.bpf")" -lt 16000000
expect "whose programs do not grow with the set" "$("$cavec" dump "$work/big.bpf" | grep -c '^ *[0-9][0-9]*  ')" -lt 4000
cat >"$work/inside" <<EOF2
ip link set lo up && ip route add local 10.0.0.0/8 dev lo
exec timeout 100 "$caverun" --script "$work/ask.py" "$work/big.bpf" -- "$python" <"$work/asked"
EOF2
run unshare -n sh "$work/inside"
expect "the kernel takes it, and answers as the prefixes say" "$(cat "$work/out" "$work/err")" = "wrong 0 both"
