#!/bin/sh
# SPDX-License-Identifier: MIT
# `allow netlink route`: tools see the interfaces, nothing can be changed; without it they fail with an error.
. "$(dirname "$0")/../lib.sh"
need_root

bin=$work/bin
mkdir "$bin"
cp "$caverun" "$build/cave-load" "$bin"
chmod -R go+rX "$bin"
compile with "$work/with.bpf" <<'END'
profile with { network { allow netlink route }; files { read "/usr/lib", "/usr/share" } }
END
compile without "$work/without.bpf" <<'END'
profile without { files { read "/usr/lib", "/usr/share" } }
END
compile inet "$work/inet.bpf" <<'END'
profile inet { network { allow netlink route; allow udp 192.0.2.1 port 53 }; files { read "/usr/lib", "/usr/share" } }
END

cat >"$work/interfaces.go" <<'END'
package main

import (
	"fmt"
	"net"
)

func main() {
	all, err := net.Interfaces()
	for _, i := range all {
		if i.Name == "lo" {
			addresses, _ := i.Addrs()
			fmt.Println(i.Name, len(addresses) > 0)
		}
	}
	if err != nil {
		fmt.Println("refused")
	}
}
END
GOCACHE="$work/gocache" GO111MODULE=off CGO_ENABLED=0 go build -o "$bin/interfaces" "$work/interfaces.go"

# Each line: what is tried and what came of it.
cat >"$work/try.py" <<'END'
import socket, struct
def attempt(name, call):
    try:
        call()
        print(name, "allowed")
    except OSError as e:
        print(name, "refused", e.errno)
def route(kind=socket.SOCK_RAW):
    s = socket.socket(socket.AF_NETLINK, kind, 0)
    s.settimeout(2)
    return s
def ask(kind, flags, body):
    s = route()
    s.bind((0, 0))
    s.send(struct.pack("=IHHII", 16 + len(body), kind, flags | 1, 1, 0) + body)
    answer = s.recv(65536)
    if struct.unpack("=H", answer[4:6])[0] == 2:
        error = -struct.unpack("=i", answer[16:20])[0]
        if error:
            raise OSError(error, "")
attempt("list links", lambda: ask(18, 0x300, bytes(16)))
attempt("list routes", lambda: ask(26, 0x300, bytes(12)))
attempt("datagram socket", lambda: route(socket.SOCK_DGRAM))
attempt("change a link", lambda: ask(16, 4, struct.pack("=BxHiII", 0, 0, 1, 0, 1)))
attempt("add an address", lambda: ask(20, 0x404, struct.pack("=BBBBI", 2, 32, 0, 0, 1) + struct.pack("=HH4B", 8, 2, 10, 9, 9, 9)))
attempt("make a link", lambda: ask(16, 0x604, bytes(16)))
attempt("send to a process", lambda: route().sendto(bytes(16), (1, 0)))
attempt("send to a group", lambda: route().sendto(bytes(16), (0, 1)))
attempt("bind to a group", lambda: route().bind((0, 1)))
attempt("join a group by option", lambda: route().setsockopt(270, 1, 1))
attempt("diagnosis", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4))
attempt("generic", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16))
attempt("inet", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
END
chmod 644 "$work"/*.py "$work"/*.bpf

as() {
	case $kind in
	root) "$@" ;;
	user) setpriv --reuid=65534 --regid=65534 --clear-groups "$@" ;;
	esac
}
run_with() {
	policy=$1
	shift
	as "$bin/caverun" "$work/$policy.bpf" -- "$@"
}
try() {
	as "$bin/caverun" --script "$work/try.py" "$work/$1.bpf" -- "$python" 2>&1
}

free='list links allowed
list routes allowed
datagram socket allowed
change a link allowed
add an address allowed
make a link refused 95
send to a process refused 111
send to a group allowed
bind to a group allowed
join a group by option allowed
diagnosis allowed
generic allowed
inet allowed'
granted='list links allowed
list routes allowed
datagram socket allowed
change a link refused 1
add an address refused 1
make a link refused 1
send to a process refused 1
send to a group refused 1
bind to a group allowed
join a group by option refused 1
diagnosis refused 1
generic refused 1
inet refused 1'

# A control in a network of its own, where everything may be changed.
control=$(unshare --net sh -c "ip link set lo up; $python $work/try.py")
expect "outside: what is tried works" "$(printf '%s' "$control" | grep -v 'make a link\|to a process')" = \
	"$(printf '%s' "$free" | grep -v 'make a link\|to a process')"
expect "outside: making a link without a kind is no question of privilege" -z \
	"$(printf '%s\n' "$control" | grep -E '(make a link|to a process) refused 1$')"

for kind in root user; do
	expect "$kind: reads, and changes nothing" "$(try with)" = "$granted"
	expect "$kind: without the grant nothing" -z "$(try without | grep allowed)"
	expect_output "$kind: node lists interfaces" true run_with with node -p 'os.networkInterfaces().lo.length > 0'
	expect_output "$kind: node without it: an error that can be caught" ERR_SYSTEM_ERROR run_with without node -e \
		'try { os.networkInterfaces() } catch (e) { console.log(e.code) }'
	expect_output "$kind: python3 lists interfaces" True run_with with "$python" -c \
		'import socket; print((1, "lo") in socket.if_nameindex())'
	expect_output "$kind: python3 without it: an error that can be caught" refused run_with without "$python" -c '
import socket
try:
    socket.if_nameindex()
except OSError:
    print("refused")'
	expect_output "$kind: a Go program lists interfaces" "lo true" run_with with "$bin/interfaces"
	expect_output "$kind: a Go program without it" refused run_with without "$bin/interfaces"
	for policy in with without; do
		expect_output "$kind: getaddrinfo with AI_ADDRCONFIG, $policy the grant" 127.0.0.1 run_with $policy "$python" -c '
import socket
print(socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)[0][4][0])'
	done
done
kind=root
expect "beside a rule: the same" "$(try inet)" = "$granted"
