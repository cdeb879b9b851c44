/* SPDX-License-Identifier: MIT */
#include "bpf/nat64.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 16, RESERVED = 8 /* the byte of bits 64 to 71: zero, and not a part of what is carried */ };

const struct nat64 nat64_well_known = { { 0x0064ff9b, 0, 0, 0 }, 96 };

static void to_bytes(const uint32_t word[4], uint8_t out[BYTES])
{
	for (int i = 0; i < BYTES; i++)
		out[i] = (uint8_t)(word[i / 4] >> (24 - i % 4 * 8));
}

static bool is_length(unsigned long n)
{
	return n == 96 || (n >= 32 && n <= 64 && n % 8 == 0);
}

const char *nat64_read(const char *text, struct nat64 *out)
{
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN], *end;
	uint32_t raw[4];
	unsigned long length;
	uint8_t byte[BYTES];

	if (!slash || (size_t)(slash - text) >= sizeof address || slash[1] < '0' || slash[1] > '9')
		return "a prefix is an IPv6 address, a slash and a length";
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	length = strtoul(slash + 1, &end, 10);
	if (*end || inet_pton(AF_INET6, address, raw) != 1)
		return "a prefix is an IPv6 address, a slash and a length";
	if (!is_length(length))
		return "such a prefix has 32, 40, 48, 56, 64 or 96 bits (RFC 6052)";
	memcpy(byte, raw, sizeof byte);
	for (unsigned i = (unsigned)length / 8; i < BYTES; i++)
		if (byte[i])
			return "there are bits beyond the prefix";
	if (byte[RESERVED])
		return "bits 64 to 71 of such a prefix are zero (RFC 6052)";
	/* A shorter word would be mapped, compatible, or no address of a network's own. */
	if (!byte[0] && !byte[1])
		return "no network has this prefix";
	for (int i = 0; i < 4; i++)
		out->word[i] = ntohl(raw[i]);
	out->length = (unsigned)length;
	return NULL;
}

enum nat64_carried nat64_decode(const struct nat64 *prefix, const uint32_t word[4], uint32_t *v4)
{
	uint8_t want[BYTES], byte[BYTES];
	unsigned at = prefix->length / 8;
	uint32_t carried = 0;

	to_bytes(prefix->word, want);
	to_bytes(word, byte);
	if (memcmp(want, byte, at) != 0)
		return NAT64_NOT;
	for (int i = 0; i < 4; i++) {
		at += at == RESERVED;
		carried = carried << 8 | byte[at++];
	}
	if (byte[RESERVED])
		return NAT64_BROKEN;
	while (at < BYTES)
		if (byte[at++])
			return NAT64_BROKEN;
	*v4 = carried;
	return NAT64_CARRIED;
}
