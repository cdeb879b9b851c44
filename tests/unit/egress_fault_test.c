/* SPDX-License-Identifier: MIT */
/*
 * Faults in the generated programs: every instruction of every hook is damaged in every way that a
 * generator could get wrong, and the proof has to find it - unless the damage makes no difference,
 * which is tried with inputs that the proof knows nothing of.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bpf/vm.h"
#include "tests/unit/egress_rules.h"
#include "tests/unit/unit.h"

struct fault {
	const char *what;
	bool (*make)(struct bpf_insn *insn);
};

static bool is_jump(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_JMP32 || insn->code == (BPF_JMP | BPF_JA);
}

static bool is_compare(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_JMP32;
}

static bool constant_up(struct bpf_insn *insn)
{
	bool has = is_compare(insn) || BPF_OP(insn->code) == BPF_AND ||
		   insn->code == (BPF_ALU | BPF_MOV | BPF_K);

	insn->imm = (int32_t)((uint32_t)insn->imm + has);
	return has;
}

static bool constant_down(struct bpf_insn *insn)
{
	bool has = is_compare(insn) || insn->code == (BPF_ALU | BPF_MOV | BPF_K);

	insn->imm = (int32_t)((uint32_t)insn->imm - has);
	return has;
}

static bool constant_swapped(struct bpf_insn *insn)
{
	int32_t swapped = (int32_t)__builtin_bswap32((uint32_t)insn->imm);
	bool has = is_compare(insn) && swapped != insn->imm;

	if (has)
		insn->imm = swapped;
	return has;
}

static bool target_next(struct bpf_insn *insn)
{
	insn->off++;
	return is_jump(insn);
}

static bool target_before(struct bpf_insn *insn)
{
	return is_jump(insn) && insn->off-- > 0;
}

static bool target_truncated(struct bpf_insn *insn)
{
	bool has = is_jump(insn) && insn->off > 15;

	insn->off &= 15;
	return has;
}

static bool branch_swapped(struct bpf_insn *insn)
{
	/* JEQ 0x10 and JNE 0x50, JGE 0x30 and JLT 0xa0 */
	insn->code ^= BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE ? 0x40 : 0x90;
	return is_compare(insn);
}

static bool branch_lost(struct bpf_insn *insn)
{
	bool has = is_compare(insn);

	if (has)
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
	return has;
}

static bool branch_always(struct bpf_insn *insn)
{
	bool has = is_compare(insn);

	if (has)
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = insn->off };
	return has;
}

static bool swap_lost(struct bpf_insn *insn)
{
	bool has = insn->code == (BPF_ALU | BPF_END | BPF_TO_BE) ||
		   insn->code == (BPF_ALU | BPF_XOR | BPF_X);

	if (has)
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
	return has;
}

static bool store_lost(struct bpf_insn *insn)
{
	bool has = BPF_CLASS(insn->code) == BPF_STX;

	if (has)
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
	return has;
}

static bool field_next(struct bpf_insn *insn)
{
	bool has = BPF_CLASS(insn->code) == BPF_LDX || BPF_CLASS(insn->code) == BPF_STX;

	insn->off = (int16_t)(insn->off + (BPF_SIZE(insn->code) == BPF_W   ? 4
					   : BPF_SIZE(insn->code) == BPF_H ? 2
									   : 1));
	return has;
}

/* Words, halves and bytes are read in part. */
static bool field_narrow(struct bpf_insn *insn)
{
	bool has = BPF_CLASS(insn->code) == BPF_LDX && BPF_SIZE(insn->code) != BPF_B;

	if (has)
		insn->code = (uint8_t)((insn->code & ~0x18) | (BPF_SIZE(insn->code) == BPF_DW  ? BPF_W
							       : BPF_SIZE(insn->code) == BPF_W ? BPF_H
											       : BPF_B));
	return has;
}

static bool register_next(struct bpf_insn *insn)
{
	bool has = is_compare(insn) || BPF_CLASS(insn->code) == BPF_LDX;

	insn->dst_reg = (uint8_t)((insn->dst_reg + 1) & 7);
	return has;
}

