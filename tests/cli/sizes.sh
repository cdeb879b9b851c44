#!/bin/sh
# SPDX-License-Identifier: MIT
# What an artefact of fifty network rules weighs: at most 32 KiB, in the mixes that people write.
. "$(dirname "$0")/../lib.sh"

most=32768

# fifty NAME PROGRAM: a profile of what the awk program prints for i from 0 to 49, one rule each.
fifty() {
	{
		echo "profile fifty {"
		[ $# = 2 ] || echo "$3"
		echo "network {"
		awk "BEGIN { for (i = 0; i < 50; i++) { $2 } }"
		echo "} }"
	} >"$work/$1.cave"
	expect_status "$1: fifty rules compile" 0 "$cavec" "$work/$1.cave" -o "$work/$1.bpf"
	size=$(stat -c %s "$work/$1.bpf")
	expect "$1: their artefact has at most $most bytes, not $size" "$size" -le "$most"
}

fifty "single addresses" 'printf "allow tcp 198.51.100.%d port %d\n", i, 8000 + i'
fifty "single addresses by both protocols" 'printf "allow { tcp, udp } 198.51.100.%d port %d\n", i, 8000 + i'
fifty "one protocol to each address" 'printf "allow %s 198.51.100.%d port %d\n", i % 2 ? "udp" : "tcp", i, 8000 + i'
fifty "prefixes with exceptions and ranges of ports" \
	'printf "allow tcp 10.%d.0.0/16 except 10.%d.7.0/24 port { 443, 8000-80%d }\n", i, i, 11 + i'
fifty "allows and denials" \
	'if (i < 35) printf "allow tcp 10.%d.0.0/16 port { 80, 443 }\n", i; else printf "deny 10.%d.7.%d\n", i - 35, i'
fifty "prefixes of IPv6" 'printf "allow tcp 2001:db8:%x::/48 port { 443, %d }\n", i, 8000 + i % 5'
four='split("443 80 53 5432", port, " "); p = port[i % 4 + 1]; u = i % 3 ? "tcp" : "udp"'
fifty "both protocols and both families" "$four; "'
	if (i % 5 == 4) printf "allow tcp 2001:db8:%x::/48 port { 443, 8000-80%02d }\n", i, i
	else printf "allow %s 10.%d.%d.0/24 port %d\n", u, i, i * 37 % 256, p'
fifty "as much of each" "$four; "'
	to = i % 4 > 1 ? sprintf("2001:db8:%x::/48", i) : sprintf("10.%d.%d.0/24", i, i * 37 % 256)
	printf "allow %s %s port %d\n", i % 2 ? "udp" : "tcp", to, p'
fifty "beside other grants" "$four; "'printf "allow %s 10.%d.%d.0/24 port { %d, 9418 }\n", u, i, i * 37 % 256, p' '
	credentialEnv ANTHROPIC_API_KEY
	env { pass TERM; set NODE_ENV "production" }
	files { read "/opt/tool/lib", "/srv/data"; write workspace }
	limits { time 30s; memory 512MiB; output 1MiB; open-files 256 }'
