# SPDX-License-Identifier: MIT
# Turns compiler/syscalls.tbl into the rows of compiler/syscalls_table.c; ends with an error if the table is
# not sorted, names a call twice, or has a line that is not one.

function fail(why) {
	print "syscalls.tbl:" FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

/^# version / { version = $3 }
/^#/ || NF == 0 { next }

NF != 5 { fail("not five fields") }
$1 !~ /^[a-z_][a-z0-9_]*$/ || $2 !~ /^[a-z]+$/ { fail("not a name and a group") }
previous != "" && ($1 "") <= (previous "") { fail($1 " is not in order") }

{
	previous = $1
	for (i = 3; i <= 5; i++) {
		if ($i !~ /^([0-9]+|-)$/)
			fail("not a number")
		if ($i != "-" && ((i, $i) in taken))
			fail($1 " has the number of " taken[i, $i])
		taken[i, $i] = $1
	}
	row[++rows] = sprintf("\t{ \"%s\", \"%s\", { %s, %s, %s } },", $1, $2, $3 == "-" ? -1 : $3,
			      $4 == "-" ? -1 : $4, $5 == "-" ? -1 : $5)
}

END {
	if (failed)
		exit 1
	print "/* Generated from compiler/syscalls.tbl. */"
	print "#define SYSCALLS_VERSION \"" version "\""
	print "static const struct syscall_row syscall_rows[] = {"
	for (i = 1; i <= rows; i++)
		print row[i]
	print "};"
}
