#!/bin/sh
# SPDX-License-Identifier: MIT
# files, places, sets and what is expected of them, as the compiler sees it.
. "$(dirname "$0")/../lib.sh"

# judge NAME EXPECTED: $work/p.cave is refused with these LINE:COLUMN:CODE, or accepted if none is given.
judge() {
	run "$cavec" "$work/p.cave" -o "$work/x.bpf"
	got=$(sed -n 's/^[^ ]*:\([0-9]*:[0-9]*\): error: .*\[\(.*\)\]$/\1:\2/p' "$work/err" | tr '\n' ' ' | sed 's/ $//')
	wanted=0
	[ -z "$2" ] || wanted=1
	if [ "$got" = "$2" ] && [ "$status" = $wanted ]; then
		ok "$1"
	else
		not_ok "$1" "status $status, reported '$got', expected '$2'; $(cat "$work/err")"
	fi
}
# files EXPECTED BLOCK: the block's text stands on line 2 from column 3.
files() {
	printf 'profile p { files {\n  %s\n} }\n' "$2" >"$work/p.cave"
	judge "files: $2" "$1"
}
says() { expect "and says: $1" -n "$(grep -F "$1" "$work/err")"; }
# whole EXPECTED STATEMENTS
whole() {
	printf 'profile p {\n%s\n}\n' "$2" >"$work/p.cave"
	judge "$2" "$1"
}
value=cave_profile_value unknown=cave_profile_unknown_name contradiction=cave_profile_contradiction
syntax=cave_profile_syntax root=cave_sandbox_source_read_root_refused
escapes=cave_sandbox_source_read_grant_escapes_staging failed=cave_profile_expectation_failed

# --- what is nearly a place: in quotes, or misspelt, it would be a path beside the artefact, which nothing is at
files "2:17:$value" 'deny optional "home/.ssh"' && says 'write it without quotes: home/.ssh'
says 'beside the artefact it is: "./home/.ssh"'
files "2:8:$value" 'read "workspace"' && files "2:9:$value" 'write "tmp/x"' && files "2:8:$value" 'read "folder in/x"'
files "2:9:$value" 'write "home/My Files"' && says 'below a place stand words only'
files "2:17:$unknown" 'read optional homes/.config' && says "did you mean 'home'"
files "2:9:$unknown" 'write wrkspace/out' && files "2:8:$unknown" 'read Home/x'
files '' 'read "./home/x", "lib/x", lib/x, ./lib/x, .'
files "2:8:$escapes" 'read ..'
for text in ' /etc' '/etc '; do files "2:8:$value" "read \"$text\""; done
whole '' 'env { set HOME "home" }' && says 'in quotes this is a text; the place is: home'

# --- what is accepted, in one canonical spelling that compiles to the same policy
cat >"$work/all.cave" <<'END'
profile all {
    use <git>, <npm> <coreutils>
    env { set HOME tmp; set GOCACHE "${workspace}/.cache"; set A "${home}/a:${folder:in}/b:${tmp}"; set GIT_PAGER "less" }
    files {
        read "./lib", optional "/etc/foo.conf", home/.kube/config, folder in, folder in/deep
        write folder out, workspace, tmp
        execute workspace, tmp, "/opt/tools/", "/opt/one", "./bin/", "./bin/one", folder in/bin/, home/bin/
        shm
        deny workspace/.git, "/opt/tools/secret", optional home/.kube/config/x, folder out/keys, "./lib/x"
        deny write workspace/src/write, optional home/.kube/config, "/opt/tools/secret", write/x
        use <fonts>
    }
}
END
expect_status "everything compiles" 0 "$cavec" "$work/all.cave" -o "$work/all.bpf"
"$cavec" dump "$work/all.bpf" | sed -n '/^profile$/,/^syscall filter/p' | sed '1d;$d' >"$work/again.cave"
expect_status "and its canonical text" 0 "$cavec" "$work/again.cave" -o "$work/again.bpf"
identity() { "$cavec" dump "$1" | sed -n 's/.*identity *//p' | head -n 1; }
dump_of() { "$cavec" dump "$1" | sed -n '/^manifest/,/^syscall filter/p' | grep -v identity; }
dump_of "$work/all.bpf" >"$work/one"
dump_of "$work/again.bpf" >"$work/two"
expect "which means the same" "$(cat "$work/one")" = "$(cat "$work/two")" -a -s "$work/one"
sed 's/^ *//' "$work/again.cave" >"$work/lines"
for line in 'execute workspace' 'write workspace' 'execute "/opt/tools/"' 'execute "/opt/one"' 'deny "/opt/tools/secret"' \
	'read folder in' 'read folder in/deep' 'execute folder in/bin/' 'deny folder out/keys' 'execute "./bin/"' shm \
	'read optional "/etc/foo.conf"' 'deny optional home/.kube/config/x' 'execute optional "/usr/lib/git-core/"' \
	'set GIT_PAGER "less"' 'deny write workspace/src/write' 'deny write optional home/.kube/config' 'deny write "./write/x"' \
	'set A "${home}/a:${folder:in}/b:${tmp}"' 'set HOME "${tmp}"'; do
	expect "dump shows: $line" "$(grep -cxF -- "$line" "$work/lines")" = 1
