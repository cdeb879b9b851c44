#!/bin/sh
# SPDX-License-Identifier: MIT
# The artefact: opened by ordinary tools, reproducible, and never started when damaged.
. "$(dirname "$0")/../lib.sh"
need_root

cat >"$work/full.cave" <<'END'
profile full {
	network {
		allow tcp 192.0.2.0/24 except 192.0.2.9 port { 443, 8000-8010 }
		allow udp 10.0.0.53 port 53
		allow tcp 2001:db8::/64 port 443
		deny 10.1.2.3
	}
	credentialEnv ANTHROPIC_API_KEY
	env { pass TERM; set NODE_ENV "production" }
	files { read "/usr/lib"; write workspace }
	syscalls { deny uname }
}
END
expect_status "it compiles" 0 "$cavec" "$work/full.cave" -o "$work/full.bpf"
file=$work/full.bpf

# --- ordinary tools
run readelf -S -W "$file"
for section in cgroup/connect4 cgroup/connect6 cgroup/sendmsg4 cgroup/sendmsg6 cgroup/bind4 cgroup/bind6 \
	cgroup/sock_create cgroup_skb/egress cgroup_skb/ingress .BTF .BTF.ext cave.manifest cave.policy cave.identity \
	cave.digest cave.seccomp.x86_64; do
	expect "readelf shows $section" -n "$(grep -F " $section " "$work/out")"
done
expect "readelf has nothing to say against it" -z "$(grep -i warning "$work/err")"
run llvm-objdump -d "$file"
expect "llvm-objdump disassembles the programs" "$(grep -c 'exit' "$work/out")" -ge 9
pins=/sys/fs/bpf/cave-test-$$
cleanup() { rm -rf "$pins"; }
run bpftool prog loadall "$file" "$pins"
expect "bpftool loads them" "$status" = 0
expect "all nine" "$(find "$pins" -type f | wc -l)" = 9
for pin in "$pins"/*connect4*; do
	run bpftool prog dump xlated pinned "$pin" linum
	expect "the dump shows lines of the profile" -n "$(grep -F 'full.cave' "$work/out")"
	expect "with their text" -n "$(grep -F 'allow tcp 192.0.2.0/24' "$work/out")"
done
rm -rf "$pins"
# --- so many rules that the programs share functions
{
	echo 'profile shared { network {'
	for n in $(seq 1 12); do
		echo "allow tcp 10.9.$n.0/24 port { 443, 90$n }"
		echo "allow udp 2001:db8:$n::/64 port 53"
	done
	echo '} }'
} >"$work/shared.cave"
expect_status "a profile whose programs share functions compiles" 0 "$cavec" "$work/shared.cave" -o "$work/shared.bpf"
run llvm-objdump -d --section=.text "$work/shared.bpf"
expect "llvm-objdump shows the functions" "$(grep -c '^[0-9a-f]* <cave_peer[46]>:' "$work/out")" = 2
expect_status "bpftool loads the programs with them" 0 bpftool prog loadall "$work/shared.bpf" "$pins"
for pin in "$pins"/*egress*; do
	run bpftool prog dump xlated pinned "$pin" linum
	expect "a function's lines are the profile's" -n "$(grep -F 'allow tcp 10.9.7.0/24 port' "$work/out")"
	expect "and it is the profile that is named" -n "$(grep -F 'shared.cave' "$work/out")"
done
rm -rf "$pins"
run "$cavec" dump "$work/shared.bpf"
expect "the dump shows the functions" -n "$(grep -F 'program .text, ' "$work/out")"
expect "with their lines" -n "$(sed '1,/^program .text/d' "$work/out" | grep -F 'shared.cave:14: allow tcp 10.9.7.0/24')"
expect "which stand there only" -z "$(sed '/^program .text/,$d' "$work/out" | grep -F 'shared.cave:14:')"
expect "and where they are called" -n "$(grep -F 'call .text 0' "$work/out")"
expect_status "it starts" 0 "$caverun" "$work/shared.bpf" -- "$probe" ids
run "$caverun" --forget "$work/shared.bpf"

run bpftool btf dump file "$file"
expect "bpftool dumps its BTF" "$status" = 0
run "$cavec" dump "$file"
expect "cavec dumps it" "$status" = 0
for text in connect4 192.0.2.0/24 ANTHROPIC_API_KEY NODE_ENV full.cave; do
	expect "the dump shows $text" -n "$(grep -F "$text" "$work/out")"
done

# --- the same bytes anywhere
mkdir -p "$work/a/deep/er"
cp "$work/full.cave" "$work/a/deep/er"
(cd "$work/a/deep/er" && TZ=Asia/Tokyo LC_ALL=C HOME=/nowhere USER=other "$cavec" full.cave -o ../full.bpf)
expect "the same bytes from another folder, time zone and user" \
	"$(sha256sum <"$work/a/deep/full.bpf")" = "$(sha256sum <"$file")"
expect_status "it compiles on one processor" 0 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" \
	"$cavec" "$work/full.cave" -o "$work/one.bpf"
expect "to the same bytes" "$(sha256sum <"$work/one.bpf")" = "$(sha256sum <"$file")"
expect "no path of this machine in it" -z "$(grep -aF "$work" "$file")"

# --- damage: refused with a code, never started, never a crash
cat >"$work/damage.py" <<'END'
import subprocess, sys
caverun, policy, probe, step = sys.argv[1:5]
data = open(policy, "rb").read()
env = {"ANTHROPIC_API_KEY": "x", "PATH": "/usr/bin:/bin"}
wrong, tried = [], 0

def attempt(what, damaged):
    global tried
    with open(policy + ".damaged", "wb") as f:
        f.write(damaged)
    done = subprocess.run([caverun, policy + ".damaged", "--", probe, "ids"], capture_output=True, env=env, timeout=20)
    tried += 1
    if done.returncode != 125 or b"cave_sandbox_policy_invalid" not in done.stderr or done.stdout:
        wrong.append(f"{what}: status {done.returncode} {done.stderr[:80]!r}")

step = int(step)
for length in range(0, len(data), step):
    attempt(f"cut at {length}", data[:length])
for at in range(0, len(data), step):
    attempt(f"byte {at} flipped", data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1:])
attempt("a byte more", data + b"\0")
attempt("twice", data + data)
name = f"{tried} damaged artefacts are refused"
print(f"ok {name}" if not wrong else f"not ok {name}: {len(wrong)} are not; {'; '.join(wrong[:4])}")
END
echo 'profile p { }' >"$work/small.cave"
expect_status "a small one compiles" 0 "$cavec" "$work/small.cave" -o "$work/small.bpf"
size=$(stat -c %s "$work/small.bpf")
"$python" "$work/damage.py" "$caverun" "$work/small.bpf" "$probe" $((size / 600 + 1))
size=$(stat -c %s "$file")
"$python" "$work/damage.py" "$caverun" "$file" "$probe" $((size / 300 + 1))
