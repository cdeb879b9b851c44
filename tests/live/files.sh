#!/bin/sh
# SPDX-License-Identifier: MIT
# What each statement of `files` means to a running tool: as root, as an ordinary user, and where there is no mount
# namespace to be had.  Every refusal has its control: the same attempt outside the sandbox gets through.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
cleanup() { kill -9 "$holder" 2>/dev/null; }

# policy NAME FILES-BLOCK
policy() {
	compile "$1" "$home/policy/$1.bpf" <<END
profile $1 { files { $2 } }
END
	chmod 644 "$home/policy/$1.bpf"
}
# under NAME [OPTION…] -- PROGRAM…
under() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	# shellcheck disable=SC2086
	as "$bin/caverun" $options "$home/policy/$name.bpf" "$@"
}
own() { [ "$kind" = root ] || chown -hR "$nobody:$nobody" "$@"; }

# What became of the last attempt: "allowed", "refused ERRNO" or "status N".
outcome() {
	found=$(sed -n 's/^.*: \(allowed\|refused [A-Z0-9?]*\)$/\1/p' "$work/out" | tail -n 1)
	echo "${found:-status $status}"
}
# The attempt without the test's own folder.
label() { echo "$*" | sed "s#$home#~#g; s#$bin/##g"; }

# works NAME [OPTION…] -- ATTEMPT…
works() {
	run under_probe "$@"
	expect "$kind: $(label "$@")" "$(outcome)" = allowed
}
under_probe() {
	policy=$1 before=
	shift
	while [ "$1" != -- ]; do
		before="$before $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	under "$policy" $before -- "$bin/probe" "$@"
}
# refuses NAME [OPTION…] -- ATTEMPT…
refuses() {
	test_label=$(label "$@")
	run outside "$@"
	control=$(outcome)
	restore
	run under_probe "$@"
	case $control/$(outcome) in
	allowed/refused* | 'status 0/refused'*) ok "$kind: refused: $test_label" ;;
	allowed/*) not_ok "$kind: refused: $test_label" "inside: $(outcome); $(cat "$work/err")" ;;
	*) not_ok "$kind: control: $test_label" "outside: $control" ;;
	esac
}
# Undoes what a control has done; a group of tests has its own.
restore() { :; }
outside() {
	while [ "$1" != -- ]; do shift; done
	shift
	as "$bin/probe" "$@"
}
# stops NAME CODE TEXT [OPTION…]: the start is refused, and nothing was started.
stops() {
	policy=$1 code=$2 text=$3
	shift 3
	run under "$policy" "$@" -- "$bin/probe" ids
	if [ "$status" = 125 ] && [ ! -s "$work/out" ] && grep -qF "[$code]" "$work/err" && grep -qF "$text" "$work/err"; then
		ok "$kind: $policy is not started: $text"
	else
		not_ok "$kind: $policy is not started: $text" "status $status; $(cat "$work/out" "$work/err")"
	fi
}

# Execution is a right of its own.  The exec of a second program is refused by the filter, so that here it is seen by
# what may be started, and mapped as code.
execution() {
	w=$home/workspace
	mkdir -p "$w/bin" "$w/other"
	cp "$bin/probe" "$w/bin/program"
	cp "$bin/probe" "$w/program"
	own "$w"
	policy write-only 'write workspace'
	policy execute-all 'write workspace; execute workspace'
	policy execute-folder 'write workspace; execute workspace/bin/'
	policy execute-file 'write workspace; execute workspace/bin/program'
	policy execute-read 'execute workspace'
	policy execute-wrong 'write workspace; execute workspace/bin'
	policy execute-wrong-file 'execute workspace/program/'
	policy execute-missing 'execute workspace/none'
	policy execute-optional 'write workspace; execute optional workspace/none'
	policy execute-around "write \"$w/bin\"; execute \"$w/\""
	policy execute-inner "write \"$w\"; write \"$w/other\"; execute \"$w/bin/\", \"$w/bin/program\""
	if [ "$kind" != bare ]; then
		refuses write-only --workspace "$w" -- map-exec "$w/program"
		refuses execute-folder --workspace "$w" -- map-exec "$w/program"
		refuses execute-file --workspace "$w" -- map-exec "$w/program"
		refuses execute-inner -- map-exec "$w/program"
		refuses execute-optional --workspace "$w" -- map-exec "$w/program"
	fi
	works execute-all --workspace "$w" -- map-exec "$w/program"
	works execute-folder --workspace "$w" -- map-exec "$w/bin/program"
	works execute-file --workspace "$w" -- map-exec "$w/bin/program"
	works execute-around -- map-exec "$w/bin/program"
	works execute-inner -- map-exec "$w/bin/program"
	works execute-read --workspace "$w" -- map-exec "$w/program"
	works execute-folder --workspace "$w" -- create "$w/bin/new"
	works execute-folder --workspace "$w" -- unlink "$w/bin/new"
	refuses execute-read --workspace "$w" -- create "$w/new"
	rm -f "$w/new"
	for name in write-only execute-folder execute-file; do
		expect_code "$kind: PROGRAM is not started from a write grant: $name" 126 'write grant' \
			under "$name" --workspace "$w" -- "$w/program" ids
	done
	for name in execute-all execute-read; do
		expect_status "$kind: PROGRAM is started from what may be executed: $name" 0 \
			under "$name" --workspace "$w" -- "$w/program" ids
	done
	for name in execute-folder execute-file execute-inner execute-around; do
		option="--workspace $w"
		case $name in execute-inner | execute-around) option= ;; esac
		# shellcheck disable=SC2086
		expect_status "$kind: PROGRAM is started from what may be executed: $name" 0 \
			under $name $option -- "$w/bin/program" ids
	done
	ln -sfn "$w/bin/program" "$home/linked"
	policy execute-link "write \"$w\"; execute \"$home/linked\""
	policy execute-link-only "read \"$w\"; execute \"$home/linked\""
	stops execute-link cave_sandbox_failed 'leads by a link into the write grant'
	expect_status "$kind: a link to what is not written" 0 under execute-link-only -- "$w/bin/program" ids
	stops execute-wrong cave_sandbox_failed 'final slash' --workspace "$w"
	stops execute-wrong-file cave_sandbox_failed 'is no folder' --workspace "$w"
	stops execute-missing cave_sandbox_failed 'workspace/none' --workspace "$w"
	refuses execute-all --workspace "$w" -- exec "$w/program"
}

optional() {
	policy maybe "read optional \"$home/perhaps\", \"$home/there\""
	policy both "read optional \"$home/perhaps\", \"$home/there\"; read \"$home/perhaps\""
	echo text >"$home/there"
	works maybe -- read "$home/there"
	stops both cave_sandbox_failed perhaps
	echo text >"$home/perhaps"
	works maybe -- read "$home/perhaps"
	works both -- read "$home/perhaps"
	rm "$home/perhaps" "$home/there"
}

# Folders by name: private ones, the caller's home, and those that the host names.
places() {
	rm -rf "$home/in" "$home/out" "$home/h" "$home/elsewhere"
	mkdir -p "$home/in" "$home/out" "$home/h/.kube" "$home/h/secret" "$home/elsewhere" "$home/temp"
	for file in in/file h/.kube/config h/secret/file elsewhere/file; do echo text >"$home/$file"; done
	ln -s ../elsewhere "$home/h/out"
	own "$home/in" "$home/out" "$home/h" "$home/elsewhere" "$home/temp"

	policy tmp 'write tmp'
	run under tmp -- "$bin/probe" environment
	private=$(sed -n 's/^TMPDIR=//p' "$work/out")
	case $private in
	/tmp/cave-*) ok "$kind: TMPDIR is a private folder" ;;
	*) not_ok "$kind: TMPDIR is a private folder" "$(cat "$work/out" "$work/err")" ;;
	esac
	expect "$kind: which goes with the run" ! -e "$private"
	# shellcheck disable=SC2016
	policy tmp-shell 'write tmp, workspace; execute tmp'
	run under tmp-shell --workspace "$home/workspace" -- sh -c '
		echo a >"$TMPDIR/a" && read -r x <"$TMPDIR/a" && echo "$x" >result
		umask 0; : >"$TMPDIR/b"; printf "%s\n" "$TMPDIR" >>result'
	expect "$kind: it is written and read" "$(head -n 1 "$home/workspace/result")" = a
	expect "$kind: and gone, with all that was in it" ! -e "$(tail -n 1 "$home/workspace/result")"
	rm -f "$home/workspace/result"
	run as env TMPDIR="$home/temp" "$bin/caverun" "$home/policy/tmp.bpf" -- "$bin/probe" environment
	expect "$kind: it is made in the caller's TMPDIR" "$(grep -c "^TMPDIR=$home/temp/cave-" "$work/out")" = 1
	expect "$kind: nothing is left there" -z "$(ls -A "$home/temp")"
	policy tmp-env 'write tmp'
	compile tmp-env "$home/policy/tmp-env.bpf" <<END
profile tmp-env { files { write tmp, workspace; read folder in }
	env { set TMPDIR workspace; set HOME "\${tmp}/h"; set IN "\${folder:in}/x:\${home}" } }
END
	chmod 644 "$home/policy/tmp-env.bpf"
	run as env HOME="$home/h" "$bin/caverun" --folder in="$home/in" --workspace "$home/workspace" \
		"$home/policy/tmp-env.bpf" -- "$bin/probe" environment
	expect "$kind: what the profile sets comes first" "$(sed -n 's/^TMPDIR=//p' "$work/out")" = "$home/workspace"
	expect "$kind: a place within a value" "$(sed -n 's/^HOME=//p' "$work/out" | grep -c '^/tmp/cave-[0-9a-f]*/h$')" = 1
	expect "$kind: a slot and home in a value" "$(sed -n 's/^IN=//p' "$work/out")" = "$home/in/x:$home/h"

	policy shm shm
	echo text >/dev/shm/cave-$$
	chmod 666 /dev/shm/cave-$$
	if [ "$kind" = bare ]; then
		stops shm cave_sandbox_failed '/dev/shm'
	else
		works shm -- create /dev/shm/new
		expect "$kind: it is not the host's" ! -e /dev/shm/new
		refuses shm -- read /dev/shm/cave-$$
		refuses shm -- write /dev/shm/cave-$$
		run under shm -- "$bin/probe" map-exec /dev/shm/new
		expect "$kind: nothing is left of the run before" "$(outcome)" = 'refused ENOENT'
		expect_output "$kind: Python makes semaphores there" 'True' under shm -- "$python" -c \
			'import multiprocessing as m; print(m.Lock().acquire())'
		policy no-shm 'read "/etc/hosts"'
		expect_status "$kind: and without it does not" 1 under no-shm -- "$python" -c \
			'import multiprocessing as m; print(m.Lock().acquire())'
		policy shm-write "shm; write folder out"
		mkdir /dev/shm/cave-d$$
		own /dev/shm/cave-d$$
		stops shm-write cave_sandbox_failed 'lies in /dev/shm' --folder out=/dev/shm/cave-d$$
		rmdir /dev/shm/cave-d$$
	fi
	rm -f /dev/shm/cave-$$

	policy slots 'read folder in; write folder out; read folder deep/.kube'
	set -- --folder in="$home/in" --folder out="$home/out" --folder deep="$home/h"
	works slots "$@" -- read "$home/in/file"
	works slots "$@" -- create "$home/out/new"
	works slots "$@" -- read "$home/h/.kube/config"
	refuses slots "$@" -- read "$home/h/secret/file"
	refuses slots "$@" -- write "$home/in/file"
	refuses slots "$@" -- create "$home/in/new"
	rm -f "$home/in/new"
	stops slots cave_sandbox_failed 'the policy needs a folder' --folder in="$home/in"
	stops slots cave_sandbox_failed 'knows no folder other' "$@" --folder other="$home/in"
	stops slots cave_sandbox_failed 'folder in is named twice' "$@" --folder in="$home/in"
	stops slots cave_sandbox_failed 'cannot open the folder in' --folder in="$home/none" --folder out="$home/out"
	stops slots cave_sandbox_failed 'takes NAME=DIR' --folder in
	stops slots cave_sandbox_source_read_root_refused 'folder in' --folder in=/ --folder out="$home/out" \
		--folder deep="$home/h"
	stops slots cave_sandbox_failed 'covers the policy itself' --folder in="$home/in" --folder out="$home" \
		--folder deep="$home/h"
	stops slots cave_sandbox_failed 'a file system of the kernel' --folder in="$home/in" --folder out=/proc \
		--folder deep="$home/h"
	stops tmp cave_sandbox_failed 'knows no folder in' --folder in="$home/in"

	policy home 'read home/.kube/config'
	policy home-out 'read home/out'
	at_home() { as env HOME="$home/h" "$bin/caverun" "$home/policy/$1.bpf" -- "$bin/probe" read "$2"; }
	run at_home home "$home/h/.kube/config"
	expect "$kind: a path in the caller's home" "$(outcome)" = allowed
	run at_home home "$home/h/secret/file"
	expect "$kind: is no other path in it" "$(outcome)" = 'refused EACCES'
	expect_code "$kind: a link that leads out of it" 125 cave_sandbox_source_read_grant_escapes_staging \
		at_home home-out "$home/elsewhere/file"
	expect_code "$kind: a HOME that is relative" 125 'no absolute path' \
		as env HOME=h "$bin/caverun" "$home/policy/home.bpf" -- "$bin/probe" ids
	[ "$kind" = root ] || return 0
	nobodys=$(getent passwd "$nobody" | cut -d: -f6)
	run as env HOME="$home/h" "$bin/caverun" --user nobody "$home/policy/home.bpf" -- "$bin/probe" ids
	expect "$kind: with --user it is that user's" -n \
		"$(grep "$nobodys.*(errno 2)\|cannot open the grant home/.kube/config" "$work/err")"
}

