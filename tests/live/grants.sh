#!/bin/sh
# SPDX-License-Identifier: MIT
# What grants of files mean at the start, when their paths meet the file system: relative ones, links, missing ones; and
# what the runtime refuses to start on a host that cannot keep a promise.
. "$(dirname "$0")/../lib.sh"
need_root

mkdir -p "$work/policy/lib/deep" "$work/secret" "$work/w"
echo text >"$work/policy/lib/file"
echo text >"$work/policy/lib/deep/file"
echo secret >"$work/secret/file"

# policy NAME FILES-BLOCK
policy() {
	compile "$1" "$work/policy/$1.bpf" <<END
profile $1 {
	files { $2 }
}
END
}
tool() {
	name=$1
	shift
	"$caverun" "$work/policy/$name.bpf" -- "$probe" "$@"
}
gets() {
	run tool "$2" read "$3"
	expect "$1" "$(cat "$work/out")" = "read $3: allowed"
}
misses() {
	run "$probe" read "$3"
	expect "control: $1" "$(cat "$work/out")" = "read $3: allowed"
	run tool "$2" read "$3"
	expect "$1" "$(cat "$work/out")" = "read $3: refused EACCES"
}
stops() {
	expect_code "$1" 125 "$3" tool "$2" ids
	expect "$1: nothing was started" -z "$(cat "$work/out")"
}

# Relative grants start at the artefact's folder, wherever the caller is, and stay in it.
policy relative 'read "./lib"'
cd "$work/secret" || exit 1
gets "a relative grant is beside the artefact" relative "$work/policy/lib/deep/file"
misses "and not beside the caller" relative "$work/secret/file"
ln -s ../secret "$work/policy/out"
policy escape 'read "./out"'
stops "a relative grant that a link leads out" escape cave_sandbox_source_read_grant_escapes_staging
ln -s lib/deep "$work/policy/in"
policy inside 'read "./in"'
gets "one that a link leads within" inside "$work/policy/lib/deep/file"
misses "grants where it leads, not around it" inside "$work/policy/lib/file"
mkdir "$work/moved"
cp "$work/policy/relative.bpf" "$work/moved"
expect_status "moved to where its grant is missing, it is not started" 125 \
	"$caverun" "$work/moved/relative.bpf" -- "$probe" ids

# Absolute grants.
policy file "read \"$work/policy/lib/file\""
gets "a grant of a file" file "$work/policy/lib/file"
misses "is none of its folder" file "$work/policy/lib/deep/file"
policy missing "read \"$work/none\""
stops "a grant of what is not there" missing cave_sandbox_failed
ln -s / "$work/rootlink"
policy root "read \"$work/rootlink\""
stops "a grant that leads to the root" root cave_sandbox_source_read_root_refused
policy nofiles 'base none'
run tool nofiles read /etc/hosts
expect "base none drops the system set" "$(cat "$work/out")" = 'read /etc/hosts: refused EACCES'
policy write "write \"$work/w\""
run tool write create "$work/w/new" , chmod "$work/w/new" , create "$work/policy/new" , read "$work/policy/lib/file"
expect "a write grant of a folder" "$(cat "$work/out")" = "create $work/w/new: allowed
chmod $work/w/new: allowed
create $work/policy/new: refused EROFS
read $work/policy/lib/file: refused EACCES"
rm "$work/w/new"
policy one "write \"$work/policy/lib/file\""
run tool one write "$work/policy/lib/file" , write "$work/policy/lib/deep/file"
expect "a write grant of one file" "$(sed 's/refused .*/refused/' "$work/out")" = \
	"write $work/policy/lib/file: allowed
write $work/policy/lib/deep/file: refused"

# The artefact and the profile are out of reach of the tool that runs under them, unless granted.
run tool relative write "$work/policy/relative.bpf" , read "$work/policy/relative.bpf"
expect "the artefact is not readable or writable by its tool" "$(grep -c refused "$work/out")" = 2

# A syscalls line that needs the mount namespace, where there is none to be had.
cat >"$work/meta.cave" <<'END'
profile meta { syscalls { allow chmod }; files { write workspace } }
END
expect_status "a line that allows chmod compiles" 0 "$cavec" "$work/meta.cave" -o "$work/meta.bpf"
mkdir "$work/bin"
cp "$caverun" "$build/tests/tools/nouserns" "$work/bin"
cp "$probe" "$work/bin/probe"
expect_status "and starts where the namespace bounds it" 0 "$work/bin/caverun" "$work/meta.bpf" -- "$work/bin/probe" ids
chmod 644 "$work/meta.bpf"
expect_code "and does not where there is none" 125 cave_sandbox_failed \
	"$work/bin/nouserns" 65534 "$work/bin/caverun" "$work/meta.bpf" -- "$work/bin/probe" ids

# So many endpoints, and denials beside them, that functions judge both.
{
	echo 'profile many { network {'
	for n in $(seq 13); do
		echo "listen tcp 127.0.0.$((2 * n)) port $((8000 + n)); listen udp 127.0.0.$((2 * n + 1)) port $((7000 + n))"
		echo "listen tcp 2001:db8:$n::1 port 8443; deny 10.$n.0.0/16; deny udp 2001:db8:f$n::/48"
	done
	echo '} }'
} >"$work/many.cave"
expect_status "many endpoints compile" 0 "$cavec" "$work/many.cave" -o "$work/many.bpf"
expect "to a function for each family" "$(readelf -sW "$work/many.bpf" | grep -c ' cave_own[46]$')" = 2
run "$caverun" "$work/many.bpf" -- "$probe" listen-tcp 127.0.0.26 8013 , listen-tcp 127.0.0.26 8012 , \
	listen-tcp 127.0.0.24 8012 , listen-tcp 127.0.0.25 7012
expect "each lets in at its own port" "$(grep -o ': .*' "$work/out" | tr -d '\n')" = \
	": allowed: refused EPERM: allowed: refused EPERM"

# A network grant where the cgroups are out of sight.
cat >"$work/net.cave" <<'END'
profile net { network { allow tcp 127.0.0.1 port 1 } }
END
expect_status "a network grant compiles" 0 "$cavec" "$work/net.cave" -o "$work/net.bpf"
mount=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)
expect_code "without a cgroup file system it is not started" 125 cave_sandbox_os_network_isolation_unavailable \
	unshare --mount sh -c 'umount -l "$0" && exec "$@"' "$mount" "$caverun" "$work/net.bpf" -- "$probe" ids
expect_status "a profile without one is" 0 \
	unshare --mount sh -c 'umount -l "$0" && exec "$@"' "$mount" "$caverun" "$work/policy/relative.bpf" -- "$probe" ids
mkdir "$work/cgroup"
expect_status "a cgroup file system in another place is found" 0 unshare --mount sh -c \
	'mount -t cgroup2 none "$0/cgroup" && umount -l "$1" && shift && exec "$@"' "$work" "$mount" \
	"$caverun" "$work/net.bpf" -- "$probe" ids
"$caverun" --forget --all
expect_code "nor is it where cave-load is missing" 125 cave_sandbox_os_network_isolation_unavailable \
	"$work/bin/caverun" "$work/net.bpf" -- "$work/bin/probe" ids
