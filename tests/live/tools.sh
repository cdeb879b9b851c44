#!/bin/sh
# SPDX-License-Identifier: MIT
# Real tools, unmodified, do their work under profiles that grant what they need, as root and as an ordinary user.
. "$(dirname "$0")/../lib.sh"
need_root

bin=$work/bin home=$work/home
mkdir "$bin" "$home"
cp "$caverun" "$build/cave-load" "$bin"
chmod -R go+rX "$bin"
servers=''
cleanup() { for pid in $servers; do kill "$pid" 2>/dev/null; done; }

compile tool "$home/tool.bpf" <<'END'
profile tool {
	files {
		write workspace
		read "/usr/lib", "/usr/share", "/usr/local/lib", "/usr/include", "/etc/python3.11"
	}
	env { set HOME workspace; set GIT_CONFIG_NOSYSTEM "1" }
}
END
compile local "$home/local.bpf" <<'END'
profile local {
	network { allow tcp 127.0.0.1 port 17801 }
	files { write workspace; read "/usr/lib", "/usr/share" }
	env { set HOME workspace }
}
END

cat >"$work/work.mjs" <<'END'
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { readFileSync, writeFileSync, promises as fs } from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { gzipSync, gunzipSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
if (!isMainThread) {
	parentPort.postMessage('from the worker');
} else {
	await sleep(5);
	const worker = new Worker(fileURLToPath(import.meta.url));
	const message = await new Promise((done) => worker.on('message', done));
	writeFileSync('out.txt', gunzipSync(gzipSync('packed ' + message)));
	await fs.appendFile('out.txt', ' ' + randomBytes(4).length);
	await fs.readdir('.');
	createHash('sha256').update('x').digest('hex');
	console.log(readFileSync('out.txt', 'utf8'), process.version.length > 2, new Date(0).toISOString());
}
END
cat >"$work/work.py" <<'END'
import asyncio, hashlib, json, random, socket, ssl, tempfile, threading, zlib
from concurrent.futures import ThreadPoolExecutor
async def main():
    loop = asyncio.get_running_loop()
    loop.call_later(0.01, lambda: None)
    woken = asyncio.Event()
    threading.Thread(target=lambda: loop.call_soon_threadsafe(woken.set)).start()
    await asyncio.wait_for(woken.wait(), 1)
    with ThreadPoolExecutor(4) as pool:
        return sum(await asyncio.gather(*(loop.run_in_executor(pool, pow, i, 2) for i in range(5))))
print(asyncio.run(main()))
with tempfile.NamedTemporaryFile(dir=".") as f:
    f.write(zlib.compress(json.dumps([1]).encode())); f.flush()
a, b = socket.socketpair(); a.sendall(b"x"); assert b.recv(1) == b"x"
assert len(hashlib.sha256(random.randbytes(3)).digest()) == 32
assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 0
assert socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)
try:
    socket.create_connection(("127.0.0.1", 17801), 1)
except PermissionError:
    print("refused")
END
cat >"$work/work.go" <<'END'
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

func main() {
	var wg sync.WaitGroup
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func() { time.Sleep(time.Millisecond); wg.Done() }()
	}
	wg.Wait()
	err := os.WriteFile("go.txt", []byte("text"), 0o644)
	read, _ := os.ReadFile("go.txt")
	_, dial := net.DialTimeout("tcp", "127.0.0.1:17801", time.Second)
	run := exec.Command("/bin/true").Run()
	fmt.Println(err, string(read), dial != nil, run != nil)
}
END
export GOCACHE="$work/gocache" GO111MODULE=off CGO_ENABLED=0
go build -o "$bin/gotool" "$work/work.go" || not_ok "the Go program builds" "go build failed"
chmod 644 "$work"/work.* "$home"/*.bpf

"$python" -m http.server --bind 127.0.0.1 --directory "$work" 17801 >/dev/null 2>&1 &
servers="$servers $!"

as() {
	case $kind in
	root) "$@" ;;
	user) setpriv --reuid=65534 --regid=65534 --clear-groups "$@" ;;
	esac
}

# with POLICY [OPTION…] -- PROGRAM…: in the workspace
with() {
	policy=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	# shellcheck disable=SC2086
	as "$bin/caverun" --workspace "$w" $options "$home/$policy.bpf" "$@"
}

suite() {
	kind=$1 w=$work/$1
	mkdir "$w"
	echo 'a line' >"$w/file"
	[ "$kind" = root ] || chown -R 65534:65534 "$w"

	expect_output "$kind: node: a script with workers, timers, files, zlib and crypto" \
		"packed from the worker 4 true 1970-01-01T00:00:00.000Z" \
		with tool --script "$work/work.mjs" -- node
	expect_output "$kind: node: an expression" 3 with tool -- node -p 1+2
	expect_output "$kind: node: a child is refused as an error, not an end" EPERM with tool -- node -e \
		'try { require("child_process").spawn("/bin/true") } catch (e) { console.log(e.code) }'
	expect_output "$kind: python3: threads, asyncio, pairs, temporary files" "$(printf '30\nrefused')" \
		with tool --script "$work/work.py" -- /usr/bin/python3
	expect_output "$kind: a Go program: goroutines, files, refused peers and children" "<nil> text true true" \
		with tool -- "$bin/gotool"
	expect_output "$kind: busybox" "a line" with tool -- busybox cat file
	expect_status "$kind: busybox tar" 0 with tool -- busybox tar cf x.tar file
	expect_status "$kind: tar unpacks and sets modes" 0 with tool -- tar xf x.tar --one-top-level=out
	expect_status "$kind: sh tests files" 0 with tool -- sh -c '[ -x /bin/sh ] && [ -r file ] && echo x >y && read z <y'
	expect_status "$kind: cp -a, with times and modes" 0 with tool -- cp -a file copy
	expect_status "$kind: sed in place" 0 with tool -- sed -i s/a/b/ copy
	expect_status "$kind: git init" 0 with tool -- git init -q repo
	expect_status "$kind: git add" 0 with tool -- git -C repo add --all .
	expect_status "$kind: git commit" 0 with tool -- git -C repo -c user.name=n -c user.email=e \
		-c maintenance.auto=false commit -q --allow-empty -m m
	expect_output "$kind: git log" m with tool -- git -C repo --no-pager log --format=%s
	expect_output "$kind: perl" 6 with tool -- perl -e 'open my $f, ">", "perl.txt" or die; print 2 * 3'
	expect_output "$kind: awk" 3 with tool -- awk 'BEGIN { print 1 + 2 }'
	expect_status "$kind: gzip" 0 with tool -- gzip -k file
	expect_output "$kind: find" ./repo/.git/HEAD with tool -- find . -name HEAD -path './repo/.git/HEAD'
	expect_status "$kind: curl reads a file" 0 with tool -- curl -s "file://$w/file"
	[ "$kind" = root ] || return 0

	# Networks need privilege.
	expect_output "$kind: curl from a granted host" 'a line' with local -- curl -s -m 5 http://127.0.0.1:17801/root/file
	expect_status "$kind: curl from another port" 7 with local -- curl -s -m 5 http://127.0.0.1:17802/
	expect_output "$kind: node fetches from a granted host" 'a line' with local -- node -e \
		'fetch("http://127.0.0.1:17801/root/file").then((r) => r.text()).then((t) => console.log(t.trim()))'
	expect_output "$kind: python3 fetches from a granted host" 'a line' with local -- /usr/bin/python3 -c \
		'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:17801/root/file").read().decode().strip())'
	expect_output "$kind: busybox wget" 'a line' with local -- busybox wget -qO- http://127.0.0.1:17801/root/file
}

suite root
suite user
