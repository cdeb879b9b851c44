/* SPDX-License-Identifier: MIT */
/*
 * Inside the generator of the egress programs: what its parts share.  egress.c makes the programs,
 * egress_judge.c decides on a destination, egress_function.c has that done by functions that all programs share,
 * egress_search.c looks it up in a table, egress_call.c has the
 * hooks of calls, egress_leave.c and egress_accepted.c that of packets that leave, egress_arrive.c that of
 * packets that arrive, egress_shut.c has what is denied all the same, egress_guest.c who may be answered,
 * egress_count.c counts what is refused.
 *
 * Registers: R6 the context, R7 the port, R8 an IPv4 address, R2-R5 an IPv6 address, R0 the
 * protocol, R9 the packet; all numbers in host order once judged.  The artefact is for little-endian machines, so
 * network-order constants are written as such a machine loads them.
 */
#ifndef CAVE_BPF_EGRESS_GEN_H
#define CAVE_BPF_EGRESS_GEN_H

#include <stddef.h>

#include "bpf/egress_asm.h"
#include "bpf/egress_table.h"
#include "bpf/egress_tree.h"

#define RAW_MAPPED 0xffff0000u /* the third word of ::ffff:0:0/96 */

enum {
	CTX = BPF_REG_6,
	PORT = BPF_REG_7,
	ADDR4 = BPF_REG_8,
	PROTO = BPF_REG_0,
	PACKET = BPF_REG_9, /* from the network header on */
	HEADER_SIZE = 24, /* of IPv4, with both ports; less than any TCP or UDP packet */
	HEADER6_SIZE = 44, /* the same of IPv6 */
	VISITOR = -8, /* on the stack; not 0: the packet comes to an endpoint of a `listen` */
	TCP_FLAGS = 13, /* offset in the TCP header */
	TCP_SYN = 0x02,
	TCP_ACK = 0x10,
};

/* The registers of an IPv6 address. */
static const uint8_t addr6_reg[] = { BPF_REG_2, BPF_REG_3, BPF_REG_4, BPF_REG_5 };

/* The code that decides on the ports of one set. */
struct ports_block {
	bool used;
	asm_label label;
	line_id line; /* of the first address that leads to it */
};

/* What may be asked of an address and a port: whether it is a peer, an endpoint of one's own, denied to strangers. */
enum role { ROLE_PEER, ROLE_OWN, ROLE_SHUT, ROLES };

/* The functions of a policy; by role and family 1 + the number of one, or 0. */
struct shared_judges {
	struct function_list list;
	uint8_t number[ROLES][NET_FAMILIES];
};

/* What an endpoint is judged by, and where the judgement leads. */
struct judge {
	const struct net_cell (*cell)[NET_FAMILIES];
	asm_label yes, no;
	const struct cell_table *const (*table)[NET_FAMILIES]; /* of large cells */
	struct ports_block *ports; /* by port set, and a last one for what a table knows */
	bool resolver; /* the host's name servers too */
	bool names; /* addresses of granted names too: at `no` they are asked for */
	uint8_t function[NET_FAMILIES]; /* 1 + the number of that which decides; 0: none does */
};

/* One program while it is generated. */
struct hook_gen {
	struct assembler s;
	enum cave_hook hook;
	const struct net_set *set;
	const struct tables *tables;
	const struct shared_judges *judges; /* NULL: a function is generated */
	bool proto[NET_PROTOS]; /* those that this hook judges */
	asm_label allow, deny;
	struct judge peer, local; /* destinations; endpoints of one's own */
	struct judge shut[NET_FAMILIES]; /* what is denied of peers that are not granted by their address */
	asm_label settle[NET_FAMILIES]; /* to be let through unless it is denied; in host order */
	asm_label settled; /* not denied */
	uint32_t denials, guests, names_map; /* the numbers of these maps; what is not counted comes after the first */
	asm_label strangers; /* peers that nothing grants: those that come in of themselves, or refused */
	bool names_done; /* the code at `names` is there */
	asm_label names; /* what no rule on addresses grants, where there are grants by name */
};

