/* SPDX-License-Identifier: MIT */
/* Prefixes by which a network carries IPv4 in IPv6 (RFC 6052): the well-known one, and those of an operator. */
#ifndef CAVE_BPF_NAT64_H
#define CAVE_BPF_NAT64_H

#include <stdbool.h>
#include <stdint.h>

struct nat64 {
	uint32_t word[4]; /* in host order, the most significant first; zero beyond the prefix */
	unsigned length; /* bits: 32, 40, 48, 56, 64 or 96 */
};

/* 64:ff9b::/96, RFC 6052, 2.1. */
extern const struct nat64 nat64_well_known;

/* Reads "2001:db8:64::/96".  NULL, or what is wrong with it, as a sentence without a full stop. */
const char *nat64_read(const char *text, struct nat64 *out);

enum nat64_carried {
	NAT64_NOT, /* the address is not of the prefix */
	NAT64_CARRIED, /* *v4 is what it carries */
	NAT64_BROKEN, /* it is of the prefix, and bits that have to be zero are not */
};

enum nat64_carried nat64_decode(const struct nat64 *prefix, const uint32_t word[4], uint32_t *v4);

#endif
