#!/bin/sh
# SPDX-License-Identifier: MIT
# The operator's rules at start: what is accepted, what is refused and how, and who may have written them.
. "$(dirname "$0")/../lib.sh"
need_root

nobody=65534
bin=$work/bin
mkdir "$bin" "$work/etc"
cp "$caverun" "$build/cave-load" "$probe" "$bin"
chmod -R go+rX "$bin"
rules=$work/etc/operator.conf

compile plain "$work/plain.bpf" <<'END'
profile plain { }
END
compile other "$work/other.bpf" <<'END'
profile other { }
END
compile net "$work/net.bpf" <<'END'
profile net { network { allow tcp 9.9.9.0/24 port 443; allow tcp 2620:fe::/47 port 443; allow tcp 10.0.0.0/8 port 1 } }
END
printf 'credential acme ACME_LOGIN\n' >"$rules"
printf 'profile p { credentialEnv ACME_LOGIN }\n' >"$work/cred.cave"
expect_status "the compiler reads the same file" 0 "$cavec" "$work/cred.cave" --config "$work/etc" -o "$work/cred.bpf"
expect_status "and its credentials alone" 0 "$cavec" "$work/cred.cave" --capabilities "$rules" -o "$work/cred2.bpf"
expect "to the same bytes" "$(cmp "$work/cred.bpf" "$work/cred2.bpf" && echo same)" = same
chmod 644 "$work"/*.bpf

under() { ACME_LOGIN=x "$bin/caverun" --config "$rules" "$@" -- "$bin/cave-probe" no-new-privs; }
start() { ${become:-} "$bin/caverun" "$@" "$work/plain.bpf" -- "$bin/cave-probe" no-new-privs; }
as_nobody() { (become="setpriv --reuid=$nobody --clear-groups" && "$@"); }
starts() { expect_status "$1" 0 under "$work/$2.bpf"; }
stays() { expect_code "$1" 125 "$3" under "$work/$2.bpf" && expect "$1: and nothing was started" -z "$(cat "$work/out")"; }
untrusted=cave_sandbox_policy_untrusted

starts "a credential of the operator's table" cred
: >"$rules"
starts "an empty file is the built-in rules" plain
stays "a credential that the host does not know" cred cave_sandbox_credential_env_not_allowlisted
expect "its name is not shown" -z "$(grep ACME "$work/err")"

identity=$("$cavec" dump "$work/plain.bpf" | sed -n 's/^identity //p')
printf 'trust %s\n' "$identity" >"$rules"
starts "a trusted policy" plain
stays "another one" other $untrusted
printf 'trust listed\n' >"$rules"
stays "an empty list trusts none" plain $untrusted

"$cavec" dump "$work/net.bpf" >"$work/dump"
expect "the artefact says what it reaches" \
	"$(grep -c '^  reaches 256 public IPv4 addresses, 2 public IPv6 /48 networks' "$work/dump")" = 1
printf 'limit ipv4 256\nlimit ipv6 2\n' >"$rules"
starts "a policy within the limits" net
printf 'limit ipv4 255\n' >"$rules"
stays "one address more than the host accepts" net $untrusted
printf 'limit ipv6 1\n' >"$rules"
stays "one network more than the host accepts" net $untrusted
printf 'limit ipv4 0\nlimit ipv6 0\n' >"$rules"
starts "no network is within any limit" plain

# A higher limit has to be given to both.
printf 'profile wide { network { allow tcp 11.0.0.0/11 port 443 } }\n' >"$work/wide.cave"
expect_code "more than is bounded" 1 cave_sandbox_network_egress_unbounded "$cavec" "$work/wide.cave" -o "$work/wide.bpf"
printf 'limit ipv4 2097152\n' >"$rules"
expect_code "the table alone raises no limit" 1 cave_sandbox_network_egress_unbounded \
	"$cavec" "$work/wide.cave" --capabilities "$rules" -o "$work/wide.bpf"
expect_status "the operator raises it" 0 "$cavec" "$work/wide.cave" --config "$rules" -o "$work/wide.bpf"
starts "on a host that does so too" wide
: >"$rules"
stays "and on no other" wide $untrusted
printf 'limit ipv4 10\n' >"$rules"
expect_code "the operator lowers it" 1 cave_sandbox_network_egress_unbounded \
	"$cavec" "$work/net.cave" --config "$rules" -o "$work/o.bpf"

# Nothing in the file is passed over.
for line in 'trsut listed' 'trust' 'limit ipv4 many' 'credential x AWS_KEY' 'record log'; do
	printf '# ours\n%s\n' "$line" >"$rules"
	stays "malformed: $line" plain 'line 2'
	expect_status "for the compiler as well: $line" 2 "$cavec" "$work/plain.cave" --config "$rules" -o "$work/o.bpf"
done

# Who may have written it.
: >"$rules"
chmod 664 "$rules"
stays "a file that its group can write" plain 'written by others'
chmod 646 "$rules"
stays "a file that all can write" plain 'written by others'
chmod 644 "$rules"
starts "control: one that they cannot" plain
chown $nobody "$rules"
stays "a file of another user's" plain 'neither root nor the caller'
chown 0 "$rules"
chmod 777 "$work/etc"
stays "a folder that all can write" plain 'written by others'
chmod 755 "$work/etc"
chown $nobody "$work/etc"
stays "a folder of another user's" plain 'neither root nor the caller'
chown 0 "$work/etc"
starts "control: a folder of root's" plain
mv "$rules" "$work/etc/real"
ln -s real "$rules"
stays "a link in its place" plain 'may be a link'
rm "$rules"
ln -s etc "$work/link"
expect_code "a link on the way" 125 'may be a link' start --config "$work/link/real"
mkfifo "$rules"
stays "a pipe" plain 'no regular file'
rm "$rules"
stays "an absent file" plain 'No such file'
expect_code "a folder without it" 125 'No such file' start --config "$work/etc"
mkdir -m 700 "$work/etc/closed"
: >"$work/etc/closed/operator.conf"
expect_code "a folder that the caller may not look into" 125 'Permission denied' \
	as_nobody start --config "$work/etc/closed"
: >"$rules"
expect_status "root's rules bind ordinary users" 0 \
	as_nobody start --config "$rules"
cd "$work/etc" || exit 1
expect_status "a relative path" 0 start --config operator.conf
cd / || exit 1

# The usual place, in a mount namespace of the test's own.
usual() {
	unshare -m sh -c 'mount -t tmpfs none /etc -o mode=755 && cp -r "$1" /etc/cave && shift &&
		exec "$@"' sh "$work/etc" "$bin/caverun" "$work/plain.bpf" -- "$bin/cave-probe" no-new-privs
}
printf 'trust listed\n' >"$rules"
expect_code "the rules of /etc/cave hold without an option" 125 $untrusted usual
printf 'trust %s\n' "$identity" >"$rules"
expect_status "control: a policy that they trust" 0 usual
rm "$rules"
expect_status "without a file the built-in rules hold" 0 usual
