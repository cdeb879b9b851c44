#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples that need files: each does its job with the real tool, and not what lies beside it.  Those that need a
# network of other hosts are in examples.sh.
. "$(dirname "$0")/../lib.sh"
need_root

secret=$work/secret server=''
cleanup() { [ -z "$server" ] || kill "$server" 2>/dev/null; }
echo secret >"$secret"
mkdir "$work/policy" "$work/in" "$work/made" "$work/ws" "$work/tmp" "$work/policy/pages"
for example in "$top"/examples/*.cave; do
	"$cavec" "$example" -o "$work/policy/$(basename "$example" .cave).bpf" 2>"$work/err"
done
# The caller's variables that a tool may not see or need.
export SECRET_OF_CALLER=x TMPDIR="$work/tmp"

under() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	# shellcheck disable=SC2086
	"$caverun" $options "$work/policy/$name.bpf" "$@"
}
gone() { expect "$1: nothing is left of its private folder" -z "$(ls -A "$work/tmp")"; }

# --- Python
cat >"$work/lint.py" <<'END'
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
echo 'x = 1' >"$work/in/a.py"
expect_output "lint-project: reads the project and nothing else" 'a.py True
write refused
read refused
run refused' under lint-project --folder project="$work/in" --script "$work/lint.py" -- "$python" "$secret"
expect_output "lint-project: control: without it all of it gets through" 'a.py True
write got through
read got through
run got through' env PROJECT="$work/in" "$python" "$work/lint.py" "$secret"
rm -f "$work/in/new" "$work/tmp"/*
gone lint-project

cat >"$work/convert.py" <<'END'
import csv, json, os
rows = json.load(open(os.path.join(os.environ["IN"], "orders.json")))
with open(os.path.join(os.environ["OUT"], "orders.csv"), "w", newline="") as f:
    csv.writer(f, lineterminator="\n").writerows(rows)
try:
    open(os.path.join(os.environ["IN"], "new"), "w")
except OSError:
    print("refused", "SECRET_OF_CALLER" in os.environ)
END
echo '[[1, "a"], [2, "b"]]' >"$work/in/orders.json"
expect_output "convert-data: reads one folder" 'refused False' \
	under convert-data --folder in="$work/in" --folder out="$work/made" --script "$work/convert.py" -- "$python"
expect "convert-data: and writes the other" "$(cat "$work/made/orders.csv")" = '1,a
2,b'

mkdir -p "$work/wheel/thing-1.0.dist-info" "$work/wheels"
echo 'answer = 42' >"$work/wheel/thing.py"
printf 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n' >"$work/wheel/thing-1.0.dist-info/METADATA"
printf 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n' \
	>"$work/wheel/thing-1.0.dist-info/WHEEL"
printf 'thing.py,,\nthing-1.0.dist-info/METADATA,,\nthing-1.0.dist-info/WHEEL,,\nthing-1.0.dist-info/RECORD,,\n' \
	>"$work/wheel/thing-1.0.dist-info/RECORD"
(cd "$work/wheel" && "$python" -m zipfile -c "$work/wheels/thing-1.0-py3-none-any.whl" thing.py thing-1.0.dist-info)
if [ -x /usr/bin/pip3 ]; then
	rm -rf "$work/ws" && mkdir "$work/ws"
	run under install-wheels --folder wheels="$work/wheels" --workspace "$work/ws" -- \
		"$python" -m pip install --no-cache-dir --break-system-packages thing
	expect "install-wheels: pip installs what is in the folder" "$status $(cat "$work/ws/thing.py")" = '0 answer = 42'
	[ "$status" = 0 ] || not_ok "install-wheels: pip" "$(tail -n 3 "$work/err")"
	gone install-wheels
else
	skip "install-wheels" "pip is not installed"
fi

rm -rf "$work/ws" && mkdir -p "$work/ws/build" "$work/ws/src"
echo 'int answer(void) { return 42; }' >"$work/addon.c"
gcc -shared -fPIC -o "$work/ws/build/addon.so" "$work/addon.c"
cp "$work/ws/build/addon.so" "$work/ws/src/addon.so"
cat >"$work/ws/main.py" <<'END'
import ctypes
print(ctypes.CDLL("build/addon.so").answer())
try:
    ctypes.CDLL("src/addon.so")
except OSError:
    print("refused")
END
expect_output "native-addon: code is loaded from where the profile says, and from nowhere else that is written" '42
refused' under native-addon --workspace "$work/ws" -- "$python" main.py

cat >"$work/share.py" <<'END'
import mmap, multiprocessing as m
with m.Lock(), open("/dev/shm/x", "w+b") as f:
    f.truncate(4096)
    shared = mmap.mmap(f.fileno(), 4096)
    shared[0] = 7
    print(f.read(1)[0], m.Semaphore(2).acquire())
END
expect_output "share-memory: locks and shared memory" '7 True' under share-memory --script "$work/share.py" -- "$python"
expect "share-memory: none of it on the host" ! -e /dev/shm/x

# --- git
rm -rf "$work/ws" && mkdir "$work/ws"
git -C "$work/ws" init -q
printf '#!/bin/sh\ntouch %s/hooked\n' "$work" >"$work/ws/.git/hooks/pre-commit"
chmod +x "$work/ws/.git/hooks/pre-commit"
echo text >"$work/ws/file"
for words in 'add file' 'commit -qm first'; do
	# shellcheck disable=SC2086
	expect_status "commit-changes: git $words" 0 under commit-changes --workspace "$work/ws" -- /usr/bin/git $words
done
expect "commit-changes: it is committed" "$(git -C "$work/ws" log --format='%an %s')" = 'agent first'
expect "commit-changes: nobody's hook ran" ! -e "$work/hooked"
run under commit-changes --workspace "$work/ws" -- "$probe" create "$work/ws/.git/hooks/post-commit" , \
	rename "$work/ws/.git" "$work/ws/x" , write "$work/ws/.git/hooks/pre-commit" , write "$work/ws/.git/config" , \
	create "$work/ws/.git/new" , read "$work/ws/.git/hooks/pre-commit"
expect "commit-changes: nor can one be put there" "$(sed 's/.*: //' "$work/out" | tr '\n' ' ')" = \
	'refused EROFS refused EBUSY refused EROFS refused EROFS allowed allowed '
run under commit-changes --workspace "$work/ws" -- /usr/bin/git config core.hooksPath "$work/ws/hooks"
expect "commit-changes: nor another folder for hooks be named" "$status $(git -C "$work/ws" config core.hooksPath)" = '4 '
gone commit-changes

# --- Node.js
cat >"$work/build.mjs" <<'END'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const [pages] = process.argv.slice(2);
for (const page of readdirSync(pages))
	writeFileSync(join(process.env.OUT, page.replace('.md', '.html')),
		`<p>${readFileSync(join(pages, page), 'utf8').trim()}</p>`);
try { writeFileSync(join(pages, 'new.md'), 'x'); } catch (e) { console.log(e.code); }
END
echo hello >"$work/policy/pages/index.md"
expect_output "build-site: pages beside the policy, which it may not change" EROFS \
	under build-site --folder out="$work/made" --script "$work/build.mjs" -- node "$work/policy/pages"
expect "build-site: are built" "$(cat "$work/made/index.html")" = '<p>hello</p>'

# --- Java
if command -v javac >/dev/null && [ -x /usr/bin/java ]; then
	mkdir "$work/jars"
	cat >"$work/Main.java" <<'END'
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
	/usr/bin/javac -d "$work/jars" "$work/Main.java" 2>"$work/err" || not_ok "run-java: it compiles" "$(cat "$work/err")"
	expect_output "run-java: runs, with a private folder" 'text
refused
refused' under run-java --folder jars="$work/jars" -- /usr/bin/java -XX:-UsePerfData -cp "$work/jars" Main "$work/jars/x"
	gone run-java
else
	skip "run-java" "no Java is installed"
fi

# --- others
rm -rf "$work/ws" && mkdir "$work/ws"
"$python" - "$work/in/x.tar" <<'END'
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
run under unpack-archive --folder in="$work/in" --workspace "$work/ws" -- tar --no-same-owner -xpf "$work/in/x.tar"
expect "unpack-archive: what may be unpacked is" "$(cat "$work/ws/plain")" = text
expect "unpack-archive: nothing through a link" ! -e "$work/in/planted"
expect "unpack-archive: no set-id bits" -z "$(find "$work/ws" -perm /6000)"

mkdir -p "$work/logs/private"
echo 'an error' >"$work/logs/a.log"
echo 'an error of someone' >"$work/logs/private/b.log"
run under search-logs --folder logs="$work/logs" -- grep -rh error "$work/logs"
expect "search-logs: finds what it may read" "$(cat "$work/out")" = 'an error'
expect "search-logs: control: there is more" "$(grep -rh error "$work/logs" | wc -l)" = 2

if command -v fc-list >/dev/null; then
	expect_status "list-fonts: fontconfig works" 0 under list-fonts -- fc-list
	gone list-fonts
else
	skip "list-fonts" "fontconfig is not installed"
fi

mkdir "$work/site"
echo page >"$work/site/page"
echo hidden >"$work/hidden"
ln -s "$work/hidden" "$work/site/link"
"$caverun" --folder site="$work/site" "$work/policy/serve-folder.bpf" -- \
	"$python" -m http.server --bind 127.0.0.1 --directory "$work/site" 8123 >"$work/log" 2>&1 &
server=$!
tries=0
until curl -sf -o "$work/got" http://127.0.0.1:8123/page || [ $tries = 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
expect "serve-folder: serves it" "$(cat "$work/got")" = page
expect "serve-folder: and nothing that a link leads to" \
	"$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/link)" = 404
kill "$server"
wait "$server" 2>/dev/null
server=''
