# SPDX-License-Identifier: MIT
# Turns compiler/syscalls_args.tbl into the rows of compiler/syscalls_args.c.

function fail(why) {
	print "syscalls_args.tbl:" FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

BEGIN {
	type["int"] = "ARG_INT"
	type["uint"] = "ARG_UINT"
	type["long"] = "ARG_LONG"
	type["ulong"] = "ARG_ULONG"
	type["ptr"] = "ARG_POINTER"
	print "/* Generated from compiler/syscalls_args.tbl. */"
	print "static const struct args_row args_rows[] = {"
}
/^#/ || NF == 0 { next }
NF > 7 || (previous "") >= ($1 "") { fail($1 " is not in order, or has more than six arguments") }
{
	previous = $1
	line = sprintf("\t{ \"%s\", {", $1)
	for (i = 2; i <= NF; i++) {
		if (split($i, part, ":") != 2 || !(part[2] in type) || part[1] !~ /^[a-z_0-9|]+$/)
			fail($i " is no argument")
		line = line sprintf(" { \"%s\", %s },", part[1], type[part[2]])
	}
	print line " } },"
}
END {
	if (failed)
		exit 1
	print "};"
}
