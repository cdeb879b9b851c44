#!/bin/sh
# SPDX-License-Identifier: MIT
# What one run, or another user, leaves for the next: links in a workspace, folders like those of killed runs, programs
# in the place of the runtime.  As root and as an ordinary user, and beside each stands what must go on working.
. "$(dirname "$0")/../lib.sh"
# In a mount namespace of its own: some attempts mount.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS:-}" ]; then
	OWN_MOUNTS=1 exec unshare --mount "$0"
fi
need_root
. "$top/tests/kinds.sh"
flipper=''
cleanup() { kill -9 "$holder" ${flipper:+"$flipper"} 2>/dev/null; }
own() { [ "$kind" = root ] || chown -hR "$nobody:$nobody" "$@"; }

# policy NAME BODY: in the folder of the kind, whose relative paths begin there.
policy() {
	compile "$1" "$home/$1.bpf" <<END
profile $1 {
	$2
}
END
	chmod 644 "$home/$1.bpf"
}
under() {
	name=$1
	shift
	as "$bin/caverun" --workspace "$w" "$home/$name.bpf" -- "$@"
}
with_script() {
	script=$1
	shift
	as "$bin/caverun" --workspace "$w" --script "$script" "$home/write.bpf" -- "$@"
}

# --- links that an earlier run has left in what it may write
links() {
	mkdir -p "$w/sub" "$home/out"
	echo secret >"$home/secret"
	echo text >"$w/file"
	echo text >"$home/out/file"
	policy write 'files { write workspace }'
	own "$w" "$home/secret" "$home/out"
	# By the tool itself, as it happens.
	expect_status "$kind: a tool leaves links" 0 under write "$python" -c "
import os
for to, name in ('$home/secret', 'out'), ('file', 'in'), ('../../secret', 'sub/out'), ('$home/out', 'folder'):
    os.symlink(to, '$w/' + name)"
	expect "$kind: control: outside they lead there" "$(cat "$w/out" "$w/sub/out" "$w/folder/file" | tr '\n' ' ')" \
		= 'secret secret text '
	for path in "$w/out" "$w/sub/out" "$w/folder/file" "$w/sub/../out"; do
		expect_code "$kind: a script that such a link leads to is refused: ${path#"$w"/}" 125 'in a write grant' \
			with_script "$path" cat
	done
	expect_code "$kind: by a path from where the caller is, too" 125 'in a write grant' \
		as sh -c 'cd "$0" && shift && exec "$@"' "$w" - \
		"$bin/caverun" --workspace "$w" --script out "$home/write.bpf" -- cat
	expect_output "$kind: one within the grant is none of these" text with_script "$w/in" cat
	expect_output "$kind: nor is the file itself" text with_script "$w/sub/../file" cat
	ln -s "$home/out" "$home/ours"
	ln -s "$home/out/file" "$home/script"
	expect_output "$kind: nor a link that the tool may not write" text with_script "$home/script" cat
	expect_output "$kind: nor one in a folder on the way" text with_script "$home/ours/file" cat

	policy relative "files { write \"./w\"; read \"./w/sub/out\" }"
	policy absolute "files { write \"$w\"; read \"$w/out\" }"
	policy folder "files { write \"$w\"; read \"$w/folder/\" }"
	policy optional "files { write \"$w\"; read optional \"$w/out\" }"
	policy within "files { write \"$w\"; read \"$w/in\" }"
	policy before "files { write \"$w\"; read \"$home/ours/file\" }"
	for name in relative absolute folder optional; do
		expect_code "$kind: nor does a grant lead out by one: $name" 125 'in a write grant' \
			as "$bin/caverun" "$home/$name.bpf" -- cat "$w/out"
	done
	expect_output "$kind: control: one within the grant" text as "$bin/caverun" "$home/within.bpf" -- cat "$w/in"
	expect_output "$kind: control: one that the tool may not write" text \
		as "$bin/caverun" "$home/before.bpf" -- cat "$home/out/file"
	ln -sfn /usr/bin/true "$w/program"
	expect_status "$kind: PROGRAM may be named by any link" 0 under write "$w/program"
}

# --- a path that is another thing each time it is looked at
cat >"$work/flip.py" <<'END'
import ctypes, sys, time
libc, a, b = ctypes.CDLL(None), sys.argv[1].encode(), sys.argv[2].encode()
print("ready", flush=True)
while True:
    libc.renameat2(-100, a, -100, b, 2)  # RENAME_EXCHANGE
    time.sleep(0.0002)
END
flip() {
	"$python" "$work/flip.py" "$1" "$2" >"$work/flipping" &
	flipper=$!
	until grep -qs ready "$work/flipping"; do sleep 0.02; done
}
stop_flipping() {
	kill "$flipper"
	wait "$flipper" 2>/dev/null
	flipper=''
}
races() {
	flip "$w/file" "$w/out"
	for _ in $(seq 80); do
		with_script "$w/file" cat 2>&1 | sed 's/^caverun: .*\[\(.*\)\]$/\1/'
	done | sort -u | tr '\n' ' ' >"$work/came"
	stop_flipping
	expect "$kind: a script that becomes a link, and back, is never what that leads to" -z "$(grep secret "$work/came")"
	expect "$kind: some starts met the file, and some the link" \
		"$(grep -c 'cave_sandbox_failed.*text' "$work/came")" = 1
}