#define SOCK_ADDR(field) ((int16_t)offsetof(struct bpf_sock_addr, field))
#define SKB(field) ((int16_t)offsetof(struct __sk_buff, field))

/* --- egress_judge.c ------------------------------------------------------- */

/* Whether anything is granted by the protocol: as a peer, or in either role. */
bool grants(const struct judge *j, int proto);
bool uses(const struct hook_gen *g, int proto);

/* A judge of what the role's cells hold: let through, the rest refused. */
struct judge role_judge(struct hook_gen *g, enum role role);

/* Whether anything is denied that peers who come in, or name servers, could be. */
bool denies(const struct hook_gen *g);

/* A JMP32 comparison with a constant. */
void jump_if(struct hook_gen *g, uint8_t op, uint8_t reg, uint32_t imm, asm_label to);

/* The next segment of a tree over addresses of the family; or, with NET_V4, over any 32 bits. */
void add_segment(struct tree_segment *segment, size_t *n, enum net_family family, struct net_addr at,
		 asm_label leaf, line_id line);

/* Compares a register with what the runtime puts there. */
void compare_resolver(struct hook_gen *g, uint32_t slot, uint32_t field, uint8_t op, uint8_t reg, asm_label to);

/* A field of the context: a constant into it, by way of a register; four words of it, in R2-R5. */
void set_field(struct hook_gen *g, uint8_t reg, uint32_t value, int16_t field);
void load_words(struct hook_gen *g, int16_t field);

/* Refuses protocols that are not granted. */
void require_proto(struct hook_gen *g);

/* To `native` unless the words, in network order, are a mapped address. */
void require_mapped(struct hook_gen *g, asm_label native);

/* The address in ADDR4 or in R2-R5, in network order, is judged by PROTO and PORT. */
void judge4(struct hook_gen *g, const struct judge *j);
void judge6(struct hook_gen *g, const struct judge *j);

/* The same for an address in host order. */
void judge_host(struct hook_gen *g, const struct judge *j, enum net_family family);

/*
 * Judges the address in R2-R5, in network order: as IPv4 if it is mapped.  With `field`, the
 * unspecified address is replaced by loopback there, as the kernel would do after the hook.
 */
void judge_words(struct hook_gen *g, const struct judge *j, int16_t field);

/* The code at `settle`: the last to be emitted but for the answers. */
void make_settle(struct hook_gen *g);
void emit_settle(struct hook_gen *g);

/* The blocks of ports that some address has led to since the last time. */
void emit_port_blocks(struct hook_gen *g, const struct judge *j);

/* Where the ports of what a table knows are decided: R1 has its number. */
asm_label found_label(struct hook_gen *g, const struct judge *j);

/* --- egress_plane.c ------------------------------------------------------- */

/* Whether the rules on IPv4 are few enough to be decided by address and port at once. */
bool plane_decides(struct hook_gen *g, const struct judge *j);

/*
 * Decides on ADDR4, in host order, PORT and PROTO.  With `zero`, of a call to an IPv4 peer: the unspecified address is
 * replaced by loopback there, as the kernel would do after the hook.
 */
void plane_judge(struct hook_gen *g, const struct judge *j, bool zero);

/* --- egress_function.c ---------------------------------------------------- */

/* The functions of a set, where it has so much that they are worth it. */
bool functions_generate(struct arena *a, const struct net_set *set, const struct tables *tables,
			struct shared_judges *out, struct gen_error *error);

/* Puts the functions that a program calls behind it. */
void functions_link(struct arena *a, const struct function_list *list, struct hook_program *p);

/*
 * Has the address in ADDR4, or in R2 to R5, judged by the function, with PROTO and PORT, all in host order.  R1 to R5
 * are lost.
 */
void call_judge(struct hook_gen *g, const struct judge *j, enum net_family family);

/* --- egress_search.c ------------------------------------------------------ */

/*
 * R1 = the number of an IPv4 address that is in a register, in host order; or of the IPv6 address in R2-R5, in
 * host order.  R2 to R5 are lost,
 * and of IPv6 ADDR4 is too.  What the table cannot hold goes to `outside`.
 */
void search_address4(struct hook_gen *g, const struct cell_table *t, uint8_t address);
void search_address6(struct hook_gen *g, const struct cell_table *t, asm_label outside);

