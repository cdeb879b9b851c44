#!/bin/sh
# SPDX-License-Identifier: MIT
# The seed system's own probe, from Node: all of it gets through outside, none of it under the empty profile, and Node
# runs to its end.  As root, as an ordinary user, and as one who gets no user namespace.
. "$(dirname "$0")/../lib.sh"
need_root

bin=$work/bin
mkdir "$bin"
cp "$caverun" "$build/cave-load" "$build/tests/tools/nouserns" "$bin"
cp "$top/tests/live/seedprobe.mjs" "$work"
echo secret >"$work/secret"
chmod -R go+rX "$bin" "$work"
compile empty "$work/empty.bpf" <<'END'
profile empty { }
END
printf '{"schema_version":1,"network":false,"child_process":false,"credential_env":[]}' >"$work/seed.json"
expect_status "the seed system's own profile compiles" 0 "$cavec" "$work/seed.json" -o "$work/seed.bpf"
chmod 644 "$work"/*.bpf

# A server that answers HTTP on TCP, and every DNS question with 192.0.2.1 on UDP; it notes each datagram.
cat >"$work/server.py" <<'END'
import socket, sys, threading
tcp = socket.create_server(("127.0.0.1", 0))
port = tcp.getsockname()[1]
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", port))
def datagrams():
    while True:
        question, peer = udp.recvfrom(512)
        print("datagram", flush=True)
        if len(question) > 12:
            end = question.index(b"\0", 12) + 5
            udp.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end] +
                       b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc0\0\2\1", peer)
threading.Thread(target=datagrams, daemon=True).start()
print(port, flush=True)
while True:
    c, _ = tcp.accept()
    print("connection", flush=True)
    c.recv(4096)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    c.close()
END
"$python" "$work/server.py" >"$work/seen" &
server=$!
cleanup() { kill $server 2>/dev/null; }
until [ -s "$work/seen" ]; do sleep 0.05; done
port=$(head -n 1 "$work/seen")

answers() { printf 'read %s\nspawn %s\nfetch %s\nresolve %s\nsend %s\nend' "$1" "$1" "$1" "$1" "$1"; }
seen() { grep -c . "$work/seen"; }

ask() {
	kind=$1
	shift
	expect_output "$kind: outside, all of it gets through" "$(answers allowed)" \
		"$@" node "$work/seedprobe.mjs" "$work/secret" "$port"
	before=$(seen)
	for policy in empty seed; do
		expect_output "$kind: under the $policy profile none of it does" "$(answers refused)" \
			"$@" "$bin/caverun" --script "$work/seedprobe.mjs" "$work/$policy.bpf" -- \
			node "$work/secret" "$port"
	done
	expect "$kind: and nothing arrived" "$(seen)" = "$before"
}

ask root env
ask user setpriv --reuid=65534 --regid=65534 --clear-groups
ask bare "$bin/nouserns" 65534
