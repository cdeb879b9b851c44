/* SPDX-License-Identifier: MIT */
/*
 * Follows an egress program for all its inputs at once.  The inputs are variables, each a range of numbers; where the
 * program decides, a range is cut in two, and each part followed by itself.  So every input lies in exactly one
 * region, and in each region the program gives one answer.
 *
 * What has been shown of a part of the program for itself need not be followed again: a judgement that is known is
 * two regions, in which an address and a port are granted, or are not.
 */
#ifndef CAVE_COMPILER_EGRESS_WALK_H
#define CAVE_COMPILER_EGRESS_WALK_H

#include "bpf/vm.h"

typedef unsigned __int128 walk_number;

/* Numbers in host order, as they stand in the context or the packet. */
enum walk_variable {
	WALK_CONSTANT,
	WALK_ADDRESS, /* that a call names, or that a packet goes to */
	WALK_PORT,
	WALK_PROTOCOL,
	WALK_FAMILY, /* of the socket */
	WALK_TYPE,
	WALK_LENGTH, /* of the packet */
	WALK_VERSION, /* the packet's first byte */
	WALK_FRAGMENT, /* flags and offset */
	WALK_SOURCE, /* where the packet is from */
	WALK_SOURCE_PORT,
	WALK_FLAGS, /* of TCP: bit 0 is SYN, bit 1 ACK; the others are none of the program's business */
	WALK_DEVICE,
	WALK_PEER4, /* of the socket */
	WALK_PEER6,
	WALK_PEER_PORT,
	WALK_OWN4,
	WALK_OWN6,
	WALK_OWN_PORT,
	WALK_VARIABLES,
	WALK_UNKNOWN = 0xff, /* of a byte: what the program may not look at */
};

/* The bits of the byte that WALK_FLAGS is of. */
enum { WALK_FLAGS_MASK = 0x12 };

/* A byte of the context or the packet: itself, or the variable shifted right by `value` bits. */
struct walk_byte {
	uint8_t variable;
	uint8_t value;
};

/* So many bits of a variable from `shift` on; of WALK_CONSTANT, the number. */
struct walk_operand {
	uint8_t variable, shift, width;
	walk_number number;
};

/* What the program has found out without cutting a range: that two operands are equal, or that a judgement says yes. */
struct walk_fact {
	bool equality;
	enum judgement_kind what; /* of a judgement */
	enum net_proto proto;
	enum net_family family;
	struct walk_operand left, right; /* of a judgement, the address and the port */
	bool holds;
};

/* What the program has written to the context. */
struct walk_write {
	int64_t at;
	unsigned size;
	uint64_t value;
};

/* For these inputs, ends included, the answer is the same. */
struct walk_region {
	walk_number lo[WALK_VARIABLES], hi[WALK_VARIABLES];
};

struct walk_answer {
	const struct walk_region *region;
	bool allowed;
	enum judged_exit exit; /* of a judgement that is followed by itself */
	const struct walk_fact *fact;
	size_t nfacts;
	const struct walk_write *write; /* no two of one place */
	size_t nwrites;
};

/* A judgement that has been shown for all addresses and ports. */
struct walk_known {
	const struct judgement *judgement;
	uint16_t clobbers; /* registers that mean nothing afterwards */
	uint16_t stack_from, stack_to; /* nor do these bytes of the stack, from its lowest one; equal: none */
	uint8_t exits; /* a mask of those that it goes to */
};

struct walk {
	struct arena *arena; /* for what is needed on the way; it stays there */
	const struct hook_program *program;
	const struct ebpf_map *map;
	size_t nmaps;
	struct walk_region inputs; /* one number: the variable is not there */
	uint8_t bits[WALK_VARIABLES]; /* how long the variables are */
	const struct walk_byte *ctx, *packet;
	size_t ctx_size, packet_size; /* the packet is WALK_LENGTH bytes, these at most */
	const struct walk_known *known;
	size_t nknown;
	/*
	 * Whether all that the program does from an instruction on, where it refuses, is to count that; with the context in
	 * R6 alone.  NULL: of no interest.
	 */
	bool (*counts)(void *closure, size_t at);
	bool (*visit)(void *closure, const struct walk_answer *a); /* false ends the walk */
	void *closure;
};

enum walk_end {
	WALK_DONE,
	WALK_STOPPED, /* by visit() */
	WALK_LOST, /* the program does what cannot be followed: nothing has been shown */
};

/* All inputs have one value, 0, and all bytes are unknown until they are laid. */
void walk_begin(struct walk *w, struct arena *a, const struct hook_program *program);
enum walk_end walk_program(const struct walk *w);

/*
 * Follows one judgement, for all addresses of its family, in WALK_ADDRESS, and ports, in WALK_PORT, to its exits.
 * Nothing but the registers that it judges by has a meaning.  *out is set where it is done.
 */
enum walk_end walk_judgement(const struct walk *w, const struct judgement *j, struct walk_known *out);

/* Makes a variable one of so many bits. */
void walk_free(struct walk *w, enum walk_variable variable, unsigned bits);

/* Lays a variable, most or least significant byte first, or constants, into the bytes from `at` on. */
void walk_lay(struct walk_byte *at, enum walk_variable variable, unsigned bytes);
void walk_lay_host(struct walk_byte *at, enum walk_variable variable, unsigned bytes);
void walk_lay_zero(struct walk_byte *at, unsigned bytes);
void walk_lay_unknown(struct walk_byte *at, unsigned bytes);

#endif
