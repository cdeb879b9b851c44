/* SPDX-License-Identifier: MIT */
/* IPv6 prefixes that carry IPv4: from the IPv4 address to its carriers, and back. */
#include "compiler/egress_set.h"

#define TEREDO_HI 0x2001000000000000u
#define NAT64_HI 0x0064ff9b00000000u
#define SIX_TO_FOUR_HI 0x2002000000000000u

struct addr_range carrier_range(enum carrier c)
{
	static const struct addr_range range[CARRIERS] = {
		/*
		 * :: and ::1 are not carriers: the unspecified address and loopback (RFC 4291
		 * 2.5.3)
		 */
		[CARRIER_COMPATIBLE] = { { 0, 2 }, { 0, UINT32_MAX } },
		[CARRIER_NAT64] = { { NAT64_HI, 0 }, { NAT64_HI, UINT32_MAX } },
		[CARRIER_6TO4] = { { SIX_TO_FOUR_HI, 0 }, { 0x2002ffffffffffffu, UINT64_MAX } },
		[CARRIER_TEREDO] = { { TEREDO_HI, 0 }, { 0x20010000ffffffffu, UINT64_MAX } },
	};
	return range[c];
}

bool carrier_of(enum carrier c, uint32_t lo, uint32_t hi, struct addr_range *out)
{
	uint64_t first = lo, last = hi;

	switch (c) {
	case CARRIER_COMPATIBLE:
		if (hi < 2)
			return false;
		*out = (struct addr_range){ { 0, first < 2 ? 2 : first }, { 0, last } };
		return true;
	case CARRIER_NAT64:
		*out = (struct addr_range){ { NAT64_HI, first }, { NAT64_HI, last } };
		return true;
	case CARRIER_6TO4:
		*out = (struct addr_range){ { SIX_TO_FOUR_HI | first << 16, 0 },
					    { SIX_TO_FOUR_HI | last << 16 | 0xffff, UINT64_MAX } };
		return true;
	case CARRIER_TEREDO:
		*out = (struct addr_range){ { TEREDO_HI | first, 0 },
					    { TEREDO_HI | last, UINT64_MAX } };
		return true;
	default:
		return false;
	}
}

struct addr_range carrier_teredo_client(struct net_addr block, uint32_t lo, uint32_t hi)
{
	uint64_t upper = block.lo & ~(uint64_t)UINT32_MAX;

	return (struct addr_range){ { block.hi, upper | (uint32_t)~hi },
				    { block.hi, upper | (uint32_t)~lo } };
}

static void add_v4(struct arena *a, struct addr_ranges *v4, uint64_t lo, uint64_t hi)
{
	ranges_add(a, v4, (struct net_addr){ 0, (uint32_t)lo },
		   (struct net_addr){ 0, (uint32_t)hi });
}

/* The clients of [lo, hi]: low 32 bits, inverted; all of IPv4 as soon as one /96 is whole. */
static void decode_teredo_clients(struct arena *a, struct addr_range r, struct addr_ranges *v4)
{
	struct net_addr lo = r.lo, hi = r.hi;
	bool same = lo.hi == hi.hi && lo.lo >> 32 == hi.lo >> 32;
	struct net_addr end = carrier_teredo_client(lo, 0, UINT32_MAX).hi;
	struct net_addr begin = carrier_teredo_client(hi, 0, UINT32_MAX).lo;

	if (same) {
		add_v4(a, v4, ~hi.lo, ~lo.lo);
	} else if (!net_addr_cmp(addr_next(end), begin)) {
		add_v4(a, v4, 0, ~lo.lo);
		add_v4(a, v4, ~hi.lo, UINT32_MAX);
	} else {
		add_v4(a, v4, 0, UINT32_MAX);
	}
}

static void decode_one(struct arena *a, enum carrier c, struct addr_range r, struct addr_ranges *v4)
{
	switch (c) {
	case CARRIER_6TO4:
		add_v4(a, v4, r.lo.hi >> 16, r.hi.hi >> 16);
		break;
	case CARRIER_TEREDO:
		add_v4(a, v4, r.lo.hi, r.hi.hi);
		decode_teredo_clients(a, r, v4);
		break;
	default:
		add_v4(a, v4, r.lo.lo, r.hi.lo);
		break;
	}
}

void carrier_clients(struct arena *a, const struct addr_ranges *within, uint32_t lo, uint32_t hi,
		     struct addr_ranges *out)
{
	struct addr_range teredo = carrier_range(CARRIER_TEREDO);

	for (size_t k = 0; k < within->n; k++) {
		struct addr_range r = within->range[k];
		struct net_addr at = net_addr_cmp(r.lo, teredo.lo) < 0 ? teredo.lo : r.lo;

		for (int i = 0; i < TEREDO_BLOCKS && addr_overlap(r, teredo) &&
				addr_overlap((struct addr_range){ at, r.hi }, teredo);
		     i++) {
			struct addr_range c = carrier_teredo_client(at, lo, hi);
			struct net_addr end = carrier_teredo_client(at, 0, UINT32_MAX).hi;

			ranges_add(a, out, c.lo, c.hi);
			if (net_addr_cmp(end, r.hi) >= 0)
				break;
			at = addr_next(end);
		}
	}
}

void carrier_decode(struct arena *a, const struct addr_ranges *v6, struct addr_ranges *v4)
{
	for (size_t i = 0; i < v6->n; i++) {
		for (int c = 0; c < CARRIERS; c++) {
			struct addr_range r = v6->range[i], all = carrier_range((enum carrier)c);

			if (!addr_overlap(r, all))
				continue;
			if (net_addr_cmp(r.lo, all.lo) < 0)
				r.lo = all.lo;
			if (net_addr_cmp(r.hi, all.hi) > 0)
				r.hi = all.hi;
			decode_one(a, (enum carrier)c, r, v4);
		}
	}
}