done

# --- paths
files "2:8:$root" 'read "/"'
files "2:8:$root" 'deny "/"'
files "2:11:$root" 'execute "/"'
files "2:11:$root" 'execute "/usr/.."'
files "2:8:$escapes" 'deny workspace/../x'
files "2:8:$escapes" 'read folder in/../../x'
files "2:8:$value" 'read "/etc/../usr"'
files "2:8:$value" 'read ~/.ssh'
says 'write: home/.ssh'
files "2:8:$value" 'read "/etc/*.conf"'
files "2:8:$unknown" 'read tnp'
says "did you mean 'tmp'?"
files "2:15:$value" 'read folder in.put'
files "2:3:$unknown" 'denny "/etc/x"'
files "" 'read folder in; write folder in'
files "" 'read "/etc/", workspace/, tmp/'

# --- what cannot be kept
files "2:9:$contradiction" 'write "/proc/sys"'
files "2:9:$contradiction" 'write "/sys"'
files "2:9:$contradiction" 'write "./"'
files "2:8:$contradiction" 'deny "/proc/self/net"'
files "2:8:$contradiction" 'deny workspace; write tmp'
files "2:26:$contradiction" 'deny "/opt/a"; execute "/opt/a/b"'
says 'it is denied here'
files "2:9:$contradiction" 'write workspace/.git; deny workspace/.git'
files "" 'write "/opt/a"; deny "/opt/a/b", "/opt/ab"'
files "" 'deny "/etc/shadow"'
files "" 'deny "/etc/passwd"; use <fonts>; deny "/usr/share/fonts/x", "/etc/fonts"'
# Of writing only.
files "2:14:$contradiction" 'deny write workspace; read workspace'
says 'grant reading of it only'
files "2:14:$contradiction" 'deny write "/proc/self"'
files "2:14:$root" 'deny write "/"'
files "2:30:$contradiction" 'deny write "/opt/a"; write "/opt/a/b"'
says 'nothing of this grant may be written'
files "" 'deny write "/opt/a"; read "/opt/a/b"; execute "/opt/a/c"'
files "" 'write "/opt/a"; deny write "/opt/a/b"; use <fonts>; deny write "/usr/share/fonts"'
files "2:14:$unknown" 'deny write tnp'
files "2:8:$unknown" 'deny write'
files "2:8:$unknown 2:15:$contradiction" 'deny write, tmp'
files "2:8:$contradiction" 'read "/dev/shm/x"; shm'
files "2:8:$contradiction" 'deny "/dev/shm/x"; shm'

