#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the generated part of docs/syscalls.md again: the built-in sets line by line, the groups, and the calls that
# no profile can grant.  Needs a built cavec.
#
#	compiler/syscalls_docs.sh build/cavec          writes docs/syscalls.md
#	compiler/syscalls_docs.sh build/cavec --check  ends with 1 if it would change
set -eu
LC_ALL=C
export LC_ALL
cavec=$1
doc=docs/syscalls.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# One table for each built-in set: the line without its comment, and the comment.
set_table() {
	printf '\n### %s\n\n' "$2"
	awk '
		/^\t# / { printf "\n**%s**\n\n| line | why |\n| --- | --- |\n", substr($0, 4); headed = 1; next }
		/^\t(allow|deny) / {
			if (!headed) {
				print "| line | why |\n| --- | --- |"
				headed = 1
			}
			at = index($0, " # ")
			line = substr($0, 2, at - 2)
			gsub(/\|/, "\\|", line)
			printf "| `%s` | %s |\n", line, substr($0, at + 3)
		}' "compiler/base/$1.cave"
}

groups() {
	printf '\n| group | calls |\n| --- | --- |\n'
	"$cavec" list | grep '^@' | while read -r group rest; do
		members=$("$cavec" list "$group" | awk 'NR > 1 { printf "%s%s", sep, $1; sep = " " }')
		printf '| `%s` | %s |\n' "$group" "$members"
	done
}

never() {
	printf '\n| promise | calls |\n| --- | --- |\n'
	"$cavec" list | grep '^@' | while read -r group rest; do
		"$cavec" list "$group"
	done | awk -F ' no profile can grant it whole: ' '
		NF == 2 {
			split($1, row, " ")
			if (!($2 in calls))
				order[++n] = $2
			calls[$2] = calls[$2] " " row[1]
		}
		END {
			for (i = 1; i <= n; i++)
				printf "| %s |%s |\n", order[i], calls[order[i]]
		}'
}

{
	sed '/^<!-- generated/q' "$doc"
	printf '\n## The built-in sets, line by line\n'
	set_table base 'base: every profile'
	set_table network 'network: added by any network grant'
	set_table tcp 'tcp: added by a grant of tcp'
	set_table udp 'udp: added by a grant of udp'
	set_table unicast 'unicast: added where datagrams may go to a range of IPv4 addresses, or to those of names'
	set_table listen 'listen: added by `listen tcp`'
	set_table netlink 'netlink: added by `allow netlink route`'
	set_table execute 'execute: added by `childProcess { … }`'
	set_table children 'children: added by `childProcess { max-processes N; … }` with N above 0'
	set_table memory 'memory: added by `limits { memory … }`'
	set_table may 'may: what a condition of a profile may add to calls that keep a promise'
	printf '\n## Calls that no profile can grant whole\n'
	never
	printf '\n## Groups\n'
	groups
} >"$new"

if [ "${2:-}" = --check ]; then
	cmp -s "$new" "$doc" || { echo "$doc is not what $0 makes" >&2; exit 1; }
else
	cat "$new" >"$doc"
fi