# Denials within grants.  Without private mounts they cannot be kept, and the start is refused.
denials() {
	d=$home/workspace
	restore() {
		rm -rf "$d"
		mkdir -p "$d/.git/hooks" "$d/sub/keys" "$d/plain"
		for file in .git/config .git/hooks/pre-commit sub/keys/id .env plain/file; do echo text >"$d/$file"; done
		own "$d"
	}
	restore
	policy deny 'write workspace; deny workspace/.git/hooks, workspace/sub/keys/id, workspace/.env'
	if [ "$kind" = bare ]; then
		stops deny cave_sandbox_failed 'denies something' --workspace "$d"
		policy deny-aside 'write workspace; deny "/etc/shadow", "/etc/none"'
		works deny-aside --workspace "$d" -- read "$d/.env"
		return
	fi
	set -- deny --workspace "$d" --
	works "$@" write "$d/plain/file"
	works "$@" create "$d/.git/new"
	works "$@" write "$d/.git/config"
	refuses "$@" read "$d/.env"
	refuses "$@" read "$d/.git/hooks/pre-commit"
	refuses "$@" read "$d/sub/keys/id"
	refuses "$@" list "$d/.git/hooks"
	for call in write truncate unlink chmod chown utimes setxattr; do
		refuses "$@" "$call" "$d/.env"
		refuses "$@" "$call" "$d/.git/hooks/pre-commit"
	done
	refuses "$@" create "$d/.git/hooks/new"
	refuses "$@" mkdir "$d/.git/hooks/new"
	# Neither it nor a folder on the way to it can be moved away, and another put in its place.
	for what in .env .git .git/hooks sub sub/keys; do refuses "$@" rename "$d/$what" "$d/moved"; done
	refuses "$@" rename "$d/plain/file" "$d/.env"
	refuses "$@" link "$d/.env" "$d/plain/other"
	refuses "$@" link "$d/sub/keys/id" "$d/plain/other"
	refuses "$@" read "/proc/self/root$d/.env"
	restore
	run under_probe "$@" symlink "$d/.env" "$d/plain/link" , read "$d/plain/link"
	expect "$kind: nor by a new link" "$(outcome)" = 'refused EACCES'
	rm -f "$d/plain/link"
	run under deny --workspace "$d" --chdir "$d/.git/hooks" -- "$bin/probe" read pre-commit
	expect "$kind: nor by starting there" "$(outcome)" = 'refused ENOENT' -o "$(outcome)" = 'refused EACCES'
	policy deny-here "read \"$d\"; deny \"$d/.git\""
	cd "$d/.git" || return
	run under deny-here -- "$bin/probe" read config
	expect "$kind: nor where the caller stands in it" "$(outcome)" = 'refused ENOENT' -o "$(outcome)" = 'refused EACCES'
	cd / || return

	expect_status "$kind: nor changed for another" 0 under deny --workspace "$d" -- "$python" -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for a, b in ((".git", "plain"), (".env", "plain/file"), (".git/hooks", "plain"), ("sub/keys/id", "plain/file")):
    assert libc.renameat2(-100, a.encode(), -100, b.encode(), 2) and ctypes.get_errno() in (16, 18), (a, ctypes.get_errno())
assert not libc.renameat2(-100, b"plain/file", -100, b".git/config", 2) or ctypes.get_errno() == 18
os.mkdir("other"); assert not libc.renameat2(-100, b"plain", -100, b"other", 2)'
	restore

	# What cannot be kept.
	ln "$d/.env" "$d/plain/hard"
	stops deny cave_sandbox_failed 'has another name' --workspace "$d"
	rm "$d/plain/hard"
	policy deny-missing 'write workspace; deny workspace/none/deep'
	policy deny-maybe 'write workspace; deny optional workspace/none/deep'
	policy deny-link 'write workspace; deny workspace/link/config'
	ln -s .git "$d/link"
	stops deny-missing cave_sandbox_failed 'it could make it' --workspace "$d"
	stops deny-maybe cave_sandbox_failed 'it could make it' --workspace "$d"
	stops deny-link cave_sandbox_failed 'leads through a link' --workspace "$d"
	rm "$d/link"
	policy deny-link-itself 'write workspace; deny workspace/plain/link'
	ln -s ../.env "$d/plain/link"
	stops deny-link-itself cave_sandbox_failed 'leads through a link' --workspace "$d"
	rm "$d/plain/link"
	policy deny-fresh 'write workspace; deny workspace/none/deep'
	run under deny-fresh -- "$bin/probe" create none/deep/x , mkdir none/deep , rename none other , create other
	expect "$kind: in a fresh folder it is made beforehand" "$(sed 's/.*: //' "$work/out" | tr '\n' ' ')" = \
		'refused EACCES refused EEXIST refused EBUSY allowed '
	policy deny-read "read \"$d\"; deny \"$d/none\""
	policy deny-read-maybe "read \"$d\"; deny optional \"$d/none\"; deny \"$d/.env\""
	stops deny-read cave_sandbox_failed 'is missing'
	works deny-read-maybe -- read "$d/plain/file"
	refuses deny-read-maybe -- read "$d/.env"
	policy deny-above "write workspace; deny \"$home\""
	stops deny-above cave_sandbox_failed 'nothing is left of the grant workspace' --workspace "$d"
	policy deny-system "deny \"/etc/hosts\", \"/usr/lib/os-release\", \"/nowhere\""
	refuses deny-system -- read /etc/hosts
	refuses deny-system -- read /usr/lib/os-release
	works deny-system -- read /etc/passwd
	policy deny-program "deny \"$bin/probe\""
	expect_code "$kind: PROGRAM may be denied" 126 'the policy denies it' under deny-program -- "$bin/probe" ids
	[ "$kind" = root ] || return 0

	# The same folder by another mount.
	mkdir -p "$home/again"
	by_mount() {
		unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && "$@"' sh "$1" "$home/again" \
			"$bin/caverun" --workspace "$d" "$home/policy/$2.bpf" -- "$bin/probe" read "$3"
	}
	policy deny-twice "write workspace; read \"$home/again\"; deny workspace/.git"
	expect_code "$kind: granted by another mount" 125 'by another mount' by_mount "$d" deny-twice "$d/plain/file"
	expect_code "$kind: a part of it as well" 125 cave_sandbox_failed by_mount "$d/.git/hooks" deny-twice "$d/plain/file"
	run by_mount "$d/plain" deny-twice "$d/plain/file"
	expect "$kind: control: another folder by another mount" "$(outcome)" = allowed
}

