/* SPDX-License-Identifier: MIT */
/*
 * Inside the proof for all inputs: what a program is to answer is written down once for each hook, as a person would
 * read it in docs/egress.md, and asked of every region that the walk of the program ends in.  Where what is to be
 * answered is not the same all through a region, the region is cut.
 */
#ifndef CAVE_COMPILER_EGRESS_WHOLE_H
#define CAVE_COMPILER_EGRESS_WHOLE_H

#include "compiler/egress_sweep.h"

/* What is to be answered. */
struct expected {
	enum { REFUSED, ALLOWED, JUDGED } what;
	/* JUDGED: by whether the rules grant this. */
	bool own;
	enum net_proto proto;
	enum net_family family;
	struct walk_operand address, port;
	struct walk_write write; /* to the context, where it is let through; size 0: nothing */
};

enum { WHOLE_CONTEXT = 256 }; /* no context and no packet is longer */

/* Which bytes of a context or packet say something. */
struct whole_laid {
	uint16_t at[WHOLE_CONTEXT];
	size_t n;
};

struct whole {
	struct prover *v;
	struct sweeps sweeps;
	enum cave_hook hook;
	struct expected (*spec)(struct whole *w);
	const struct walk *walk; /* the inputs, as they have been laid */
	struct whole_laid ctx, packet;
	uint8_t filler[WHOLE_CONTEXT]; /* what the other bytes are when the interpreter runs */
	const char *form; /* what the address and port of a question are, for a message; NULL: just that */
	unsigned turn; /* of the ends of regions that are run */
	uint8_t *counted; /* by instruction of the hook's program: 1 if what goes on there counts, 2 if not, 0: not asked */
	/* One part of a region, while it is looked at. */
	const struct walk_answer *answer;
	const struct walk_region *part;
	bool torn; /* the part has to be cut: at both ends of this range of a variable */
	enum walk_variable cut;
	walk_number cut_lo, cut_hi;
	const struct walk_known *known; /* judgements of the hook's program that have been shown */
	size_t nknown;
	bool assumed, assume; /* that two numbers are equal, which is not known */
	/* Ports by which UDP reaches some IPv4 address, in order; and 0, if something is ever sent to IPv4 by UDP. */
	struct net_ports *some;
	size_t nsome;
};

/* Whether a variable of the part is in the range. */
bool whole_in(struct whole *w, enum walk_variable variable, walk_number lo, walk_number hi);
bool whole_is(struct whole *w, enum walk_variable variable, walk_number n);
/* Whether two variables are the same number. */
bool whole_equal(struct whole *w, enum walk_variable a, enum walk_variable b);

/* Whether the program has judged on its way what JUDGED_SOME_PORT or JUDGED_SOME_ADDRESS says of a variable. */
bool whole_knows(const struct whole *w, enum judgement_kind what, enum walk_variable about, bool *holds);

/* Whether all ports of these are in w->some, or none are; whether UDP reaches all addresses of these, or none. */
bool some_agrees(const struct whole *w, uint32_t lo, uint32_t hi, bool all);
bool reached_agrees(const struct whole *w, const walk_number address[2], bool all);

struct expected expect_refused(void);
struct expected expect_allowed(void);
/* An address of the family that a variable holds, as it is or as the mapped one that it is; and a port. */
struct expected expect_judged(bool own, enum net_proto proto, enum net_family family, enum walk_variable address,
			      enum walk_variable port);
/* Whether the context's or packet's protocol is one that the policy uses; *proto is which. */
bool whole_protocol(struct whole *w, enum net_proto *proto);

/* Everything of one hook, as the inputs have been laid; false if the proof has failed. */
bool whole_follow(struct whole *w, struct walk *walk);

/* The hooks. */
bool whole_call(struct whole *w, enum cave_hook hook);
bool whole_socket(struct whole *w);
bool whole_packet(struct whole *w, enum cave_hook hook);

/* Takes the inputs that whole_point() fills in. */
void whole_lay(struct whole *w, const struct walk *walk);
/* Whether the interpreter gives the right answer to the input that is the lowest of the region. */
bool whole_point(struct whole *w, const struct walk_region *at);
/* Whether the answer is right all through its region. */
bool whole_agrees(struct whole *w, const struct walk_answer *a);

/* The judgements of a program that are shown to be right; what has been shown of others is used. */
struct whole_known {
	struct walk_known known;
	const struct hook_program *program;
};

struct judged {
	struct whole_known *item;
	size_t n, cap;
};

/* Adds those of a program, of one kind or (JUDGED_KINDS) all; returns how many, the last ones of the list. */
size_t whole_judgements(struct whole *w, const struct hook_program *program, enum judgement_kind kind,
			struct judged *all);

#endif
