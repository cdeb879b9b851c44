# SPDX-License-Identifier: MIT
# Turns compiler/syscalls_consts.tbl into the rows of compiler/syscalls_consts.c.

function fail(why) {
	print "syscalls_consts.tbl:" FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

function value(text) {
	if (text !~ /^(-?[0-9]+|-)$/)
		fail("not a value: " text)
	# The smallest long has no literal of its own.
	return text == "-" ? "0" : text == "-9223372036854775808" ? "INT64_MIN" : text "L"
}

BEGIN {
	print "/* Generated from compiler/syscalls_consts.tbl. */"
	print "static const struct constant constants[] = {"
}
/^#/ || NF == 0 { next }
(NF != 2 && NF != 4) || (previous "") >= ($1 "") { fail($1 " is not in order, or not one or three values") }
{
	previous = $1
	for (i = 1; i <= 3; i++)
		v[i] = NF == 2 ? $2 : $(i + 1)
	printf "\t{ \"%s\", %d, { %s, %s, %s } },\n", $1, (v[1] != "-") + 2 * (v[2] != "-") + 4 * (v[3] != "-"),
		value(v[1]), value(v[2]), value(v[3])
}
END {
	if (failed)
		exit 1
	print "};"
}
