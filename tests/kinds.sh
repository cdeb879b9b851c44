# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For live tests that ask everything three times, after tests/lib.sh: as root, as an ordinary user, and as an ordinary
# user who gets no user namespace.  $bin is where all of them find the programs; cleanup() must end $holder.
nobody=65534
bin=$work/bin
mkdir "$bin"
cp "$caverun" "$build/cave-load" "$build/tests/tools/nouserns" "$bin"
cp "$probe" "$bin/probe"
chmod -R go+rX "$bin"
# One process holds the user namespace in which there are no others to be had.
"$bin/nouserns" $nobody sleep 3600 &
# The tests use it.
# shellcheck disable=SC2034
holder=$!

# Becomes the command, as the kind of user that is asked about.
become() {
	case $kind in
	root) exec "$@" ;;
	user) exec setpriv --reuid=$nobody --regid=$nobody --clear-groups "$@" ;;
	bare) exec nsenter --user="/proc/$holder/ns/user" --setuid=$nobody --setgid=$nobody "$@" ;;
	esac
}
as() { (become "$@"); }

landlock=$("$python" -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))')
kinds='root user bare'
if [ "$landlock" -lt 3 ]; then
	# Landlock does not bound truncate() (before Linux 6.2): with mounts the runtime does, and without it starts nothing.
	# The tests use it.
	# shellcheck disable=SC2034
	kinds='root user'
	expect "bare: nothing is started without truncate()" "$(printf 'profile p { }' >"$work/p.cave" &&
		"$cavec" "$work/p.cave" -o "$work/p.bpf" && chmod 644 "$work/p.bpf" &&
		kind=bare as "$bin/caverun" "$work/p.bpf" -- true 2>&1 | grep -c 'does not bound truncate')" = 1
fi

# Where a run's control groups are made for its limits: the mounts of version 2, and those of version 1 for memory and tasks.
controllers() {
	awk '{ for (i = 7; $i != "-"; i++); type = $(i + 1); super = "," $(i + 3) "," }
		type == "cgroup2" || (type == "cgroup" && super ~ /,(memory|pids),/) { print $5 }' /proc/self/mountinfo
}
# As as(), from control groups in which nothing else is, and that are the user's own: as a service manager delegates them.
delegated() {
	delegated_name=cave-test-$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n') delegated_status=0
	(
		for mount in $(controllers); do
			mkdir "$mount/$delegated_name"
			[ "$kind" = root ] || chown -R $nobody:$nobody "$mount/$delegated_name"
			# shellcheck disable=SC2016
			sh -c 'echo $PPID >"$0/cgroup.procs"' "$mount/$delegated_name"
		done
		become "$@"
	) || delegated_status=$?
	for mount in $(controllers); do
		rmdir "$mount/$delegated_name"/cave-???????????????? "$mount/$delegated_name" 2>/dev/null
		[ ! -e "$mount/$delegated_name" ] || echo "left: $mount/$delegated_name" >&2
	done
	return $delegated_status
}