# --- environment
whole "2:11:$value" 'env { set HOME workspace }'
says 'grants nothing'
whole "2:11:$value" 'env { set HOME tmp }; files { write workspace }'
says 'grant it besides: files { write tmp }'
whole "2:11:$value" 'env { set X "${folder:in}" }; files { read folder inn; deny folder in/x }'
says 'grant it besides: files { read folder in }, or write'
whole "" 'env { set HOME home; set X "${home}/x" }'
whole "2:13:$unknown" 'env { set X "${worksapce}" }'
says '${folder:NAME}'
whole "2:13:$unknown" 'env { set X "${folder:}" }'
whole "2:13:$unknown" 'env { set X "${tmp" }'
whole "2:13:$value" 'env { set X home/x }'
says 'write: "${home}/x"'
whole "" 'env { set PATH "${workspace}/bin:/usr/bin:${folder:in}" }; files { read workspace, folder in }'
whole "2:16:$value" 'env { set PATH "bin:${workspace}" }; files { read workspace }'

# --- sets
whole "2:5:$unknown" 'use <pyhton3>'
says 'did you mean <python3>?'
whole "2:5:$value" 'use <npm-registry>'
whole "2:5:$value 2:13:$unknown" 'use <pypi>, <pip2>'
whole "" 'use <git>; use <git>; files { use <git> }; env { set GIT_PAGER "more" }'
for set in coreutils fonts gcc git go java node npm pip python3 ssh; do
	whole "" "use <$set>"
	expect_status "cavec list <$set>" 0 "$cavec" list "<$set>"
	expect "which names it" "$(grep -c '^files {' "$work/out")" = 1
	# What a set grants may be missing anywhere, and is never written to.
	"$cavec" dump "$work/x.bpf" | sed -n '/^    files/,/^    }/p' >"$work/set"
	expect "<$set>: all of it is optional, and read or executed" -z \
		"$(grep -vE '^ *(files \{|base system|(read|execute) optional "/[^"]*"|\})$' "$work/set")"
done
expect "cavec list names the sets" "$("$cavec" list | grep -c '^<.*files')" = 11
expect_status "a set that is none" 2 "$cavec" list '<nothing>'

# --- expectations, each of which holds or does not
holds() { whole "" "$1; expect { $2 }"; }
fails() {
	printf 'profile p {\n%s\nexpect {\n%s\n}\n}\n' "$1" "$2" >"$work/p.cave"
	judge "does not hold: $1; $2" "4:1:$failed"
}
both() { # GRANTS EXPECTATION: it holds, and its opposite does not
	holds "$1" "$2"
	case $2 in
	allow*) fails "$1" "deny ${2#allow }" ;;
	*) fails "$1" "allow ${2#deny }" ;;
	esac
}
both 'files { }' 'deny read "/etc/shadow"'
both 'files { }' 'allow read "/etc/hosts"'
both 'files { base none }' 'deny read "/etc/hosts"'
both 'use <git>' 'allow execute "/usr/bin/git"'
both 'use <git>' 'allow execute "/usr/lib/git-core/git-remote-https"'
both 'use <git>' 'deny execute "/usr/bin/curl"'
both 'use <git>' 'deny execute "/usr/bin/git/x"'
both 'files { execute workspace }' 'allow execute workspace/x'
both 'files { read "/opt"; execute "/opt/one" }' 'deny execute "/opt/two"'
both 'use <git>' 'deny write "/usr/bin/git"'
both 'files { read "/usr/bin/git" }' 'deny execute "/usr/bin/git"'
both 'files { write workspace }' 'allow write workspace'
both 'files { write workspace }' 'allow read workspace/x'
both 'files { write workspace }' 'deny execute workspace'
both 'files { write workspace; deny workspace/.git }' 'deny read workspace/.git/config'
both 'files { write workspace; deny workspace/.git }' 'allow write workspace/src'
fails 'files { write workspace; deny workspace/.git }' 'allow write workspace'
fails 'files { write workspace; deny workspace/.git }' 'deny write workspace'
both 'files { write workspace; deny write workspace/.git }' 'deny write workspace/.git/config'
both 'files { write workspace; deny write workspace/.git }' 'allow read workspace/.git/config'
both 'files { write workspace; deny write workspace/.git }' 'allow read workspace'
both 'files { write workspace; execute workspace; deny write workspace/b }' 'allow execute workspace/b/x'
fails 'files { write workspace; deny write workspace/.git }' 'allow write workspace'
both 'files { deny write "/a"; write "/b"; deny "/b/c"; deny write "/b/c" }' 'deny read "/b/c"'
both 'files { shm }' 'allow write "/dev/shm/x"'
both 'files { }' 'deny read "/dev/shm"'
both 'files { read optional "/opt/x" }' 'allow read "/opt/x"'
both 'files { execute folder t/bin/ }' 'allow execute folder t/bin/x'
both 'files { execute folder t/bin }' 'deny execute folder t/bin/x'
both 'use <ssh>' 'deny read home/.ssh'
both 'use <node>' 'allow execute "/usr/bin/node"'
# Where the home folder is, is known at the start only.
for path in '"/home/a"' '"/root/.ssh"' '"/tmp/x/.ssh/id"' '"/srv"' '"/etcetera"'; do
	for grant in home home/.ssh; do
		fails "files { read $grant }" "deny read $path"
		says "not certain"
		says "deny $path"
		holds "files { read $grant }" "deny write $path"
		fails "files { write $grant }" "deny write $path"
		holds "files { write $grant; deny write optional $path }" "deny write $path"
		holds "files { read $grant; deny optional $path }" "deny read $path"
		fails "files { read $path }" "deny read $grant"
		says "not certain"
		fails "files { read $path }" "allow read $grant"
	done
