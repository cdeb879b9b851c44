/* SPDX-License-Identifier: MIT */
/*
 * Inside the proof of the egress programs: what its parts share.  egress_prove_ask.c asks a program one
 * question, egress_prove_spots.c lists addresses and ports to ask about; egress_prove_reach.c asks about
 * destinations, egress_prove_other.c about other protocols, bind and sockets, egress_prove_packet.c about
 * headers, egress_prove_local.c about endpoints of one's own, egress_prove_guest.c about who comes in there,
 * egress_prove_answer.c about who may be answered, egress_prove_count.c about what is counted, egress_prove_resolver.c
 * about the name servers that the runtime fills in.  egress_prove_whole.c follows programs for all that may stand in
 * their input, egress_prove_sets.c, where that is not done, for all addresses and ports.
 */
#ifndef CAVE_COMPILER_EGRESS_PROVER_H
#define CAVE_COMPILER_EGRESS_PROVER_H

#include <linux/bpf.h>

#include "bpf/vm.h"
#include "compiler/egress.h"
#include "compiler/egress_reference.h"

enum {
	WIRE_MAX = 96,
	SYN = 0x02,
	ACK = 0x10,
};

struct points {
	struct point *item;
	size_t n, cap;
};

struct ports {
	uint16_t *item;
	size_t n, cap;
};

/* A destination that the rules allow, to vary everything else around. */
struct sample {
	bool known;
	struct point to;
	uint16_t port;
};

/* A packet on the wire. */
struct wire {
	uint8_t byte[WIRE_MAX];
	size_t size;
};

struct prover {
	struct diags *d;
	struct arena *a;
	const struct policy *p;
	const struct hook_program *hook;
	struct ebpf_map *map; /* what the programs refer to */
	size_t nmaps;
	struct ebpf_map *denials; /* that of what was refused; NULL */
	bool granted[NET_PROTOS]; /* some destination of the protocol is allowed */
	bool used[NET_PROTOS]; /* or peers may come in by it */
	struct net_addr listened[NET_FAMILIES]; /* an address that is listened at */
	struct sample sample[NET_PROTOS][NET_FAMILIES];
	struct reference ref, own; /* of the rules, of the listens */
	struct rule_list near, holding, heard; /* of the address at hand */
	struct port_map *open; /* its ports */
	struct port_map *none; /* no port at all: of the unspecified addresses as they are */
	struct ports ports;
	unsigned brief_carriers; /* of how many IPv4 addresses */
	struct net_addr *teredo;
	size_t nteredo;
	const struct net_rule *servers; /* the name servers that are filled in; NULL */
	struct port_map *some; /* what UDP is allowed to some IPv4 address by */
	struct point elsewhere; /* an IPv4 address that UDP is not allowed to by any port */
	uint64_t cookie; /* of the socket that is asked about; 0: nobody is its guest */
	bool guests; /* there is a listen for datagrams */
	bool many; /* operands: an address is asked about in some of the hooks only, and fewer of them */
	bool brief; /* all inputs have been followed: the same */
	bool many_listens; /* the same of endpoints that are listened at */
	unsigned turn;
	const struct names_model *names; /* what the maps of a policy that grants by host name hold; NULL: it does not */
	bool whole[CAVE_HOOK_COUNT]; /* the program has been followed for all its inputs: nothing is left to be asked */
	bool failed;
};

/*
 * What a proof writes to when it is one of several that are done at once, and its messages, which nobody reads: if
 * there are any, or it fails, the proof is done again by itself and says them.
 */
struct hushed {
	struct arena scratch, messages;
	struct sources sources;
	struct diags d;
};

void hush(struct hushed *h);
/* True if nothing was said. */
bool hush_end(struct hushed *h);

/* A run as the maps know it. */
struct names_model {
	struct ebpf_map *map;
	size_t nmaps;
	uint64_t cgroup, now;
	uint16_t port4, port6; /* of the resolver; 0: there is none */
};

/* What a program is asked: what its input says, and how else it is special. */
struct question {
	enum cave_hook hook;
	int protocol;
	struct point at;
	uint16_t port;
	const char *form; /* NULL: nothing */
};

/* A packet as it should be, and what is to become of it on its way out and in. */
struct packet {
	struct question q;
	enum net_family family;
	struct __sk_buff ctx;
	struct wire w;
	bool leave, arrive;
	bool came_in; /* it leaves for the sake of its socket's own end: not to ask for a connection */
};

/* The number that a protocol has on the wire. */
int proto_number(int proto);

/* In network order, as contexts and packets have them. */
void put_words(uint32_t word[4], struct net_addr a);
/*
 * An address given to connect, sendmsg or bind.  `want_at` is what the context must hold
 * afterwards, where the call goes on.
 */
void ask_sock_addr(struct prover *v, const struct question *q, bool want, struct point want_at);
/* A packet without a destination; TCP has the ACK flag. */
struct wire make_packet(enum net_family family, int protocol, struct net_addr source, uint16_t source_port);
/* Runs a program of packets; a difference is an error, the first alone. */
void ask_packet(struct prover *v, const struct question *q, struct __sk_buff *ctx, const struct wire *w,
		bool want);
