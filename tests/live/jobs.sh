#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples that need files: each does its job with the real tool, and not what lies beside it.  Those that need a
# network of other hosts are in examples.sh.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"

# Tools that are there for all users, not somebody's wrappers in the caller's PATH.
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
server=''
cleanup() { for pid in $server $holder; do kill -9 "$pid" 2>/dev/null; done; }
# A variable of the caller's that a tool may not see.
export SECRET_OF_CALLER=x

under() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	own
	# shellcheck disable=SC2086
	as "$bin/caverun" $options "$home/policy/$name.bpf" "$@"
}
# All that is there is the user's.
own() { [ "$kind" = root ] || chown -hR "$nobody:$nobody" "$home"; }
gone() { expect "$kind: $1: nothing is left of its private folder" -z "$(ls -A "$home/tmp")"; }
begin() {
	secret=$home/secret
	mkdir "$home"
	echo secret >"$secret"
	mkdir "$home/policy" "$home/in" "$home/made" "$home/ws" "$home/tmp" "$home/policy/pages"
	for example in "$top"/examples/*.cave; do
		"$cavec" "$example" -o "$home/policy/$(basename "$example" .cave).bpf" 2>"$work/err"
	done
	export TMPDIR="$home/tmp"
}

python_jobs() {
	cat >"$home/lint.py" <<'END'
import ast, os, pathlib, py_compile, sys, tempfile
root = pathlib.Path(os.environ["PROJECT"])
for f in sorted(root.glob("*.py")):
    ast.parse(f.read_text())
    print(f.name, py_compile.compile(str(f), cfile=tempfile.mktemp(suffix=".pyc"), doraise=True) is not None)
def tried(what, f):
    try:
        f()
        print(what, "got through")
    except OSError as e:
        print(what, "refused")
tried("write", lambda: (root / "new").write_text("x"))
tried("read", lambda: open(sys.argv[1]).read())
tried("run", lambda: os.posix_spawn("/bin/true", ["true"], {}))
END
	echo 'x = 1' >"$home/in/a.py"
	expect_output "$kind: lint-project: reads the project and nothing else" 'a.py True
write refused
read refused
run refused' under lint-project --folder project="$home/in" --script "$home/lint.py" -- "$python" "$secret"
	expect_output "$kind: lint-project: control: without it all of it gets through" 'a.py True
write got through
read got through
run got through' as env PROJECT="$home/in" "$python" "$home/lint.py" "$secret"
	rm -f "$home/in/new" "$home/tmp"/*
	gone lint-project

	cat >"$home/convert.py" <<'END'
import csv, json, os
rows = json.load(open(os.path.join(os.environ["IN"], "orders.json")))
with open(os.path.join(os.environ["OUT"], "orders.csv"), "w", newline="") as f:
    csv.writer(f, lineterminator="\n").writerows(rows)
try:
    open(os.path.join(os.environ["IN"], "new"), "w")
except OSError:
    print("refused", "SECRET_OF_CALLER" in os.environ)
END
	echo '[[1, "a"], [2, "b"]]' >"$home/in/orders.json"
	expect_output "$kind: convert-data: reads one folder" 'refused False' \
		under convert-data --folder in="$home/in" --folder out="$home/made" --script "$home/convert.py" -- "$python"
	expect "$kind: convert-data: and writes the other" "$(cat "$home/made/orders.csv")" = '1,a
2,b'

	mkdir -p "$home/wheel/thing-1.0.dist-info" "$home/wheels"
	echo 'answer = 42' >"$home/wheel/thing.py"
	printf 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n' >"$home/wheel/thing-1.0.dist-info/METADATA"
	printf 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n' \
		>"$home/wheel/thing-1.0.dist-info/WHEEL"
	printf 'thing.py,,\nthing-1.0.dist-info/METADATA,,\nthing-1.0.dist-info/WHEEL,,\nthing-1.0.dist-info/RECORD,,\n' \
		>"$home/wheel/thing-1.0.dist-info/RECORD"
	(cd "$home/wheel" && "$python" -m zipfile -c "$home/wheels/thing-1.0-py3-none-any.whl" thing.py thing-1.0.dist-info)
	if [ -x /usr/bin/pip3 ]; then
		rm -rf "$home/ws" && mkdir "$home/ws"
		run under install-wheels --folder wheels="$home/wheels" --workspace "$home/ws" -- \
			"$python" -m pip install --no-cache-dir --break-system-packages thing
		expect "$kind: install-wheels: pip installs what is in the folder" \
			"$status $(cat "$home/ws/thing.py")" = '0 answer = 42'
		[ "$status" = 0 ] || not_ok "$kind: install-wheels: pip" "$(tail -n 3 "$work/err")"
		gone install-wheels
	else
		skip "$kind: install-wheels" "pip is not installed"
	fi

	rm -rf "$home/ws" && mkdir -p "$home/ws/build" "$home/ws/src"
	echo 'int answer(void) { return 42; }' >"$home/addon.c"
	gcc -shared -fPIC -o "$home/ws/build/addon.so" "$home/addon.c"
	cp "$home/ws/build/addon.so" "$home/ws/src/addon.so"
	cat >"$home/ws/main.py" <<'END'
import ctypes
print(ctypes.CDLL("build/addon.so").answer())
try:
    ctypes.CDLL("src/addon.so")
except OSError:
    print("refused")
END
	expect_output "$kind: native-addon: code is loaded from where the profile says, and from nowhere else that is written" '42
refused' under native-addon --workspace "$home/ws" -- "$python" main.py

	cat >"$home/share.py" <<'END'
import mmap, multiprocessing as m
with m.Lock(), open("/dev/shm/x", "w+b") as f:
    f.truncate(4096)
    shared = mmap.mmap(f.fileno(), 4096)
    shared[0] = 7
    print(f.read(1)[0], m.Semaphore(2).acquire())
END
	expect_output "$kind: share-memory: locks and shared memory" '7 True' \
		under share-memory --script "$home/share.py" -- "$python"
	expect "$kind: share-memory: none of it on the host" ! -e /dev/shm/x
}

git_jobs() {
	rm -rf "$home/ws" && mkdir "$home/ws"
	git -C "$home/ws" init -q
	printf '#!/bin/sh\ntouch %s/hooked\n' "$home" >"$home/ws/.git/hooks/pre-commit"
	chmod +x "$home/ws/.git/hooks/pre-commit"
	echo text >"$home/ws/file"
	for words in 'add file' 'commit -qm first'; do
		# shellcheck disable=SC2086
		expect_status "$kind: commit-changes: git $words" 0 \
			under commit-changes --workspace "$home/ws" -- /usr/bin/git $words
	done
	expect "$kind: commit-changes: it is committed" "$(as git -C "$home/ws" log --format='%an %s')" = 'agent first'
	expect "$kind: commit-changes: nobody's hook ran" ! -e "$home/hooked"
	run under commit-changes --workspace "$home/ws" -- "$bin/probe" create "$home/ws/.git/hooks/post-commit" , \
		rename "$home/ws/.git" "$home/ws/x" , write "$home/ws/.git/hooks/pre-commit" , write "$home/ws/.git/config" , \
		create "$home/ws/.git/new" , read "$home/ws/.git/hooks/pre-commit"
	expect "$kind: commit-changes: nor can one be put there" "$(sed 's/.*: //' "$work/out" | tr '\n' ' ')" = \
		'refused EROFS refused EBUSY refused EROFS refused EROFS allowed allowed '
	run under commit-changes --workspace "$home/ws" -- /usr/bin/git config core.hooksPath "$home/ws/hooks"
	expect "$kind: commit-changes: nor another folder for hooks be named" \
		"$status $(as git -C "$home/ws" config core.hooksPath)" = '4 '
	gone commit-changes
}

node_jobs() {
	cat >"$home/build.mjs" <<'END'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const [pages] = process.argv.slice(2);
for (const page of readdirSync(pages))
	writeFileSync(join(process.env.OUT, page.replace('.md', '.html')),
		`<p>${readFileSync(join(pages, page), 'utf8').trim()}</p>`);
try { writeFileSync(join(pages, 'new.md'), 'x'); } catch (e) { console.log(e.code); }
END
	echo hello >"$home/policy/pages/index.md"
	expect_output "$kind: build-site: pages beside the policy, which it may not change" EROFS \
		under build-site --folder out="$home/made" --script "$home/build.mjs" -- node "$home/policy/pages"
	expect "$kind: build-site: are built" "$(cat "$home/made/index.html")" = '<p>hello</p>'
}

java_jobs() {
	if command -v javac >/dev/null && [ -x /usr/bin/java ]; then
		mkdir "$home/jars"
		cat >"$home/Main.java" <<'END'
import java.io.*;
import java.nio.file.*;
public class Main {
    public static void main(String[] a) throws Exception {
        Path p = Files.createTempFile(Path.of(System.getenv("TMPDIR")), "x", ".txt");
        Files.writeString(p, "text");
        System.out.println(Files.readString(p));
        try { Files.writeString(Path.of(a[0]), "x"); } catch (IOException e) { System.out.println("refused"); }
        try { new ProcessBuilder("/bin/true").start(); } catch (IOException e) { System.out.println("refused"); }
    }
}
END
		/usr/bin/javac -d "$home/jars" "$home/Main.java" 2>"$work/err" ||
			not_ok "$kind: run-java: it compiles" "$(cat "$work/err")"
		expect_output "$kind: run-java: runs, with a private folder" 'text
refused
refused' under run-java --folder jars="$home/jars" -- /usr/bin/java -XX:-UsePerfData -cp "$home/jars" Main "$home/jars/x"
		gone run-java
	else
		skip "$kind: run-java" "no Java is installed"
	fi
}

other_jobs() {
	rm -rf "$home/ws" && mkdir "$home/ws"
	"$python" - "$home/in/x.tar" <<'END'
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w")
def add(name, data=b"text", **more):
    i = tarfile.TarInfo(name)
    i.size = len(data)
    for k, v in more.items():
        setattr(i, k, v)
    t.addfile(i, io.BytesIO(data))
add("plain")
add("out", b"", type=tarfile.SYMTYPE, linkname="../in")
add("out/planted")
add("setid", mode=0o6755)
END
	run under unpack-archive --folder in="$home/in" --workspace "$home/ws" -- tar --no-same-owner -xpf "$home/in/x.tar"
	expect "$kind: unpack-archive: what may be unpacked is" "$(cat "$home/ws/plain")" = text
	expect "$kind: unpack-archive: nothing through a link" ! -e "$home/in/planted"
	expect "$kind: unpack-archive: no set-id bits" -z "$(find "$home/ws" -perm /6000)"

	mkdir -p "$home/logs/private"
	echo 'an error' >"$home/logs/a.log"
	echo 'an error of someone' >"$home/logs/private/b.log"
	run under search-logs --folder logs="$home/logs" -- grep -rh error "$home/logs"
	expect "$kind: search-logs: finds what it may read" "$(cat "$work/out")" = 'an error'
	expect "$kind: search-logs: control: there is more" "$(grep -rh error "$home/logs" | wc -l)" = 2

	if command -v fc-list >/dev/null; then
		expect_status "$kind: list-fonts: fontconfig works" 0 under list-fonts -- fc-list
		gone list-fonts
	else
		skip "$kind: list-fonts" "fontconfig is not installed"
	fi

	mkdir "$home/site"
	echo page >"$home/site/page"
	echo hidden >"$home/hidden"
	ln -s "$home/hidden" "$home/site/link"
	# Who may not bound a network is put by one who may into an ordinary user's place.
	set --
	[ "$kind" = root ] || set -- --user nobody
	"$caverun" "$@" --folder site="$home/site" "$home/policy/serve-folder.bpf" -- \
		"$python" -m http.server --bind 127.0.0.1 --directory "$home/site" 8123 >"$home/log" 2>&1 &
	server=$!
	tries=0
	until curl -sf -o "$home/got" http://127.0.0.1:8123/page || [ $tries = 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	expect "$kind: serve-folder: serves it" "$(cat "$home/got")" = page
	expect "$kind: serve-folder: and nothing that a link leads to" \
		"$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/link)" = 404
	kill "$server"
	wait "$server" 2>/dev/null
	server=''
}

for kind in root user; do
	home=$work/$kind
	begin
	python_jobs
	git_jobs
	node_jobs
	java_jobs
	other_jobs
done