/* To `inside` if PORT is in the window, of that size at most, that R1 is the number of; else on, or to `outside`. */
void search_ports(struct hook_gen *g, uint32_t window, asm_label inside, asm_label outside);

/* --- egress_count.c ------------------------------------------------------- */

extern const struct map_def egress_denials_map, egress_uncounted_map;

/* Counts what is refused; all registers but the context are lost. */
void count_denial(struct hook_gen *g);

/* --- egress_guest.c ------------------------------------------------------- */

/* Who sent datagrams to which socket. */
extern const struct map_def egress_guests;

/* Whether anybody may send datagrams to an endpoint of one's own. */
bool takes_guests(const struct hook_gen *g);

/* Notes the peer whose address, in network order, and port are in registers; R1 is lost. */
void note_peer4(struct hook_gen *g);
void note_peer6(struct hook_gen *g);

/* The peer that was noted, of a datagram that leaves or a call that names it: let through if it is a guest. */
void answer_guest(struct hook_gen *g);

/* The sender that was noted: let through; of a datagram to an endpoint of a `listen`, it becomes a guest. */
void admit_guest(struct hook_gen *g);

/* --- egress_names.c ------------------------------------------------------- */

/* Whether names are granted. */
bool has_names(const struct hook_gen *g);

/* Notes the peer that is judged next, its address in host order in ADDR4 or R2-R5, for the code at g->names. */
void prepare_names(struct hook_gen *g, enum net_family family);

/* Peers that nothing grants go on where they are placed, rather than be refused; what comes first is placed too. */
void take_strangers(struct hook_gen *g);
void place_strangers(struct hook_gen *g);

/* The maps that the code refers to: numbers from g->names_map on. */
enum names_map { NAMES_RUN, NAMES_LIVE, NAMES_ASKED, NAMES_MAPS };
extern const struct map_def egress_names_maps[NAMES_MAPS];

/* The code at g->names, once; what no name grants goes on at g->strangers, with its protocol in PROTO. */
void emit_names(struct hook_gen *g);

/* recvmsg and getpeername. */
void gen_answered4(struct hook_gen *g);
void gen_answered6(struct hook_gen *g);

/* --- the hooks ------------------------------------------------------------ */

void gen_connect4(struct hook_gen *g);
void gen_connect6(struct hook_gen *g);
void gen_sendmsg4(struct hook_gen *g);
void gen_sendmsg6(struct hook_gen *g);
void gen_bind4(struct hook_gen *g);
void gen_bind6(struct hook_gen *g);
void gen_sock_create(struct hook_gen *g);
void gen_egress(struct hook_gen *g);
void gen_ingress(struct hook_gen *g);

/* --- packets -------------------------------------------------------------- */

/* A packet of which fewer bytes are there is refused; R1 and R2 are lost. */
void require_bytes(struct hook_gen *g, uint32_t size);

/*
 * A field of the packet, in network order, of which as many bytes are known to be there.  Where the kernel wants
 * aligned loads it takes packets to begin 2 bytes after a multiple of 4 (check_pkt_ptr_alignment,
 * kernel/bpf/verifier.c): 4 bytes are loaded in two halves, by way of R1 or, into R1, of R2.
 */
void load_field(struct hook_gen *g, uint8_t size, uint8_t reg, uint32_t offset);
void load_field_word(struct hook_gen *g, uint8_t reg, uint32_t offset);
void load_field_words(struct hook_gen *g, uint32_t offset); /* R2 to R5 */
void load_field_port(struct hook_gen *g, uint32_t offset); /* PORT, in host order */

/* Of packets that have been looked at: IPv4 goes on below, IPv6 at `six`. */
void split_versions(struct hook_gen *g, asm_label six);

/* PACKET, with the network header.  IPv4 goes on below, IPv6 at `six`; what is neither is refused. */
void load_header(struct hook_gen *g, asm_label six);

/*
 * What leaves in the name of a TCP socket whose peer is not granted, or that has none, is judged by
 * its own end; everything that comes to `peer.no` is.
 */
void judge_accepted(struct hook_gen *g);

#endif
