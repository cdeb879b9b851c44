#!/bin/sh
# SPDX-License-Identifier: MIT
# Every example compiles and does what its comment says, on a network that has the hosts it names.
. "$(dirname "$0")/../lib.sh"
need_root

here=cave$$h there=cave$$t servers=''
cleanup() {
	for pid in $servers; do kill "$pid" 2>/dev/null; done
	ip netns del $here 2>/dev/null
	ip netns del $there 2>/dev/null
}
at() {
	ns=$1
	shift
	nsenter --net="/run/netns/$ns" "$@"
}

ip netns add $here
ip netns add $there
ip link add wire netns $here type veth peer name wire netns $there
for ns in $here $there; do
	ip -n "$ns" link set lo up
	ip -n "$ns" link set wire up
done
ip -n $here addr add 10.0.0.1/8 dev wire
ip -n $here -6 addr add fd00::1/64 nodad dev wire
ip -n $here route add default dev wire
ip -n $here -6 route add default dev wire
for address in 140.82.112.3 140.82.128.1 10.20.0.15 10.20.0.16 10.30.0.1 10.30.0.7 10.30.0.66 160.79.104.10 192.0.2.7; do
	ip -n $there addr add $address/32 dev wire
done
for address in 2606:50c0::1 2607:6bc0::10 2001:db8::7; do
	ip -n $there -6 addr add $address/128 nodad dev wire
done
ip -n $there route add 10.0.0.1/32 dev wire
ip -n $there -6 route add fd00::1/128 dev wire

