/* SPDX-License-Identifier: MIT */
/* What is tried inside a sandbox, and what has to become of it. */
#ifndef CAVE_RUNTIME_CHECK_BATTERY_H
#define CAVE_RUNTIME_CHECK_BATTERY_H

#include <stddef.h>

enum how {
	ROW_REFUSED, /* outside it gets through; inside it is refused */
	ROW_CALL, /* a call with bad arguments: outside they are what is wrong, inside the call is refused */
	ROW_ALLOWED, /* inside it gets through: what the policy grants to every tool */
	ROW_USUAL, /* the same; a policy of the user's own may refuse it */
	ROW_LACKS, /* outside it prints `word`; inside it does not */
	ROW_HAS, /* inside it prints `word`; outside it does not */
	ROW_ALONE, /* as ROW_REFUSED, in a process of its own: it may replace or change that */
	ROW_KILLED, /* the same, and inside the kernel ends the process */
};

/*
 * One attempt of cave-probe.  In it, %F is a file that can be written, %D its folder, %W "outside" or "inside", %P the
 * probe itself, %V a process of the same user, %T a TCP port that listens on 127.0.0.1, %U a UDP port there, %X and
 * %Y the same of ::1, %S the name of a unix stream socket that listens, and with -dgram one of datagrams, as are socket
 * and socket-dgram in %D; %A is the policy's file, and %G that of its control group by which processes join it.
 */
struct row {
	const char *field; /* of the report; rows of one field stand together and count together */
	const char *attempt;
	enum how how;
	const char *word; /* ROW_LACKS, ROW_HAS */
	const char *grant; /* what in the canonical text of a policy lets this through; NULL: nothing does */
	const char *to; /* an address that is reached, by the port that a sign stands for, or 53; or NULL */
};

extern const struct row battery[];
extern const size_t battery_size;

#endif