done
both 'files { read home }' 'deny read "/etc/shadow"'
both 'files { read home }' 'deny read "/usr/share/x"'
both 'use <java>, <fonts>' 'deny read home'
both 'files { write workspace, tmp; read folder in; read "./lib" }' 'deny read "/root"'
fails 'files { read "/etc/ssl" }' 'deny read "/etc"'
says '"/etc/ssl"'
fails 'files { read "/opt/a" }' 'allow read "/opt"'
both 'files { write tmp; read folder in; read home/a }' 'allow write tmp/x'
both 'files { write tmp; read folder in; read home/a }' 'allow read folder in/x'
both 'files { write tmp; read folder in; read home/a }' 'deny read folder out'
both 'files { write tmp; read folder in; read home/a }' 'deny read home/b'
both 'files { read "./lib" }' 'allow read ./lib/x'
both 'env { pass FOO; set BAR "x" }' 'allow env FOO'
both 'env { pass FOO; set BAR "x" }' 'allow env BAR'
both 'env { pass FOO; set BAR "x" }' 'deny env BAZ'
both 'files { write tmp }' 'allow env TMPDIR'
both 'files { write workspace }' 'deny env TMPDIR'
both 'files { }' 'allow env PATH'
both 'files { shm }' 'allow write shm'
both 'files { }' 'deny read shm'
both 'childProcess { max-processes 4; execute "/bin/sh" }' 'allow max-processes 4'
both 'childProcess { max-processes 4; execute "/bin/sh" }' 'deny max-processes 5'
both 'childProcess { max-processes 0; execute "/bin/sh" }' 'deny max-processes 1'
both 'childProcess false' 'deny max-processes 1'
both 'childProcess { max-processes 4; execute "/bin/sh" }' 'allow syscall fork'
both 'limits { time 30s }' 'allow time 30s'
both 'limits { time 30s }' 'deny time 31s'
both 'limits { time 30s }' 'deny time none'
both 'limits { time none }' 'allow time none'
both 'files { }' 'allow time 1h' # the default
both 'files { }' 'deny time 61min'
both 'files { }' 'allow memory 1TiB'
both 'files { }' 'allow memory none'
both 'limits { memory 64MiB }' 'deny memory 65MiB'
both 'limits { tasks 5 }' 'deny tasks 6'
both 'limits { output 100B }' 'allow output 100B'
both 'limits { open-files 20 }' 'deny open-files 21'
both 'limits { file-size 1MiB; cpu-time 2s }' 'deny file-size 2MiB'
both 'limits { file-size 1MiB; cpu-time 2s }' 'deny cpu-time 3s'
fails 'limits { time 30s }' 'allow time 1min'
says 'the limit time is 30s'
fails 'childProcess { max-processes 4; execute "/bin/sh" }' 'allow max-processes 5'
says 'at most 4 processes may be beside the tool'
whole "2:18:$syntax" 'expect {   allow time }'
whole "2:18:$syntax" 'expect {   allow time 1s 2s }'
whole "2:23:cave_profile_value" 'expect {   allow time 30 }'
whole "2:32:cave_profile_value" 'expect {   allow max-processes x }'
whole "2:18:$syntax" 'expect {   allow read }'
whole "2:18:$syntax" 'expect {   allow read "/a" "/b" }'
whole "2:23:$unknown" 'expect {   allow read workspac }'
whole "2:18:$syntax" 'expect {   allow env A B }'
printf 'filter f { allow read }\nexpect { allow read "/a" }\n' >"$work/p.cave"
judge "a bare filter grants no files" "2:16:$syntax"
printf 'filter f { allow read }\nexpect { allow time 1s }\n' >"$work/p.cave"
judge "a bare filter limits nothing" "2:16:$syntax"