cat >"$work/server.py" <<'END'
import selectors, socket
wait = selectors.DefaultSelector()
for port in (443, 4873, 5432, 80, 11434):
    s = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    wait.register(s, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in wait.select():
        c, _ = key.fileobj.accept()
        c.recv(4096)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes")
        c.close()
END
nsenter --net="/run/netns/$there" "$python" "$work/server.py" >"$work/ready" &
servers=$!
nsenter --net="/run/netns/$here" "$python" "$work/server.py" >"$work/ready2" &
servers="$servers $!"
until grep -q ready "$work/ready" && grep -q ready "$work/ready2"; do sleep 0.05; done

mkdir "$work/w"
cat >"$work/fetch.mjs" <<'END'
const text = await fetch(process.argv[2]).then((r) => r.text(), (e) => `refused ${e.cause.code}`);
console.log(text, 'ANTHROPIC_API_KEY' in process.env, process.env.PGHOST ?? '');
END
# under EXAMPLE [OPTION…] -- PROGRAM…: with a workspace where the example grants one.
under() {
	example=$1 options=
	shift
	if grep -q 'write workspace' "$top/examples/$example.cave"; then set -- --workspace "$work/w" "$@"; fi
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	# shellcheck disable=SC2086
	at $here "$caverun" $options "$work/$example.bpf" "$@"
}
fetches() {
	expect_output "$1: reaches $2" "$3" under "$1" --script "$work/fetch.mjs" -- node "$2"
}
reaches() {
	expect_output "$1: reaches $2 port $3" "tcp $2 $3: allowed" under "$1" -- "$probe" tcp "$2" "$3"
}
refuses() {
	run at $here "$probe" tcp "$2" "$3"
	expect "$1: control: $2 port $3 is there" "$(cat "$work/out")" = "tcp $2 $3: allowed"
	run under "$1" -- "$probe" tcp "$2" "$3"
	expect "$1: does not reach $2 port $3" "$(cat "$work/out")" = "tcp $2 $3: refused EPERM"
}

for example in "$top"/examples/*.cave; do
	name=$(basename "$example" .cave)
	expect_status "$name compiles" 0 "$cavec" "$example" -o "$work/$name.bpf"
	expect "$name says what it is for" "$(head -c 2 "$example")" = '# '
done
expect "there are at least six" "$(find "$top/examples" -name '*.cave' | wc -l)" -ge 6
export ANTHROPIC_API_KEY=test

echo 'x = 1' >"$work/w/code.py"
expect_status "format-folder: rewrites its folder" 0 under format-folder -- \
	sed -i 's/ = /=/' code.py
expect "format-folder: it did" "$(cat "$work/w/code.py")" = 'x=1'
expect_status "format-folder: not another" 2 under format-folder -- \
	sed -i 's/ = /=/' "$work/fetch.mjs"
run under format-folder -- "$probe" tcp 140.82.112.3 443
expect "format-folder: no network" "$(cat "$work/out")" = 'tcp 140.82.112.3 443: refused EPERM'

fetches fetch-service http://140.82.112.3:443/ 'yes false '
fetches fetch-service 'http://[2606:50c0::1]:443/' 'yes false '
refuses fetch-service 140.82.112.3 80
refuses fetch-service 140.82.128.1 443
refuses fetch-service 2001:db8::7 443
fetches package-registry http://10.20.0.15:4873/ 'yes false '
reaches package-registry 10.20.0.15 443
refuses package-registry 10.20.0.16 4873
fetches database http://10.30.0.7:5432/ 'yes false 10.30.0.7'
refuses database 10.30.0.1 5432
refuses database 10.30.0.66 5432
refuses database 10.30.0.7 443
fetches local-model http://127.0.0.1:11434/ 'yes false '
reaches local-model ::1 11434
refuses local-model 127.0.0.1 443
refuses local-model 10.20.0.15 443
cat >"$work/status.mjs" <<'END'
import { readFileSync } from 'node:fs';
const server = readFileSync(process.env.HOME + '/.kube/config', 'utf8').trim();
let other = 'read';
try { readFileSync(process.env.HOME + '/.ssh/id'); } catch (e) { other = e.code; }
console.log(await fetch(server).then((r) => r.text(), (e) => e.cause.code), other);
END
mkdir -p "$work/home/.kube" "$work/home/.ssh" "$work/down"
echo http://10.20.0.15:443/ >"$work/home/.kube/config"
echo key >"$work/home/.ssh/id"
export HOME="$work/home"
expect_output "cluster-status: asks the server that the caller's settings name" 'yes EACCES' \
	under cluster-status --script "$work/status.mjs" -- node
refuses cluster-status 10.20.0.16 443
fetched() { at $here "$caverun" --folder out="$work/down" "$work/download-file.bpf" -- curl -sfo "$work/down/x" "$1"; }
expect_status "download-file: curl fetches" 0 fetched http://10.20.0.15:4873/x
expect "download-file: into its folder" "$(cat "$work/down/x")" = yes
expect_status "download-file: from no other host" 7 fetched http://10.20.0.16:4873/x
fetches api-call http://160.79.104.10:443/ 'yes true '
reaches api-call 2607:6bc0::10 443
refuses api-call 192.0.2.7 443

# By name, where a name server is: in a mount namespace, for /etc/resolv.conf.
echo 'nameserver 192.0.2.7' >"$work/resolv.conf"
cat >"$work/zone" <<'END'
{ "api.github.com": { "A": ["140.82.112.3"], "AAAA": ["2606:50c0::1"] }, "tracker.corp.example": { "A": ["10.30.0.7"] },
  "eu.tracker.corp.example": { "A": ["10.20.0.15"] }, "admin.tracker.corp.example": { "A": ["10.20.0.15"] },
  "moved.tracker.corp.example": { "A": ["192.0.2.7"] }, "gist.github.com": { "A": ["140.82.112.3"] } }
END
nsenter --net="/run/netns/$there" "$python" "$top/tests/tools/zone.py" "$work/zone" "$work/questions" 192.0.2.7 \
	>"$work/ready3" &
servers="$servers $!"
until grep -q ready "$work/ready3"; do sleep 0.05; done
cat >"$work/names.mjs" <<'END'
for (const name of process.argv.slice(2))
    console.log(await fetch(`http://${name}:443/`).then((r) => r.text(), (e) => e.cause.code ?? e.cause.errors[0].code));
END
# named WANTED COMMAND… NAME…: what node gets from each.
named() {
	wanted=$1
	shift
	run unshare -m --propagation private sh -c 'mount --bind "$0/resolv.conf" "$(readlink -f /etc/resolv.conf)" &&
		exec nsenter --net="$1" "$2" --script "$0/names.mjs" "$0/look-up-issues.bpf" -- node "$3" "$4" "$5" "$6" "$7"' \
		"$work" "/run/netns/$here" "$caverun" "$@"
	expect "look-up-issues: $*" "$(tr '\n' ' ' <"$work/out")" = "$wanted "
}
named 'yes yes yes ENOTFOUND ENOTFOUND' api.github.com tracker.corp.example eu.tracker.corp.example gist.github.com \
	admin.tracker.corp.example
named 'ENOTFOUND yes yes yes yes' moved.tracker.corp.example api.github.com api.github.com api.github.com api.github.com
expect "look-up-issues: no other name is asked for" "$(grep -cE '^(gist|admin)' "$work/questions")" = 0
refuses look-up-issues 140.82.128.1 443

# The demonstration, and what it is to show.
run "$top/examples/demo"
expect "the demonstration runs to its end" "$status" = 0
shows() {
	line=$(grep "^$1" "$work/out" | tr -s ' ')
	expect "the demonstration: $1" "$line" = "$1 $2"
}
shows 'write into the workspace' 'written written'
shows 'connect to the granted host' 'connected connected'
shows 'connect to another host' 'connected refused (EPERM)'
shows 'connect to another port' 'connected refused (EPERM)'
shows 'start a child process' 'ran refused (EPERM)'
shows 'see the granted credential' 'there there'
shows 'see another credential' 'there refused (not there)'
expect "the demonstration: a unix socket is refused" -n "$(grep 'unix socket *connected *refused' "$work/out")"
expect "the demonstration: a file is refused" -n "$(grep 'not granted *read *refused' "$work/out")"