# --- what starts the tools
starters() {
	mkdir -p "$w/tools/bin"
	cp "$bin/caverun" "$w/tools/bin/caverun"
	own "$w/tools"
	mkdir -p "$home/elsewhere"
	: >"$home/traced"
	own "$home/traced"
	for path in "$w" "$w/tools" "$w/tools/bin/caverun"; do
		policy around "files { write \"$path\" }"
		expect_code "$kind: a write grant of what starts the tool is refused: ${path#"$home"/}" 125 'starts the tool' \
			as "$w/tools/bin/caverun" "$home/around.bpf" -- true
	done
	policy beside "files { write \"$home/elsewhere\" }"
	expect_code "$kind: nor is one granted if it cannot be told" 125 '/proc/self/exe: No file descriptors' \
		as strace -f -qq -o "$home/traced" -P /proc/self/exe -e trace=open,openat \
		-e inject=open,openat:error=EMFILE "$w/tools/bin/caverun" "$home/beside.bpf" -- true
	expect_status "$kind: one of another folder is not" 0 as "$w/tools/bin/caverun" "$home/beside.bpf" -- true
	expect_status "$kind: nor one of a copy that starts nothing" 0 under write true
	rm -rf "$w/tools"
}

for kind in root user; do
	home=$work/$kind
	w=$home/w
	mkdir -p "$w"
	links
	races
	starters
done
mkdir "$work/mounted"
cp "$bin/caverun" "$work/mounted"
mkdir -p "$work/root/w/again"
mount --bind "$work/mounted" "$work/root/w/again"
kind=root home=$work/root w=$work/root/w
expect_code "by another mount, too" 125 'starts the tool' \
	"$work/mounted/caverun" --workspace "$w" "$home/write.bpf" -- true
umount "$work/root/w/again"
expect_status "which is no matter when it is gone" 0 \
	"$work/mounted/caverun" --workspace "$w" "$home/write.bpf" -- true

# --- folders that look like those of killed runs, which the next start removes
policy fresh 'files { write tmp }'
fresh() { TMPDIR=$work/tmp "$bin/caverun" "$home/fresh.bpf" -- true; }
mkdir -m 1777 "$work/tmp"
# folder NAME OWNER: one of mode 0700.
folder() {
	mkdir -m 700 "$work/tmp/$1"
	chown "$2" "$work/tmp/$1"
}
left=$work/tmp/cave-0123456789abcdef
folder "${left##*/}" 0
mkdir -p "$left/deep/er"
echo text >"$left/deep/er/file"
chmod 0 "$left/deep/er" "$left/deep"
folder cave-00000000000000ab "$nobody"
mkdir -m 700 "$work/tmp/cave-00000000000000ab/their"
chown "$nobody" "$work/tmp/cave-00000000000000ab/their"
echo text >"$work/tmp/cave-00000000000000ab/their/file"
expect_status "a start removes what killed runs have left" 0 fresh
expect "of its own user, and of a user whose tools root has started" -z "$(ls "$work/tmp")"

folder "${left##*/}" "$nobody"
mkdir "$left/root" "$left/sub" "$left/mounted"
mkdir "$left/sub/root"
touch "$left/root/file" "$left/sub/root/file"
chown "$nobody" "$left/sub" "$left/mounted"
mount -t tmpfs none "$left/mounted"
touch "$left/mounted/file"
expect_status "where another user has put what is not theirs" 0 fresh
expect "that is not removed for them, nor what is mounted there" \
	"$(find "$left" -name file | sed "s#$left/##" | sed 's#^cave-[0-9]*/#sub/#' | sort | tr '\n' ' ')" \
	= 'mounted/file root/file sub/root/file '
umount "$left/mounted"
rm -rf "$left"

folder "${left##*/}" "$nobody"
"$python" -c 'import os, sys
for i in range(9000): os.mkdir(f"{sys.argv[1]}/{i}")' "$left"
chown -R "$nobody" "$left"
expect_status "where another user has put a great many" 0 fresh
expect "a start does not remove them all" "$(find "$left" -mindepth 1 | wc -l)" -gt 4000
expect_status "the next goes on" 0 fresh
expect "which removes some more" "$(find "$left" -mindepth 1 | wc -l)" -lt 4000
rm -rf "$left"

# --- names that a terminal would obey
escape=$(printf 'no\nline\033[2J\302\233H')
run "$bin/caverun" "$home/write.bpf" -- "$escape"
expect "a name in a message is shown without" "$(grep -c 'cannot execute no?line?\[2J??H' "$work/err")" = 1
run "$bin/caverun" --trace "$home/write.bpf" -- mkdir "/srv/$escape"
expect "nor in what is traced" -n "$(grep '^caverun: refused by policy: write /srv/no?line?\[2J??H (' "$work/err")"
