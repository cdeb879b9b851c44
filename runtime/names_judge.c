/* SPDX-License-Identifier: MIT */
#include "runtime/names_judge.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- whose address it is -------------------------------------------------------------------------- */

static bool binds(const struct sockaddr *at, socklen_t size)
{
	int fd = socket(at->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	error = bind(fd, at, size) ? errno : 0;
	close(fd);
	return error != EADDRNOTAVAIL;
}

static bool binds_address(const struct host_address *a)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr = { htonl(a->word[3]) } };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	for (int i = 0; i < 4; i++) {
		uint32_t word = htonl(a->word[i]);

		memcpy(six.sin6_addr.s6_addr + 4 * i, &word, sizeof word);
	}
	return a->six ? binds((struct sockaddr *)&six, sizeof six) : binds((struct sockaddr *)&four, sizeof four);
}

/* True if an interface has the address; true as well if that cannot be known. */
static bool is_listed(const struct host_address *a)
{
	uint32_t raw[4];
	struct ifaddrs *list;
	bool listed = false;

	for (int i = 0; i < 4; i++)
		raw[i] = htonl(a->word[i]);
	if (getifaddrs(&list))
		return true;
	for (const struct ifaddrs *i = list; i && !listed; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != (a->six ? AF_INET6 : AF_INET))
			continue;
		listed = a->six ? !memcmp(&((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr, raw, sizeof raw)
				: !memcmp(&((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, raw + 3, 4);
	}
	freeifaddrs(list);
	return listed;
}

/*
 * True if it is an address of this host: one that a socket can be bound to, which is asked more quickly than what
 * addresses there are.  Where any can be (ip_nonlocal_bind), and so one that nobody has, that says nothing.
 */
static bool is_own(const struct host_address *a)
{
	static const struct host_address nobody4 = { .word = { 0, 0, 0, 0xf0000001 } }; /* RFC 1112, 4: reserved */
	static const struct host_address nobody6 = { .six = true, .word = { 0x01000000, 0, 0, 1 } }; /* RFC 6666 */

	return binds_address(a) && (!binds_address(a->six ? &nobody6 : &nobody4) || is_listed(a));
}

/* The address that the rules are about: what a translator carries, and what is mapped, is IPv4.  False: about none. */
static bool judged(const struct names_judge *j, const struct host_address *a, struct host_address *out, bool *carried)
{
	*out = *a;
	*carried = false;
	for (size_t i = 0; a->six && i <= j->nnat64; i++) {
		uint32_t v4;
		enum nat64_carried c = nat64_decode(i ? &j->nat64[i - 1] : &nat64_well_known, a->word, &v4);

		if (c == NAT64_BROKEN)
			return false;
		if (c == NAT64_CARRIED) {
			*out = (struct host_address){ .word = { 0, 0, 0, v4 } };
			*carried = true;
			return true;
		}
	}
	return true;
}

/* The classes of the grants that speak of the name and take the address. */
static uint32_t classes_of(const struct names_judge *j, const char *name, const struct host_address *a)
{
	struct host_address who;
	struct host_match match;
	uint32_t classes = 0;
	bool carried, global, own = false, asked = false;

	/* The programs know what is denied by the address that is dialled, not what an operator's prefix carries. */
	if (!judged(j, a, &who, &carried) || (carried && hosts_shut(&j->hosts, who.word[3])))
		return 0;
	for (size_t at = 0; hosts_match(&j->hosts, name, &at, &match);) {
		if (!hosts_in_place(&j->hosts, match.place, &who, &global))
			continue;
		if (global && !asked)
			own = is_own(&who) || (carried && is_own(a));
		asked = asked || global;
		if (!global || !own)
			classes |= 1u << match.class;
	}
	return classes;
}

/* --- how many, and how long ----------------------------------------------------------------------- */

/* FNV-1a.  Names that a forger chose to have one digest have their bounds in common. */
static uint64_t digest(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return h;
}

/* Until when names have the address, by class. */
static void sum_up(const struct names_judge *j, const uint32_t address[4], uint64_t until[CAVE_HOST_CLASSES])
{
	memset(until, 0, CAVE_HOST_CLASSES * sizeof *until);
	for (size_t i = 0; i < j->npairs; i++) {
		const struct names_pair *p = &j->pair[i];

		if (memcmp(p->address, address, sizeof p->address) != 0)
			continue;
		for (int c = 0; c < CAVE_HOST_CLASSES; c++)
			if (p->classes >> c & 1 && until[c] < p->expiry)
				until[c] = p->expiry;
	}
}

/* Takes away the grace of the name, or with `any` of any name, whose record has been over for longest. */
static bool make_room(struct names_judge *j, uint64_t name, bool any, uint64_t now, struct names_verdict *out)
{
	struct names_pair *oldest = NULL;

	for (size_t i = 0; i < j->npairs; i++) {
		struct names_pair *p = &j->pair[i];

		if ((any || p->name == name) && p->over <= now && (!oldest || p->over < oldest->over))
			oldest = p;
	}
	if (!oldest)
		return false;
	out->taken = true;
	memcpy(out->address, oldest->address, sizeof out->address);
	*oldest = j->pair[--j->npairs];
	sum_up(j, out->address, out->until);
	return true;
}

/* Drops what has gone; how many the name has. */
static size_t drop_gone(struct names_judge *j, uint64_t name, uint64_t now)
{
	size_t of_name = 0, alive = 0;

	for (size_t i = 0; i < j->npairs; i++) {
		if (j->pair[i].expiry <= now)
			continue;
		of_name += j->pair[i].name == name;
		j->pair[alive++] = j->pair[i];
	}
	j->npairs = alive;
	return of_name;
}

/* The pair, a new one if need be; NULL if there is no room for one more. */
static struct names_pair *pair_for(struct names_judge *j, uint64_t name, const uint32_t address[4], uint64_t now,
				   struct names_verdict *out)
{
	bool full;

	if (!j->pair)
		j->pair = calloc(CAVE_RESOLVE_PER_RUN, sizeof *j->pair);
	if (!j->pair)
		return NULL;
	for (size_t i = 0; i < j->npairs; i++)
		if (j->pair[i].name == name && j->pair[i].expiry > now &&
		    !memcmp(j->pair[i].address, address, sizeof j->pair[i].address))
			return &j->pair[i];
	full = drop_gone(j, name, now) >= CAVE_RESOLVE_PER_NAME;
	if ((full || j->npairs == CAVE_RESOLVE_PER_RUN) && !make_room(j, name, !full, now, out))
		return NULL;
	j->pair[j->npairs] = (struct names_pair){ .name = name };
	memcpy(j->pair[j->npairs].address, address, sizeof j->pair[j->npairs].address);
	return &j->pair[j->npairs++];
}

static uint64_t expiry_of(uint32_t ttl, uint64_t now)
{
	if (ttl == NAMES_FOREVER)
		return UINT64_MAX;
	ttl = ttl < CAVE_RESOLVE_TTL_LEAST ? CAVE_RESOLVE_TTL_LEAST : ttl;
	ttl = ttl > CAVE_RESOLVE_TTL_MOST ? CAVE_RESOLVE_TTL_MOST : ttl;
	return now + ((uint64_t)ttl + CAVE_RESOLVE_GRACE) * 1000000000u;
}

/* Of one reply none makes room for another, whatever it says. */
static uint64_t over_of(uint32_t ttl, uint64_t now)
{
	return ttl == NAMES_FOREVER ? UINT64_MAX : now + (ttl ? ttl : 1) * (uint64_t)1000000000u;
}

bool names_plain(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && !strchr("-_.", *c))
			return false;
	return *name != '\0';
}

int names_judge(struct names_judge *j, const char *name, const struct cave_resolve_address *a, uint64_t now,
		struct names_verdict *out)
{
	bool mapped = !a->word[0] && !a->word[1] && a->word[2] == 0xffff;
	struct host_address address = { .six = !mapped, .word = { 0, 0, 0, a->word[3] } };
	uint64_t expiry = expiry_of(a->ttl, now), over = over_of(a->ttl, now);
	struct names_pair *pair;
	struct host_match match;
	size_t at = 0;

	if (!mapped)
		memcpy(address.word, a->word, sizeof address.word);
	if (!names_plain(name) || hosts_denied(&j->hosts, name) || !hosts_match(&j->hosts, name, &at, &match) ||
	    (a->ttl == NAMES_FOREVER && j->ready))
		return EINVAL;
	*out = (struct names_verdict){ .classes = classes_of(j, name, &address) };
	if (!out->classes)
		return 0;
	pair = pair_for(j, digest(name), a->word, now, out);
	if (!pair)
		return ENOSPC;
	/* An earlier answer holds for as long as it said. */
	pair->expiry = expiry > pair->expiry ? expiry : pair->expiry;
	pair->over = over > pair->over ? over : pair->over;
	pair->classes |= out->classes;
	out->expiry = pair->expiry;
	return 0;
}

void names_judge_end(struct names_judge *j)
{
	free(j->pair);
	j->pair = NULL;
}
