#!/bin/sh
# SPDX-License-Identifier: MIT
# Grants by host name, as the compiler sees them: what is refused, one form for equal grants, expectations, dump, diff.
. "$(dirname "$0")/../lib.sh"

# refused NAME PLACE:CODE TEXT BODY: the network block of a profile, on line 2 of it from column 13.
refused() {
	printf 'profile p {\n  network { %s }\n}\n' "$4" >"$work/p.cave"
	run "$cavec" "$work/p.cave" -o "$work/p.bpf"
	if [ "$status" = 1 ] && [ ! -e "$work/p.bpf" ] && grep -q "p.cave:$2: error: .*\[$3\]" "$work/err"; then
		ok "refused: $1"
	else
		not_ok "refused: $1" "status $status; $(cat "$work/err")"
	fi
	rm -f "$work/p.bpf"
}

identity_of() {
	printf 'profile p {\n  network { %s }\n}\n' "$1" >"$work/i.cave"
	"$cavec" "$work/i.cave" -o "$work/i.bpf" 2>"$work/err" && "$cavec" dump "$work/i.bpf" | sed -n 's/^identity //p'
}

# remarks NAME TEXT RULES: they compile, and a note says so.
remarks() {
	printf 'profile p { network {\n  %s\n} }\n' "$3" >"$work/r.cave"
	expect_status "$1: compiles" 0 "$cavec" "$work/r.cave" -o "$work/r.bpf"
	expect "$1: $2" -n "$(grep -F "note: $2" "$work/err")"
}
remarks 'an idle denial of one label' '`db7` is a host name here, and no line grants it' 'allow tcp 192.0.2.1 port 443; deny db7'
remarks 'a host called like a set' '`internet` is a host name here' 'allow tcp internet port 443'
printf 'profile p { network {\n  allow tcp { vault, db } port 443; deny { vault, db }\n} }\n' >"$work/r.cave"
run "$cavec" "$work/r.cave" -o "$work/r.bpf"
expect 'denials of one label that are granted' "$status$(cat "$work/err")" = 0

# What names may lead to is a part of the reach that an operator bounds.
reaches() { # reaches NUMBERS RULES
	printf 'profile p { network {\n%s\n} }\n' "$2" >"$work/r.cave"
	"$cavec" "$work/r.cave" -o "$work/r.bpf" 2>"$work/err"
	got=$("$cavec" dump "$work/r.bpf" | sed -n 's/^  reaches \([0-9]*\) .*, \([0-9]*\) .*/\1 \2/p')
	expect "reach: $2" "$got" = "$1"
}
reaches '64 64' 'allow tcp a.example.com port 443'
reaches '128 128' 'allow tcp { a.example.com, b.example.com } port 443'
reaches '1024 1024' 'allow tcp { a.example.com, *.example.net } port 443'
reaches '0 0' 'allow tcp a.example.com port 443 within 10.0.0.0/8'
reaches '66 64' 'allow tcp 8.8.8.8/31 port 1; allow tcp a.example.com port 443; deny b.example.com'
reaches '4 1' 'allow tcp a.example.com port 443 within { 8.8.8.8/30, 2600::/64 }'
reaches '1048576 64' 'allow tcp 8.0.0.0/12 port 1; allow tcp a.example.com port 443'
printf 'limit ipv4 0\nlimit ipv6 0\n' >"$work/none.conf"
printf 'profile p { network {\ndeny b.example.com; allow tcp a.example.com port 443\n} }\n' >"$work/r.cave"
expect_code 'no public address is no public name' 1 cave_sandbox_network_egress_unbounded \
	"$cavec" --config "$work/none.conf" "$work/r.cave" -o "$work/x.bpf"
expect 'the grant is shown' -n "$(grep 'r.cave:2:21: error' "$work/err")"
printf 'profile p { network { allow tcp a.example.com port 443 within 10.0.0.0/8 } }\n' >"$work/r.cave"
expect_status 'a private one may be named' 0 "$cavec" --config "$work/none.conf" "$work/r.cave" -o "$work/x.bpf"

unbounded=cave_sandbox_network_egress_unbounded value=cave_profile_value
for name in '*.com' '*.co.uk' '*.github.io' '*.amazonaws.com' '*.githubusercontent.com' '*.nip.io' '*.nosuchtop'; do
	refused "$name" 2:23 "$unbounded" "allow tcp $name port 443"