static const struct fault faults[] = {
	{ "a constant one up", constant_up },
	{ "a constant one down", constant_down },
	{ "a constant with bytes swapped", constant_swapped },
	{ "a target one further", target_next },
	{ "a target one nearer", target_before },
	{ "a truncated target", target_truncated },
	{ "a swapped branch", branch_swapped },
	{ "a lost branch", branch_lost },
	{ "a branch always taken", branch_always },
	{ "a lost byte swap or difference", swap_lost },
	{ "a lost store", store_lost },
	{ "another field", field_next },
	{ "another register", register_next },
	{ "a narrower load", field_narrow },
};

/* --- inputs that tell programs apart -------------------------------------- */

enum { TRIES = 6000 };

union context {
	struct bpf_sock_addr addr;
	struct bpf_sock sock;
	struct __sk_buff skb;
};

struct input {
	union context ctx;
	uint8_t packet[64];
	size_t size;
};

static unsigned pick(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

static unsigned rarely(unsigned *seed, unsigned value, unsigned n)
{
	switch (pick(seed, 12)) {
	case 0:
		return value + 1;
	case 1:
		return value - 1;
	case 2:
		return pick(seed, n);
	default:
		return value;
	}
}

/* An address as it is on the wire: of the policies above, mapped, carried, or near one. */
static void random_address(unsigned *seed, uint8_t at[16])
{
	static const char *const pool[] = {
		"::ffff:10.1.2.3",
		"::ffff:10.1.0.9",
		"::ffff:10.1.2.0",
		"::ffff:10.1.255.255",
		"::ffff:192.0.2.7",
		"::ffff:127.0.0.1",
		"::ffff:0.0.0.0",
		"::ffff:10.0.0.53",
		"::ffff:10.0.0.1",
		"2001:db8:1::5",
		"2001:db8:1::",
		"2001:db8:1:ffff:ffff:ffff:ffff:ffff",
		"2001:db8:2::9",
		"::1",
		"::",
		"64:ff9b::a01:9",
		"64:ff9b::a01:ffff",
		"64:ff9b::a01:0",
		"::ffff:224.0.0.1",
		"ff02::1",
		"2001:db8::",
		"::10.1.0.9",
		"::ffff:223.255.255.255",
	};

	inet_pton(AF_INET6, pool[pick(seed, sizeof pool / sizeof *pool)], at);
	switch (pick(seed, 6)) {
	case 0:
		at[15]++;
		break;
	case 1:
		at[15]--;
		break;
	case 2:
		at[pick(seed, 16)] ^= (uint8_t)(1 << pick(seed, 8));
		break;
	case 3:
		at[pick(seed, 4) * 4 + 3] += (uint8_t)(pick(seed, 3) - 1);
		break;
	default:
		break;
	}
}

static uint16_t random_port(unsigned *seed)
{
	static const uint16_t pool[] = { 0,    0,    53,   99,	  123,	  443, 443,
					 8000, 8010, 8080, 65535, 0xbb01, 256 };

	return (uint16_t)rarely(seed, pool[pick(seed, sizeof pool / sizeof *pool)], 65536);
}

static void random_sock_addr(unsigned *seed, struct bpf_sock_addr *ctx)
{
	uint8_t at[16];

	random_address(seed, at);
	memset(ctx, 0, sizeof *ctx);
	ctx->family = ctx->user_family = pick(seed, 2) ? AF_INET : AF_INET6;
	ctx->protocol = rarely(seed, pick(seed, 2) ? IPPROTO_TCP : IPPROTO_UDP, 300);
	ctx->type = ctx->protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
	ctx->user_port = htons(random_port(seed));
	memcpy(&ctx->user_ip4, at + 12, 4);
	memcpy(ctx->user_ip6, at, 16);
}

/* The addresses and ports of a packet: often from and to the same, or to the socket's peer. */
static void random_ends(unsigned *seed, struct input *in, bool six)
{
	size_t size = six ? 16 : 4, from = six ? 8 : 12, header = six ? 40 : 20;
	const struct __sk_buff *skb = &in->ctx.skb;
	uint16_t port[] = { htons(random_port(seed)), htons(random_port(seed)) };
	uint8_t at[16], *p = in->packet;

	random_address(seed, at);
	memcpy(p + from, at + 16 - size, size);
	if (pick(seed, 3))
		random_address(seed, at);
	memcpy(p + from + size, at + 16 - size, size);
	if (!pick(seed, 3))
		memcpy(p + from + size, six ? skb->remote_ip6 : &skb->remote_ip4, size);
	if (!pick(seed, 3))
		port[1] = (uint16_t)(skb->remote_port >> 16);
	memcpy(p + header, port, sizeof port);
}

static void random_packet(unsigned *seed, struct input *in)
{
	bool six = pick(seed, 2);
	size_t header = six ? 40 : 20;
	uint8_t at[16], *p = in->packet;

	memset(&in->ctx, 0, sizeof in->ctx);
	memset(p, 0, sizeof in->packet);
	in->ctx.skb.family = rarely(seed, pick(seed, 2) ? AF_INET : AF_INET6, 40);
	in->ctx.skb.ifindex = 1 + pick(seed, 2);
	in->ctx.skb.remote_port = (uint32_t)htons(random_port(seed)) << 16;
	random_address(seed, at);
	memcpy(&in->ctx.skb.remote_ip4, at + 12, 4);
	memcpy(in->ctx.skb.remote_ip6, at, 16);
	in->ctx.skb.local_port = random_port(seed);
	random_address(seed, at);
	memcpy(&in->ctx.skb.local_ip4, at + 12, 4);
	memcpy(in->ctx.skb.local_ip6, at, 16);
	p[0] = six ? 0x60 : 0x45;
	p[six ? 6 : 9] = (uint8_t)rarely(seed, pick(seed, 2) ? IPPROTO_TCP : IPPROTO_UDP, 256);
	random_ends(seed, in, six);
	p[header + 13] = (uint8_t)pick(seed, 256);
	if (!pick(seed, 4))
		p[pick(seed, 24)] ^= (uint8_t)(1 << pick(seed, 8));
	in->size = pick(seed, 4) ? header + 20 : pick(seed, (unsigned)header + 20);
}

static void random_input(unsigned *seed, int hook, struct input *in)
{
	memset(in, 0, sizeof *in);
	if (hook == CAVE_HOOK_EGRESS || hook == CAVE_HOOK_INGRESS) {
		random_packet(seed, in);
	} else if (hook == CAVE_HOOK_SOCK_CREATE) {
		in->ctx.sock.family = rarely(seed, pick(seed, 2) ? AF_INET : AF_INET6, 40);
		in->ctx.sock.type = 1 + pick(seed, 4);
		in->ctx.sock.protocol = rarely(seed, pick(seed, 2) ? IPPROTO_TCP : IPPROTO_UDP,
					       300);
	} else {
		random_sock_addr(seed, &in->ctx.addr);
	}
}

static size_t context_size(int hook)
{
	if (hook == CAVE_HOOK_EGRESS || hook == CAVE_HOOK_INGRESS)
		return sizeof(struct __sk_buff);
	return hook == CAVE_HOOK_SOCK_CREATE ? sizeof(struct bpf_sock)
					     : sizeof(struct bpf_sock_addr);
}

/* The program's answer, 2 if it does what is forbidden; *in is changed as the kernel's would be. */
static uint64_t answer(const struct hook_program *h, struct ebpf_map *map, struct input *in)
{
	struct ebpf_input e = { .ctx = &in->ctx, .ctx_size = context_size(h->hook), .packet = in->packet,
				.packet_size = in->size, .map = map, .nmaps = h->maps ? h->maps->n : 0 };
	uint64_t result;

	return ebpf_run(h->insn, h->n, &e, &result, NULL) && result <= 1 ? result : 2;
}

/* True if some input is answered differently, or let through changed differently. */
static bool differs(const struct hook_program *right, const struct hook_program *wrong)
{
	struct arena arena = { 0 };
	struct ebpf_map *map = ebpf_maps(&arena, right->maps);
	unsigned seed = 11;
	bool found = false;
	size_t bad;

	if (!ebpf_check(wrong->insn, wrong->n, &bad))
		return true;
	for (int i = 0; i < TRIES && !found; i++) {
		struct input a, b;
		uint64_t x, y;

		random_input(&seed, right->hook, &a);
		b = a;
		x = answer(right, map, &a);
		y = answer(wrong, map, &b);
		found = x != y || (x == 1 && memcmp(&a.ctx, &b.ctx, sizeof a.ctx));
	}
	arena_free(&arena);
	return found;
}

/* --- injecting ------------------------------------------------------------ */

static bool proof_finds(const struct compile *c, const struct hook_program *hook)
{
	struct arena arena = { 0 };
	struct sources sources;
	struct diags diags;
	bool found;

	sources_init(&sources, &arena);
	diags_init(&diags, &sources);
	found = !egress_prove(&diags, &c->policy, hook) && diags.errors == 1 &&
		diags.first->code == CAVE_PROOF_FAILED;
	arena_free(&arena);
	return found;
}

struct tally {
	unsigned made, found, missed;
	unsigned turn, every; /* of the faults that can be made, one in so many is */
};

/* All of them take minutes: CAVE_ALL_FAULTS=1.  Otherwise another part of them in each policy, the same every time. */
enum { ONE_IN = 97 };

static void inject_hook(const struct compile *c, int h, const struct fault *f, struct tally *t)
{
	struct hook_program hook[CAVE_HOOK_COUNT];
	size_t n = c->hook[h].n;
	struct bpf_insn *copy = malloc(n * sizeof *copy);

	memcpy(hook, c->hook, sizeof hook);
	memcpy(copy, c->hook[h].insn, n * sizeof *copy);
	hook[h].insn = copy;
	for (size_t i = 0; i < n; i++) {
		if (f->make(&copy[i]) && t->turn++ % t->every == 0) {
			bool found = proof_finds(c, hook);

			t->made++;
			t->found += found;
			if (!found && differs(&c->hook[h], &hook[h])) {
				t->missed++;
				printf("# missed: hook %d, instruction %zu\n", h, i);
			}
		}
		copy[i] = c->hook[h].insn[i];
	}
	free(copy);
}

static void inject(const struct compile *c, const struct fault *f, unsigned turn)
{
	struct tally t = { .turn = turn, .every = getenv("CAVE_ALL_FAULTS") ? 1 : ONE_IN };

	for (int h = 0; h < CAVE_HOOK_NAMES; h++)
		inject_hook(c, h, f, &t);
	check(!t.missed, "%s: of %u faults %u are found, %u missed", f->what, t.made, t.found,
	      t.missed);
}

/* What the generator says of where programs judge, wrong: yes for no, of another family, one instruction later. */
static void lie(struct compile *c, int h, unsigned how)
{
	const size_t n = c->hook[h].njudgements;
	struct judgement *lied = ARENA_ARRAY(&c->arena, n + 1, struct judgement);

	for (size_t i = 0; i < n; i++) {
		lied[i] = c->hook[h].judgement[i];
		if (how % 3 == 0) {
			lied[i].exit[JUDGED_YES] = c->hook[h].judgement[i].exit[JUDGED_NO];
			lied[i].exit[JUDGED_NO] = c->hook[h].judgement[i].exit[JUDGED_YES];
		} else if (how % 3 == 1) {
			lied[i].family = lied[i].family == NET_V4 ? NET_V6 : NET_V4;
		} else {
			lied[i].at++;
		}
	}
	c->hook[h].judgement = lied;
}

/* So many addresses that all inputs are followed while the points are run: what either finds is said. */
static void inject_at_once(void)
{
	enum { ADDRESSES = 600 };
	char text[ADDRESSES * sizeof "10.255.255.255," + 64], *at = text + sprintf(text, "allow tcp ");
	struct compile c;

	for (unsigned i = 0; i < ADDRESSES; i++)
		at += sprintf(at, "%s10.%u.%u.%u", i ? "," : "", i / 100, i % 100, i * 7 % 251);
	sprintf(at, " port 443\n");
	compile_init(&c);
	compile_read(&c, text);
	if (check(compile_generate(&c) && egress_prove(&c.diags, &c.policy, c.hook), "%d addresses", ADDRESSES)) {
		inject(&c, &faults[0], 0);
		inject(&c, &faults[6], 0);
	}
	compile_free(&c);
}

int main(void)
{
	static const char *const text[] = {
		"allow tcp 10.1.0.0/16 except 10.1.2.0/24 port 443,8000-8010\nallow tcp,udp "
		"10.1.2.3 port 53\n"
		"deny all 10.1.0.9\nallow udp 192.0.2.7 port 123\n",
		"allow tcp,udp 2001:db8:1::/48 except 2001:db8:1::5 port 443\nallow udp "
		"2001:db8:2::9 port 53,99\n"
		"allow tcp localhost port 8080\nallow tcp 64:ff9b::a01:0/112 port 443\ndeny all "
		"10.1.0.9 port 443\n",
		"allow udp 10.0.0.53 port 53\n",
		"allow tcp 10.0.0.1 port any\n",
		"allow tcp 10.1.2.3 port 443\nlisten tcp 10.1.0.0/16,::1 port 8080,8000-8010\n"
		"allow udp 192.0.2.7 port 123\n",
		"resolver\nallow tcp 10.1.2.3 port 443\n",
		"listen tcp 0.0.0.0,2001:db8:1::5 port 443\nlisten tcp 127.0.0.1 port 8080\n",
		"allow tcp,udp 10.1.2.3 port 443\nallow tcp,udp 2001:db8:1::5 port 53\n"
		"allow udp 10.1.0.0/24 port 53,99\n",
		"listen tcp 0.0.0.0,2001:db8:1::5 port 443\nallow tcp 10.1.2.3 port 443\ndeny tcp 10.1.0.0/24 port 53,99\n"
		"deny all 2001:db8:1::/64\ndeny tcp 192.0.2.7\n",
		"listen udp 10.1.2.3,::1 port 8080\nallow udp 10.1.2.7 port 443\n",
		"listen tcp 10.1.2.3,2001:db8:1::5 port 10,14,18,22,26,30,34,38,42,46,53,60,64,68,72,76,80,84,88,92,99,443\n"
		"allow udp 192.0.2.7 port 123\nallow tcp 10.1.0.9 port 443\n",
		"resolver\nallow udp 10.1.0.0/16 port 57\ndeny udp 10.1.2.0/24\n",
		"resolver\nallow tcp 10.1.0.9 port 443\ndeny udp 10.1.2.0/24\ndeny tcp 2001:db8:2::9 port 50-60\n",
		/* So many that functions decide. */
		"allow tcp 10.1.2.3,10.1.0.7,10.1.0.9,10.2.0.1,10.2.0.3,10.2.0.5,192.0.2.7 port 443,8000-8010\n"
		"allow udp 10.1.0.0/24,10.1.2.3,10.3.0.1,10.3.0.3,10.3.0.5,10.3.0.7 port 53,99\n"
		"allow tcp 2001:db8:1::5,2001:db8:2::9,2001:db8:3::/48,2001:db8:5::1,2001:db8:7::1 port 443\n"
		"allow udp 2001:db8:2::9,2001:db8:3::/64,2001:db8:5::1,2001:db8:7::1,2001:db8:9::1 port 53\n",
	};

	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct compile c;

		compile_init(&c);
		compile_read(&c, text[i]);
		if (check(compile_generate(&c) && egress_prove(&c.diags, &c.policy, c.hook),
			  "policy %zu", i))
			for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
				inject(&c, &faults[f], (unsigned)(i + f));
		for (int h = 0; h < CAVE_HOOK_NAMES; h++)
			lie(&c, h, (unsigned)i);
		check(egress_prove(&c.diags, &c.policy, c.hook), "policy %zu, where it says wrongly where it judges", i);
		inject(&c, &faults[0], (unsigned)i);
		inject(&c, &faults[6], (unsigned)i);
		compile_free(&c);
	}
	inject_at_once();
	return unit_done();
}
