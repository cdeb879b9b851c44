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