/* The socket side of an outgoing packet; `peer` may be mapped, then the socket is of IPv6. */
void put_peer(struct __sk_buff *ctx, struct point peer, uint16_t port);
/* Where the packet goes. */
void put_destination(struct wire *w, struct net_addr to, uint16_t port);
/* The IPv4 address as IPv6 sockets have it. */
struct point mapped(struct point v4);
/* Runs a program; false, with the error recorded, if it does what the kernel would not load. */
bool run_program(struct prover *v, enum cave_hook hook, struct ebpf_input *in, uint64_t *result);
/* The program's answer to the question is not `want`: the first error alone is recorded. */
void disagree(struct prover *v, const struct question *q, bool want);

/* One address, in normal form; one port. */
void add_point(struct prover *v, struct points *to, enum net_family family, struct net_addr a, uint16_t port);
void add_port(struct prover *v, struct ports *to, unsigned port);
/*
 * The /96 blocks of Teredo that operands begin and end in: a client's place in them depends on its
 * address.
 */
void find_teredo(struct prover *v);
/* Every address to ask about, sorted, each once. */
struct points list_points(struct prover *v);
/* The ports of the rules near an address; with `firsts`, only the first of every range. */
void near_ports(struct prover *v, struct ports *ports, struct point at, bool firsts);
/* The addresses around an operand; `brief`: of what carries them, some only. */
void add_operand(struct prover *v, struct points *to, const struct net_operand *o, uint16_t port, bool brief);
/* IPv6 that is like the mapped IPv4 address, but is not. */
void add_lookalikes(struct prover *v, struct points *to, uint64_t v4, uint16_t port);
/* Addresses that every policy is asked about. */
void add_fixed(struct prover *v, struct points *to);
/* For qsort. */
int by_point(const void *x, const void *y);
/* The ports around those of a rule. */
void add_rule_ports(struct prover *v, struct ports *to, const struct net_rule *r);
/* Sorted, each once. */
void finish_ports(struct ports *ports);
/* What bind is to answer. */
bool may_bind(const struct prover *v, int protocol, struct point at, uint16_t port);
/* The packet as it is, and with other headers. */
void prove_packet(struct prover *v, struct packet p);

/* The parts.  Destinations come first: they find the samples that others vary. */
void prove_destinations(struct prover *v);
/* Whether some rule allows an IPv6 address. */
bool allows_v6(const struct policy *p);
/* Follows programs for all their inputs, as far as that goes: v->whole says which. */
void prove_whole(struct prover *v);
/* Whether it is worth trying. */
bool may_be_whole(const struct prover *v);
/* Addresses of all rules. */
size_t count_operands(const struct policy *p);
/* Whether what judges endpoints of one's own, in every hook, is right for all addresses and ports. */
bool prove_own(struct prover *v);
/* Needs the samples: every program for all addresses and ports. */
void prove_sets(struct prover *v);
/* Whether the program counts a refusal from an instruction on, with the context in R6 alone. */
bool counts_from(struct prover *v, enum cave_hook hook, size_t at);
void prove_protocols(struct prover *v);
void prove_unaddressed(struct prover *v);
void prove_bind(struct prover *v);
void prove_sockets(struct prover *v);
void prove_packets(struct prover *v);
/* One part: every listen of the policy, in every hook that knows of them. */
void prove_local(struct prover *v);
/* What Teredo carries of a denied operand's ends, as a client and as a server. */
void add_clients(struct prover *v, struct points *to, const struct net_rule *deny);
/* Whether an address, or any, is an IPv4 name server's; one that is denied is what a mixture may be of all the same. */
bool is_server(const struct prover *v, const struct point *at);
/* The map of that name; NULL. */
struct ebpf_map *find_map(const struct prover *v, const char *name);
/* Whether the program has counted what it was just asked, if it refused that; takes it out again. */
bool is_counted(struct prover *v, enum cave_hook hook, const struct ebpf_input *in, bool refused);
/* Counts with more than one, and where there is no room. */
void prove_counting(struct prover *v);
/* Everybody who may come in at a listen, but for those who are denied. */
void prove_guests(struct prover *v);
/*
 * A datagram arrives from a peer at an endpoint that is listened at, or not: whether it is let through, and its sender
 * remembered.
 */
void ask_guest_arrives(struct prover *v, const struct question *q, const struct wire *w, struct point from,
		       uint16_t port, bool listens);
/* Everybody who may be answered by datagrams: who has been there, and nobody else. */
void prove_answers(struct prover *v);

/*
 * All parts, for programs in which nothing is left to be filled in: `servers` is the rule of the policy that stands for
 * what was, or NULL.  With `names`, the rules name the addresses that its maps hold.
 */
bool prove_programs(struct diags *d, const struct policy *p, const struct net_rule *servers,
		    const struct hook_program *hook, const struct names_model *names);

#endif
