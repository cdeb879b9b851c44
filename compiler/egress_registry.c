/* SPDX-License-Identifier: MIT */
/*
 * The registries behind "unbounded" and "metadata".  Sources and dates are in docs/egress.md:
 * IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), column "Globally Reachable".
 */
#include "compiler/egress_registry.h"

struct registry_row {
	struct net_addr addr;
	unsigned char length;
	bool global;
};

#define V4(a, b, c, d) { 0, (uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d) }
#define V6(hi) { 0x##hi##u, 0 }

/* A row inside another one is the exception to it. */
static const struct registry_row v4_rows[] = {
	{ V4(0, 0, 0, 0), 8, false }, /* "this network" */
	{ V4(10, 0, 0, 0), 8, false }, /* private use */
	{ V4(100, 64, 0, 0), 10, false }, /* shared address space */
	{ V4(127, 0, 0, 0), 8, false }, /* loopback */
	{ V4(169, 254, 0, 0), 16, false }, /* link local */
	{ V4(172, 16, 0, 0), 12, false }, /* private use */
	{ V4(192, 0, 0, 0), 24, false }, /* IETF protocol assignments */
	{ V4(192, 0, 0, 9), 32, true }, /* port control protocol anycast */
	{ V4(192, 0, 0, 10), 32, true }, /* TURN anycast */
	{ V4(192, 0, 2, 0), 24, false }, /* documentation */
	{ V4(192, 168, 0, 0), 16, false }, /* private use */
	{ V4(198, 18, 0, 0), 15, false }, /* benchmarking */
	{ V4(198, 51, 100, 0), 24, false }, /* documentation */
	{ V4(203, 0, 113, 0), 24, false }, /* documentation */
	{ V4(240, 0, 0, 0), 4, false }, /* reserved, and limited broadcast */
};

static const struct registry_row v6_rows[] = {
	{ { 0, 0 }, 127, false }, /* :: and ::1 */
	{ { 0, 0xffff00000000 }, 96, false }, /* IPv4-mapped */
	{ V6(0064ff9b00010000), 48, false }, /* local-use IPv4/IPv6 translation */
	{ V6(0100000000000000), 64, false }, /* discard only */
	{ V6(0100000000000001), 64, false }, /* dummy prefix */
	{ V6(2001000000000000), 23, false }, /* IETF protocol assignments */
	{ { 0x2001000100000000u, 1 }, 128, true }, /* port control protocol anycast */
	{ { 0x2001000100000000u, 2 }, 128, true }, /* TURN anycast */
	{ { 0x2001000100000000u, 3 }, 128, true }, /* DNS-SD anycast */
	{ V6(2001000300000000), 32, true }, /* automatic multicast tunneling */
	{ V6(2001000401120000), 48, true }, /* AS112-v6 */
	{ V6(2001002000000000), 28, true }, /* ORCHIDv2 */
	{ V6(2001003000000000), 28, true }, /* drone remote ID */
	{ V6(20010db800000000), 32, false }, /* documentation */
	{ V6(3fff000000000000), 20, false }, /* documentation */
	{ V6(5f00000000000000), 16, false }, /* segment routing identifiers */
	{ V6(fc00000000000000), 7, false }, /* unique local */
	{ V6(fe80000000000000), 10, false }, /* link local */
};

const struct metadata_address metadata_addresses[] = {
	{ NET_V4, V4(169, 254, 169, 254), "instance metadata of most clouds" },
	{ NET_V4, V4(169, 254, 170, 2), "task credentials of AWS ECS" },
	{ NET_V4, V4(169, 254, 170, 23), "pod credentials of AWS EKS" },
	{ NET_V4, V4(169, 254, 0, 23), "instance metadata of Tencent Cloud" },
	{ NET_V4, V4(169, 254, 42, 42), "instance metadata of Scaleway" },
	{ NET_V4, V4(100, 100, 100, 200), "instance metadata of Alibaba Cloud" },
	{ NET_V4, V4(168, 63, 129, 16), "the host agent of Azure" },
	{ NET_V4, V4(192, 0, 0, 192), "instance metadata of Oracle Cloud" },
	{ NET_V6, { 0xfd000ec200000000u, 0x254 }, "instance metadata of AWS" },
	{ NET_V6, { 0xfd000ec200000000u, 0x23 }, "pod credentials of AWS EKS" },
	{ NET_V6, { 0xfd2000ce00000000u, 0x254 }, "instance metadata of Google Cloud" },
	{ NET_V6, { 0xfd00004200000000u, 0x42 }, "instance metadata of Scaleway" },
	{ NET_V6, { 0xfe80000000000000u, 0xa9fea9fe }, "instance metadata of OpenStack" },
};
const size_t metadata_address_count = sizeof metadata_addresses / sizeof *metadata_addresses;

const struct restricted_block restricted_blocks[] = {
	{ NET_V4, { V4(169, 254, 0, 0), V4(169, 254, 255, 255) }, "link-local" },
	{ NET_V4, { V4(224, 0, 0, 0), V4(239, 255, 255, 255) }, "multicast" },
	{ NET_V4, { V4(255, 255, 255, 255), V4(255, 255, 255, 255) }, "broadcast" },
	{ NET_V6, { V6(fe80000000000000), { 0xfebfffffffffffffu, UINT64_MAX } }, "link-local" },
	{ NET_V6, { V6(ff00000000000000), { UINT64_MAX, UINT64_MAX } }, "multicast" },
};
const size_t restricted_block_count = sizeof restricted_blocks / sizeof *restricted_blocks;

struct addr_ranges registry_not_global(struct arena *a, enum net_family family)
{
	const struct registry_row *row = family == NET_V4 ? v4_rows : v6_rows;
	size_t n = family == NET_V4 ? sizeof v4_rows / sizeof *v4_rows
				    : sizeof v6_rows / sizeof *v6_rows;
	struct addr_ranges local = { 0 }, global = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct addr_range r = addr_prefix(family, row[i].addr, row[i].length);

		ranges_add(a, row[i].global ? &global : &local, r.lo, r.hi);
	}
	ranges_normalise(&local);
	ranges_normalise(&global);
	return ranges_subtract(a, &local, &global);
}

/*
 * NAT64 prefixes of one's own may put the IPv4 address in any of several places (RFC 8215, RFC 6052).  IPv4-translated
 * addresses, ::ffff:0:a.b.c.d, are of translators that have been replaced (RFC 2765, RFC 7915): no reader expects them.
 */
const struct refused_block refused_blocks[] = {
	{ { { 0x0064ff9b00010000, 0 }, { 0x0064ff9b0001ffff, UINT64_MAX } }, "which carry IPv4 in no one way" },
	{ { { 0, 0xffff000000000000 }, { 0, 0xffff0000ffffffff } }, "which carry IPv4 by a translation of old" },
};
const size_t refused_block_count = sizeof refused_blocks / sizeof *refused_blocks;