# Denials of writing: what is read and executed stays so.
write_denials() {
	d=$home/workspace
	restore() {
		rm -rf "$d"
		mkdir -p "$d/.git/hooks/deep" "$d/bin/open" "$d/keys" "$d/plain"
		for file in .git/config .git/hooks/pre-commit .git/hooks/deep/file keys/id keys/public plain/file settings; do
			echo text >"$d/$file"
		done
		cp "$bin/probe" "$d/bin/program"
		own "$d"
	}
	restore
	policy readable 'write workspace; execute workspace/bin/; deny write workspace/.git/hooks, workspace/settings
		deny write workspace/bin, workspace/keys; deny workspace/keys/id'
	if [ "$kind" = bare ]; then
		stops readable cave_sandbox_failed 'denies something' --workspace "$d"
		policy readable-aside "read workspace; deny write workspace/.git/hooks, \"/usr\", optional \"/none\""
		works readable-aside --workspace "$d" -- read "$d/.git/hooks/pre-commit"
		return
	fi
	set -- readable --workspace "$d" --
	for file in .git/hooks/pre-commit .git/hooks/deep/file settings keys/public plain/file; do
		works "$@" read "$d/$file"
	done
	works "$@" list "$d/.git/hooks"
	works "$@" map-exec "$d/bin/program"
	expect_status "$kind: PROGRAM is started from there" 0 under readable --workspace "$d" -- "$d/bin/program" ids
	works "$@" write "$d/.git/config"
	works "$@" create "$d/.git/new"
	works "$@" write "$d/plain/file"
	refuses "$@" read "$d/keys/id"
	for file in .git/hooks/pre-commit .git/hooks/deep/file settings bin/program keys/public keys/id; do
		for call in write truncate unlink chmod chown utimes setxattr lsetxattr futimesat chmod-by-name empty-readonly; do
			refuses "$@" "$call" "$d/$file"
		done
	done
	refuses "$@" fchmod "$d/settings"
	refuses "$@" file-flags "$d/settings"
	for folder in .git/hooks .git/hooks/deep bin keys; do
		refuses "$@" create "$d/$folder/new"
		refuses "$@" create-unnamed "$d/$folder"
		refuses "$@" mkdir "$d/$folder/new"
		refuses "$@" mkfifo "$d/$folder/new"
		refuses "$@" symlink x "$d/$folder/new"
		refuses "$@" link "$d/plain/file" "$d/$folder/new"
		refuses "$@" rename "$d/plain/file" "$d/$folder/new"
	done
	refuses "$@" rmdir "$d/bin/open"
	# Neither it nor a folder on the way to it is moved away, and nothing of it gets a name beside.
	for what in .git .git/hooks settings bin keys; do refuses "$@" rename "$d/$what" "$d/moved"; done
	for what in .git/hooks/pre-commit bin/program keys/public; do refuses "$@" rename "$d/$what" "$d/moved"; done
	refuses "$@" rename "$d/plain/file" "$d/settings"
	for what in settings .git/hooks/pre-commit bin/program; do refuses "$@" link "$d/$what" "$d/plain/other"; done
	refuses "$@" write "/proc/self/root$d/settings"
	restore
	run under_probe "$@" symlink "$d/.git/hooks" "$d/plain/link" , create "$d/plain/link/new" , \
		write "$d/plain/link/pre-commit" , read "$d/plain/link/pre-commit"
	expect "$kind: nor by a new link" "$(sed 's/.*: //' "$work/out" | tr '\n' ' ')" = \
		'allowed refused EROFS refused EROFS allowed '
	rm -f "$d/plain/link"
	run under readable --workspace "$d" --chdir "$d/.git/hooks" -- "$bin/probe" write pre-commit , read pre-commit
	expect "$kind: nor by starting there" "$(sed 's/.*: //' "$work/out" | tr '\n' ' ')" = 'refused EROFS allowed '

	# What cannot be kept.
	ln "$d/settings" "$d/plain/hard"
	stops readable cave_sandbox_failed 'has another name' --workspace "$d"
	rm "$d/plain/hard"
	rm -r "$d/.git/hooks"
	stops readable cave_sandbox_failed 'it could make it' --workspace "$d"
	ln -s ../plain "$d/.git/hooks"
	stops readable cave_sandbox_failed 'leads through a link' --workspace "$d"
	rm "$d/.git/hooks"
	mkfifo "$d/.git/hooks"
	stops readable cave_sandbox_failed 'neither a regular file nor a folder' --workspace "$d"
	restore
	policy readable-maybe 'write workspace; deny write optional workspace/none'
	stops readable-maybe cave_sandbox_failed 'it could make it' --workspace "$d"
	policy readable-fresh 'write workspace; deny write workspace/none/deep'
	run under readable-fresh -- "$bin/probe" create none/deep/x , list none/deep , rmdir none/deep , \
		rename none other , create other
	expect "$kind: in a fresh folder it is made beforehand, and read" \
		"$(sed 's/.*: //' "$work/out" | tr '\n' ' ')" = 'refused EROFS allowed refused EBUSY refused EBUSY allowed '
	policy readable-above "write workspace; deny write \"$home\""
	stops readable-above cave_sandbox_failed 'nothing may be written of the grant workspace' --workspace "$d"
	policy readable-above-maybe "write optional workspace/plain; deny write \"$d\""
	set -- readable-above-maybe --workspace "$d" --
	refuses "$@" write "$d/plain/file"
	works "$@" read "$d/plain/file"
	policy readable-device 'deny write "/dev/null"'
	works readable-device -- read /dev/null
	refuses readable-device -- write /dev/null
	policy readable-read "read workspace; deny write workspace/none"
	stops readable-read cave_sandbox_failed 'write: deny write optional' --workspace "$d"
	policy readable-nothing "deny write \"$d/none\", \"/etc\""
	works readable-nothing -- read /etc/hosts
	[ "$kind" = root ] || return 0

	mkdir -p "$home/again"
	policy readable-twice "write workspace, \"$home/again\"; deny write workspace/.git"
	expect_code "$kind: written by another mount" 125 'by another mount' by_mount "$d" readable-twice "$d/plain/file"
	expect_code "$kind: a part of it as well" 125 'the policy denies it' \
		by_mount "$d/.git/hooks" readable-twice "$d/plain/file"
	policy readable-twice-read "write workspace; read \"$home/again\"; deny write workspace/.git"
	run by_mount "$d" readable-twice-read "$home/again/.git/config"
	expect "$kind: what another mount grants to be read is no way to write" "$(outcome)" = allowed
	# What is mounted in it is read-only as well.
	run unshare --mount sh -c 'mount -t tmpfs t "$1/.git/hooks/deep" && shift && "$@"' sh "$d" \
		"$bin/caverun" --workspace "$d" "$home/policy/readable.bpf" -- "$bin/probe" create "$d/.git/hooks/deep/new"
	expect "$kind: nor in what is mounted there" "$(outcome)" = 'refused EROFS'
	run unshare --mount sh -c 'mount -t tmpfs t "$1/plain" && shift && "$@"' sh "$d" \
		"$bin/caverun" --workspace "$d" "$home/policy/readable.bpf" -- "$bin/probe" create "$d/plain/new"
	expect "$kind: control: what is mounted beside is written" "$(outcome)" = allowed
}