done
refused "a star alone" 2:23 "$unbounded" 'allow tcp * port 443'
refused "a star within" 2:23 "$value" 'allow tcp a.*.example.com port 443'
refused "a URL" 2:23 "$value" 'allow tcp https://example.com/ port 443'
expect 'and what to write instead' -n \
	"$("$cavec" "$work/p.cave" -o "$work/p.bpf" 2>&1 | grep 'write: example.com port 443')"
refused "a port behind a name" 2:23 "$value" 'allow tcp example.com:443 port 443'
refused "localhost in other letters" 2:23 "$value" 'allow tcp localHost port 443'
refused "localhost with a dot" 2:23 "$value" 'allow tcp localhost. port 443'
refused "localhost in wide letters" 2:23 "$value" 'allow tcp ｌｏｃａｌｈｏｓｔ port 443'
refused "any in other letters" 2:23 "$value" 'allow tcp ANY port 443'
for word in tcp udp all none resolver netlink allow deny listen; do
	refused "a word of the language: $word" 2:25 "$value" "allow tcp { $word } port 443"
done
refused "a denial of a protocol" 2:48 "$value" 'allow tcp 192.0.2.1 port 443; deny tcp'
refused "of its ports" 2:48 "$value" 'allow tcp 192.0.2.1 port 443; deny udp port 53'
refused "of name servers among others" 2:50 "$value" 'allow tcp 192.0.2.1 port 443; deny { resolver, 192.0.2.9 }'
refused "of every host" 2:48 "$value" 'allow tcp 192.0.2.1 port 443; deny *'
for word in reslover loopback ipv6 private ip6-localhost metadata dns localhsot anny; do
	refused "a denial of a name of one label that is none: $word" 2:48 cave_profile_unknown_name \
		"allow tcp 192.0.2.1 port 443; deny $word"
done
refused "an empty label" 2:23 "$value" 'allow tcp a..example.com port 443'
refused "a label too long" 2:23 "$value" "allow tcp $(printf '%064d' 1).example.com port 443"
refused "within without a name" 2:42 cave_profile_syntax 'allow tcp 192.0.2.1 port 443 within 10.0.0.0/8'
refused "two within" 2:64 cave_profile_contradiction 'allow tcp a.example.com port 443 within 10.0.0.0/8 within 10.0.0.0/8'
refused "a metadata address within" 2:53 cave_profile_metadata_address 'allow tcp a.example.com port 443 within 168.0.0.0/8'
refused "a denial with a port" 2:13 "$value" 'deny tcp a.example.com port 443'
refused "allow resolver beside a name" 2:13 cave_profile_contradiction 'allow resolver; allow tcp a.example.com port 443'
refused "an allow without a port" 2:13 cave_profile_syntax 'allow tcp a.example.com'
refused "a denied name beside a name server" 2:43 cave_profile_contradiction 'allow udp 192.0.2.53 port 53; deny a.example.com'
refused "or beside one that is granted by name" 2:50 cave_profile_contradiction \
	'allow tcp ns.example.com port 1-100; deny a.example.com'
refused "a set of files as a destination" 2:23 "$value" 'allow tcp <git> port 443'
refused "a set that is not there" 2:23 cave_profile_unknown_name 'allow tcp <githu> port 443'
refused "a set of hosts to listen at" 2:24 "$value" 'listen tcp <github> port 80'
printf 'profile p { use <github> }\n' >"$work/p.cave"
run "$cavec" "$work/p.cave" -o "$work/p.bpf"
expect "refused: a set of hosts that is used" "$status" = 1 -a -n \
	"$(grep 'write: network { allow tcp <github> port 443 }' "$work/err")"
awk 'BEGIN { print "profile p { network { allow tcp {"
	for (i = 0; i < 50000; i++) printf "%s *.h%d.example.com", i ? "," : "", i; print "} port 443 } }" }' >"$work/p.cave"
run timeout 20 "$cavec" "$work/p.cave" -o "$work/p.bpf"
expect "refused: 50,000 names, at once" "$status" = 1 -a -n "$(grep 'it may name 4096 different ones' "$work/err")"
printf 'profile p { network false; network { allow tcp a.example.com port 443 } }\n' >"$work/p.cave"
expect_status "network false beside a name" 1 "$cavec" "$work/p.cave" -o "$work/p.bpf"