# --- a write grant that covers what binds the tool
mkdir -p "$work/proj/rules/inc" "$work/proj/data"
cat >"$work/proj/rules/p.cave" <<END
include "inc/more.cave"
profile p { }
END
try_cover() {
	echo "files { write $2 }" >"$work/proj/rules/inc/more.cave"
	run "$cavec" "$work/proj/rules/p.cave" -o "$work/proj/out.bpf"
	if [ "$1" = yes ]; then
		expect "a write grant that covers: $3" "$status $(grep -c "$contradiction" "$work/err")" = '1 1'
	else
		expect "a write grant beside: $3" "$status" = 0
	fi
}
try_cover no "\"$work/proj/data\"" 'another folder'
try_cover yes "\"$work/proj/rules\"" 'the profile'
try_cover yes "\"$work/proj/rules/inc\"" 'an include'
try_cover yes "\"$work/proj/rules/inc/more.cave\"" 'the include itself'
try_cover yes "\"$work/proj\"" 'the artefact'
try_cover yes './rules' 'the profile, beside the artefact'
try_cover no './data' 'the artefact'
ln -s rules/inc "$work/proj/link"
try_cover yes './link' 'an include, by a link'

# --- what is newly granted is said in the same words
echo 'profile p { files { write workspace; deny workspace/.git } }' >"$work/old.cave"
echo 'profile p { files { write workspace; read home/a, folder in; shm }; env { set B "${folder:in}/x" } }' >"$work/new.cave"
run "$cavec" diff "$work/old.cave" "$work/new.cave"
for line in 'write workspace/.git' 'read home/a' 'read folder in' 'write shm' 'set B "${folder:in}/x"'; do
	expect "diff says: $line" -n "$(grep -F -- "+ $line " "$work/out")"
done
expect "diff says nothing else" "$(grep -c '^    [+-]' "$work/out")" = 5

echo 'profile p { files { write workspace; deny write workspace/.git } }' >"$work/narrow.cave"
run "$cavec" diff "$work/old.cave" "$work/narrow.cave"
expect "diff: what may be read newly, and no more" "$(grep '^    [+-]' "$work/out" | tr -s ' ' | cut -d' ' -f2-4)" = \
	'+ read workspace/.git'
echo 'profile p { files { write workspace } }' >"$work/wide.cave"
run "$cavec" diff "$work/narrow.cave" "$work/wide.cave"
expect "diff: what may be written newly" "$(grep '^    [+-]' "$work/out" | tr -s ' ' | cut -d' ' -f2-4)" = \
	'+ write workspace/.git'
explains() { # PATH-QUERY WORD
	# shellcheck disable=SC2086
	run "$cavec" explain "$work/narrow.cave" $1
	expect "explain: $1" -n "$(grep -i "$2" "$work/out")"
}
explains 'read workspace/.git/x' allowed
explains 'write workspace/.git/x' refused
explains 'write workspace/x' allowed
echo 'profile p { files { shm } }' >"$work/narrow.cave"
explains 'write /dev/shm/x' allowed
explains 'read /dev/shmx' refused
