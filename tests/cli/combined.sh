#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules of the network beside each other: what each means alone has its tests; that they can stand together is asked here.
# Each is compiled and proved, and means the same as its artefact.
. "$(dirname "$0")/../lib.sh"

# stands RULES: they compile, at once.
stands() {
	printf 'profile p { network {\n%s\n} }\n' "$1" >"$work/p.cave"
	rm -f "$work/p.bpf"
	run timeout 60 "$cavec" "$work/p.cave" -o "$work/p.bpf"
	if [ "$status" = 0 ]; then
		expect_output "$1" 'equal reach' "$cavec" diff "$work/p.cave" "$work/p.bpf"
	else
		not_ok "$1" "status $status; $(cat "$work/err")"
	fi
}

# Datagrams come in, and none are granted by address.
stands 'listen udp 127.0.0.1 port 3918'
stands 'listen udp any port any; deny ::/0 port 53'
stands 'allow tcp 192.0.2.1 port 443; listen udp ::1 port 3918; deny 10.0.0.1'
stands 'listen { tcp, udp } any port 3918; allow resolver'
stands 'listen udp any port 3918; allow tcp example.com port 443'
# Name servers that are denied, whatever a host has.
stands 'allow resolver; deny 10.0.0.1'
stands 'allow resolver; deny 127.0.0.53 port 53'
stands 'allow resolver; listen udp 10.0.0.0/8 port 53; deny 0.0.0.0/0'
# Nobody may come in, of one family or both.
stands 'listen tcp 127.0.0.1 port 3918; deny 0.0.0.0/0'
stands 'listen tcp any port 3918; deny ::/0'
stands 'listen tcp any port 3918; deny ::/0; deny 0.0.0.0/0'
# Endpoints in ranges of which an allow could name parts only.
stands 'listen tcp fe80::/16 port 443'
stands 'listen tcp 169.254.0.0/16 port 443'
stands 'listen tcp 2001:0:1:2::/64 port 443; deny ::1'
expect "a range of endpoints is one in the text" -n "$("$cavec" dump "$work/p.bpf" | grep 'listen tcp { 2001:0:1:2::/64 } port')"

# A denied name beside no granted one: there are no lookups then; and beside the host's name servers, which would be asked.
stands 'allow tcp 192.0.2.1 port 443; deny api.example.com'
stands 'listen tcp 127.0.0.1 port 80; deny *.example.net'
printf 'profile p { network { allow resolver; deny api.example.com } }\n' >"$work/p.cave"
expect_code "the host's name servers beside a denied name" 1 cave_profile_contradiction "$cavec" "$work/p.cave" -o "$work/p.bpf"

# What is denied of loopback does not bind the run's own resolver, which is there.
stands 'allow tcp api.example.com port 443; deny 127.0.0.0/8'
stands 'allow tcp api.example.com port 443; deny ::/0'
stands 'allow tcp api.example.com port 443; listen { tcp, udp } any port any; deny 0.0.0.0/0'

# As many names as a policy of that kind has: what is asked of each is not asked of all of them anew.
printf 'profile p { network {\n%s\n} }\n' "$(seq -f 'allow tcp h%g.example.com port 443' 2000)" >"$work/p.cave"
expect_status "2,000 names" 0 timeout 120 "$cavec" "$work/p.cave" -o "$work/p.bpf"