# with_landlock VERSION COMMAND…: what caverun is told by the kernel.
with_landlock() {
	version=$1
	shift
	as strace -qq -o /dev/null -e trace=landlock_create_ruleset \
		-e "inject=landlock_create_ruleset:retval=$version:when=1" "$@"
}

# Before version 5 Landlock knows nothing of ioctl on devices: then there are none beside the usual ones of /dev.
old_devices() {
	rm -rf "$home/beside"
	mkdir -p "$home/beside"
	mknod -m 666 "$home/beside/random" c 1 9
	compile devices "$home/policy/devices.bpf" <<END
profile devices {
	files { read "$home/beside"; write workspace }
	syscalls { allow ioctl(request == 0x80045200) }
}
END
	chmod 644 "$home/policy/devices.bpf"
	policy device 'write "/dev/ptmx"'
	policy terminals 'read "/dev/pts"'
	policy in-shm 'write "/dev/shm"'
	entropy='import fcntl, sys
try: f = open(sys.argv[1], "rb")
except OSError as e: print("open", e.errno); sys.exit()
try: fcntl.ioctl(f, 0x80045200, bytes(4)); print("told")
except OSError as e: print("ioctl", e.errno)'
	expect_output "$kind: control: a device is asked outside" told as "$python" -c "$entropy" "$home/beside/random"
	for abi in 2 4 5; do
		[ $abi -le "$landlock" ] || continue
		refused='ioctl 13'
		[ $abi -gt 4 ] || refused='open 13'
		expect_output "$kind: version $abi: a device in a folder" "$refused" with_landlock $abi "$bin/caverun" \
			--workspace "$home/workspace" "$home/policy/devices.bpf" -- "$python" -c "$entropy" "$home/beside/random"
		for name in device terminals; do
			run with_landlock $abi "$bin/caverun" "$home/policy/$name.bpf" -- "$bin/probe" read /dev/zero
			if [ $abi -gt 4 ]; then
				expect "$kind: version $abi: $name can be granted" "$(outcome)" = allowed
			else
				expect "$kind: version $abi: $name cannot" \
					"$status $(grep -c 'does not bound ioctl' "$work/err")" = '125 1'
			fi
		done
		run with_landlock $abi "$bin/caverun" "$home/policy/in-shm.bpf" -- "$bin/probe" create /dev/shm/cave-$$ , \
			unlink /dev/shm/cave-$$ , write /dev/null , read /dev/urandom , read /dev/zero
		expect "$kind: version $abi: the usual devices, and /dev/shm" "$(sed 's/.*: //' "$work/out" | sort | uniq -c |
			tr -s ' ')" = ' 5 allowed'
		expect_output "$kind: version $abi: a terminal still is one" True as "$python" "$top/tests/tools/on_pty.py" \
			strace -qq -o /dev/null -e trace=landlock_create_ruleset \
			-e "inject=landlock_create_ruleset:retval=$abi:when=1" "$bin/caverun" "$home/policy/in-shm.bpf" -- \
			"$python" -c 'import os; print(os.isatty(0) and os.isatty(1))'
	done
}