a=$(identity_of 'allow tcp { a.example.com, B.example.com. } port 443; allow tcp a.example.com port 80')
b=$(identity_of 'allow tcp b.example.com port 443; allow tcp A.EXAMPLE.com port { 443, 80 }')
expect "equal grants are one policy" -n "$a" -a "$a" = "$b"
b=$(identity_of 'allow tcp b.example.com port 443; allow tcp A.EXAMPLE.com port { 443, 81 }')
expect "others are another" -n "$b" -a "$a" != "$b"
a=$(identity_of 'allow tcp *.example.com port 443; allow tcp a.example.com port 443')
b=$(identity_of 'allow tcp *.example.com port 443')
expect "what a wildcard covers adds nothing" -n "$a" -a "$a" = "$b"
a=$(identity_of 'allow tcp bücher.example.com port 443')
b=$(identity_of 'allow tcp xn--bcher-kva.example.com port 443')
expect "A-labels and their letters are one name" -n "$a" -a "$a" = "$b"

a=$(identity_of 'allow tcp { <pypi>, <go-proxy> } port 443; deny <npm-registry>')
b=$(identity_of 'allow tcp { pypi.org, files.pythonhosted.org, proxy.golang.org, sum.golang.org } port 443
	deny registry.npmjs.org')
expect "a set is the hosts that it holds" -n "$a" -a "$a" = "$b"
a=$(identity_of 'allow tcp <pypi> except pypi.org port 443')
b=$(identity_of 'allow tcp files.pythonhosted.org port 443')
expect "less what is excepted" -n "$a" -a "$a" = "$b"
a=$(identity_of 'allow tcp *.example.com except { a.example.com, a.example.net } port 443')
b=$(identity_of 'allow tcp *.example.com except a.example.com port 443')
expect "what a name does not hold is no exception" -n "$a" -a "$a" = "$b"
for set in npm-registry pypi go-proxy github; do
	for host in $("$cavec" list "<$set>" | grep -v '^#'); do
		printf 'profile p { network { allow tcp <%s> port 443 }; expect { allow connect tcp %s port 443 } }\n' \
			"$set" "$host" >"$work/x.cave"
		expect_status "<$set> holds $host" 0 "$cavec" "$work/x.cave" -o "$work/x.bpf"
	done
	expect "cavec list names <$set>" -n "$("$cavec" list | grep "^<$set> *hosts")"
	expect "dump shows what <$set> has become" -n "$("$cavec" dump "$work/x.bpf" | grep "allow tcp.*$host")"
done
printf 'profile p { network { allow udp 192.0.2.53 port 53 }; expect { deny lookup a.example.com } }\n' >"$work/x.cave"
run "$cavec" "$work/x.cave" -o "$work/x.bpf"
expect "beside a name server no lookup is denied" "$status" = 1 -a -n "$(grep 'a name server may be asked' "$work/err")"

cat >"$work/e.cave" <<'END'
profile p {
  network {
    allow tcp { api.example.com, *.blob.example.net } except bad.blob.example.net port 443
    allow udp db.example.net port 5432 within 10.0.0.0/8
    deny evil.blob.example.net; deny 203.0.113.0/24
  }
  expect {
    allow lookup api.example.com; allow lookup a.b.blob.example.net
    deny lookup example.com; deny lookup blob.example.net; deny lookup xblob.example.net
    deny lookup bad.blob.example.net; deny lookup evil.blob.example.net
    allow connect tcp api.example.com port 443; deny connect tcp api.example.com port 80
    deny connect udp api.example.com port 443; allow connect udp db.example.net port 5432
  }
}
END
expect_status "expectations that hold" 0 "$cavec" "$work/e.cave" -o "$work/e.bpf"
"$cavec" dump "$work/e.bpf" | sed -n '/^profile p {/,/^}/p' >"$work/c.cave"
expect_status "the canonical text compiles" 0 "$cavec" "$work/c.cave" -o "$work/c.bpf"
expect "to the same policy" "$("$cavec" dump "$work/e.bpf" | head -n 1)" = "$("$cavec" dump "$work/c.bpf" | head -n 1)"
expect "dump shows a name" -n "$("$cavec" dump "$work/e.bpf" | grep 'lookup api.example.com')"
for x in 'allow lookup example.org' 'deny lookup api.example.com' 'allow connect tcp api.example.com port 22'; do
	printf 'profile p { network { allow tcp api.example.com port 443 }; expect { %s } }\n' "$x" >"$work/x.cave"
	run "$cavec" "$work/x.cave" -o "$work/x.bpf"
	expect "it does not hold: $x" "$status" = 1 -a -n "$(grep cave_profile_expectation_failed "$work/err")"
done

# What an address may come to be, of a name or as a name server, is known at the start only: network block, expectation.
expects() {
	printf 'profile p {\n network { %s }\n expect { %s }\n}\n' "$1" "$2" >"$work/x.cave"
	run "$cavec" "$work/x.cave" -o "$work/x.bpf"
}
certain() {
	expects "$1" "$2"
	expect "certain: $1: $2" "$status" = 0
}
uncertain() { # … TEXT
	expects "$1" "$2"
	expect "not certain: $1: $2" "$status" = 1 -a -n "$(grep ':3:11: error: this is not certain: '"$3"'.*expectation_failed' \
		"$work/err")" -a -n "$(grep ':2:12: note: ' "$work/err")"
}
led='a granted name may lead there' server='it may be a name server of the host'
near='allow tcp a.example.com port 8443 within 127.77.0.0/24' public='allow tcp *.example.com port 80'
uncertain "$near" 'deny connect tcp 127.77.0.1 port 8443' "$led"
expect "with what makes it hold" -n "$(grep 'it holds with `deny 127.77.0.1`' "$work/err")"
uncertain "$near" 'allow connect tcp 127.77.0.1 port 8443' "$led"
uncertain "$near" 'deny connect tcp ::ffff:127.77.0.1 port 8443' "$led"
uncertain "$near" 'deny connect tcp 64:ff9b::127.77.0.1 port 8443' "$led"
uncertain "$near" 'deny connect tcp 2001:db8:64::127.77.0.1 port 8443' "$led"
uncertain "$near" 'deny connect tcp 2001:db8:7f4d:1:: port 8443' "$led"
certain "$near" 'deny connect tcp 2001:db8:64::127.78.0.1 port 8443; deny connect tcp 64:ff9b::127.78.0.1 port 8443'
certain "$near" 'deny connect tcp 127.77.1.0 port 8443; deny connect tcp 8.8.8.8 port 8443'
certain "$near" 'deny connect tcp 127.77.0.1 port 8444; deny connect udp 127.77.0.1 port 8443'
certain "$near; deny 127.77.0.1" 'deny connect tcp 127.77.0.1 port 8443; deny connect tcp 64:ff9b::127.77.0.1 port 8443'
certain "$near; deny 127.77.0.1" 'deny connect tcp 2001:db8:64::127.77.0.1 port 8443'
uncertain "$near; deny 127.77.0.1" 'deny connect tcp 127.77.0.2 port 8443' "$led"
certain "$near; deny tcp 127.77.0.0/24 port 8443" 'deny connect tcp 127.77.0.2 port 8443'
certain "$near; allow tcp 127.77.0.1 port 8443" 'allow connect tcp 127.77.0.1 port 8443'
uncertain "$public" 'deny connect tcp 8.8.8.8 port 80' "$led"
uncertain "$public" 'deny connect tcp 2606:4700::1 port 80' "$led"
certain "$public; deny 8.8.8.0/24" 'deny connect tcp 8.8.8.8 port 80'
certain "$public" 'deny connect tcp 10.0.0.1 port 80; deny connect tcp 127.0.0.1 port 80; deny connect tcp ::1 port 80'
certain "$public" 'deny connect tcp 169.254.169.254 port 80; deny connect tcp 8.8.8.8 port 443'
uncertain 'allow tcp a.example.com except 8.8.4.4 port 80' 'deny connect tcp 8.8.8.8 port 80' "$led"
certain 'allow tcp a.example.com except 8.8.8.8 port 80' 'deny connect tcp 8.8.8.8 port 80'
for to in 127.77.0.53 192.0.2.53 2001:db8::53; do
	uncertain 'allow resolver' "deny connect udp $to port 53" "$server"
	uncertain 'allow resolver' "allow connect tcp $to port 53" "$server"
	certain 'allow resolver' "deny connect udp $to port 54"
	certain "allow resolver; deny $to" "deny connect udp $to port 53; deny connect tcp $to port 53"
	uncertain "allow resolver; deny udp $to port 53" "deny connect tcp $to port 53" "$server"
	certain "allow resolver; allow udp $to port 53" "allow connect udp $to port 53"
done

# diffs NAME STATUS OLD NEW: network blocks.
diffs() {
	printf 'profile p {\n  network { %s }\n}\n' "$3" >"$work/old.cave"
	printf 'profile p {\n  network { %s }\n}\n' "$4" >"$work/new.cave"
	expect_status "diff: $1" "$2" "$cavec" diff "$work/old.cave" "$work/new.cave"
}
one='allow tcp a.example.com port 443'
diffs "the same" 0 "$one" "$one"
diffs "another name" 1 "$one" 'allow tcp b.example.com port 443'
diffs "another port" 1 "$one" 'allow tcp a.example.com port { 443, 80 }'
diffs "one name less" 0 "$one; allow tcp b.example.com port 443" "$one"
diffs "a wildcard for a name" 1 "$one" 'allow tcp *.example.com port 443'
diffs "a name for a wildcard" 0 'allow tcp *.example.com port 443' "$one"
diffs "an exception less" 1 'allow tcp *.example.com except a.example.com port 443' 'allow tcp *.example.com port 443'
diffs "an exception more" 0 'allow tcp *.example.com port 443' 'allow tcp *.example.com except a.example.com port 443'
diffs "elsewhere" 1 "$one" "$one within 10.0.0.0/8"
diffs "a narrower place" 0 "$one within 10.0.0.0/8" "$one within 10.1.0.0/16"
diffs "a wider place" 1 "$one within 10.1.0.0/16" "$one within 10.0.0.0/8"
diffs "a denied name less" 1 'allow tcp *.example.com port 443; deny a.example.com' 'allow tcp *.example.com port 443'
diffs "a denied address less" 1 "$one; deny 198.18.0.0/15" "$one"
# told NAME TEXT: a line of the last diff.
told() { expect "diff: $1" -n "$(grep -F -- "$2" "$work/out")"; }
diffs "a wildcard for its parts" 0 'allow tcp { *.example.com } port 443' \
	'allow tcp *.example.com except a.example.com port 443; allow tcp a.example.com port 443'
told "they are equal" 'equal reach'
diffs "a denial gone" 1 'allow tcp *.example.com port 443; deny { a.example.com, *.b.example.com }' \
	'allow tcp *.example.com port 443'
told "the name that was denied" '+ tcp a.example.com port 443'
told "and those below the other" '+ tcp *.b.example.com port 443'
diffs "a port more, of most names" 1 'allow tcp *.example.com port 443; allow tcp a.example.com port 80' \
	'allow tcp *.example.com port { 80, 443 }'
told "but for what was granted" '+ tcp *.example.com except a.example.com port 80'
told "an example that no rule names" 'example: connect tcp x.example.com port 80'
diffs "a private network more" 1 "$one" "$one; $one within 10.0.0.0/8"
told "the addresses" '+ tcp a.example.com port 443 within 10.0.0.0/8'
diffs "an address of a name that was excepted" 1 'allow tcp a.example.com except 8.8.8.8 port 443' "$one"
told "that address" '+ tcp a.example.com port 443 within 8.8.8.8'
diffs "a public address by name and place" 1 "$one" "$one; $one within 8.8.8.8"
told "which may be the host's own then" '+ tcp a.example.com port 443 within 8.8.8.8 where it is an address of the host'
key='credentialEnv OPENAI_API_KEY'
diffs "a name while a credential is held" 1 "$one }; $key; network { " \
	"$one; allow tcp b.example.com port 443 }; $key; network { "
told "the name" '+ tcp b.example.com port 443, holding OPENAI_API_KEY'
expect "diff: and no other one" "$(grep -c holding "$work/out")" = 1
diffs "an old name, and a new credential" 1 "$one" "$one }; $key; network { "
told "the old name" '+ tcp a.example.com port 443, holding OPENAI_API_KEY'
"$cavec" diff --format json "$work/old.cave" "$work/new.cave" >"$work/out"
expect "diff: JSON has the name" "$("$python" -c 'import json, sys
d = json.load(open(sys.argv[1]))["reachable_with_credential"][0]
print(d["kind"], d["name"], d["ports"][0]["from"], d["except_addresses"], d["credentials"])' "$work/out")" = \
	"name a.example.com 443 [] ['OPENAI_API_KEY']"
diffs "a set for one of its hosts" 1 'allow tcp pypi.org port 443' 'allow tcp <pypi> port 443'
diffs "hosts for their set" 0 'allow tcp <pypi> port 443' 'allow tcp { files.pythonhosted.org, pypi.org } port 443'
printf 'profile p {\n  network { %s }\n  profile i { network { %s } }\n}\n' \
	"$one" 'allow tcp *.example.com port 443' >"$work/w.cave"
run "$cavec" "$work/w.cave" -o "$work/w.bpf"
expect "a nested profile with a wider name" "$status" = 1 -a -n "$(grep cave_sandbox_profile_widens_parent "$work/err")"