# What an older kernel's Landlock cannot refuse, the mounts do; strace gives caverun its answer.
old_kernels() {
	command -v strace >/dev/null || {
		skip "$kind: older versions of Landlock" "strace is not installed"
		return
	}
	policy old "write workspace; read \"$home/beside\""
	w=$home/workspace
	echo text >"$home/there"
	for abi in $(seq $((landlock < 6 ? landlock : 6))); do
		rm -rf "$w" "$home/beside"
		mkdir -p "$w/a" "$w/b" "$home/beside"
		echo text >"$w/a/file"
		echo text >"$home/beside/file"
		own "$w" "$home/beside"
		run with_landlock "$abi" "$bin/caverun" --workspace "$w" "$home/policy/old.bpf" -- "$bin/probe" \
			truncate "$w/a/file" , rename "$w/a/file" "$w/b/file" , \
			truncate "$home/beside/file" , chmod "$home/beside/file" , read "$home/beside/file" , read "$home/there"
		got=$(sed 's/.*: //' "$work/out" | tr '\n' ' ')
		truncated=allowed moved=allowed changed='refused EROFS refused EROFS'
		[ "$abi" -gt 1 ] || moved='refused EXDEV'
		case $kind$abi in
		bare[12])
			expect "$kind: with version $abi it is not started" \
				"$status $(grep -c 'does not bound truncate' "$work/err")" = '125 1'
			continue
			;;
		bare*) truncated='refused EPERM' changed='refused EPERM refused EPERM' ;;
		esac
		expect "$kind: with version $abi it is bounded all the same" "$got" = \
			"$truncated $moved $changed allowed refused EACCES "
	done
}

suite() {
	kind=$1
	home=$work/$kind
	restore() { :; }
	mkdir -p "$home/policy" "$home/workspace"
	own "$home/workspace"
	execution
	optional
	places
	denials
	write_denials
	old_kernels
	if [ "$kind" != bare ] && command -v strace >/dev/null; then old_devices; fi
}

for user in $kinds; do
	suite "$user"
done
