/* SPDX-License-Identifier: MIT */
/*
 * Which wildcards are bounded.  Below a public suffix anyone can have a name, and so can whoever runs the tool's
 * code: `*.github.io` is a grant of every page that anyone publishes there.  Names of some zones are addresses in
 * disguise: `*.nip.io` reaches every address there is.
 */
#include <idn2.h>
#include <libpsl.h>
#include <string.h>

#include "compiler/egress.h"
#include "compiler/egress_registry.h"
#include "compiler/hosts.h"

static const struct span nowhere;

/* The list's text (https://publicsuffix.org), for what libpsl cannot be asked: is there a suffix below this name? */
__asm__(".pushsection .rodata\n"
	".global public_suffixes, public_suffixes_end\n"
	"public_suffixes:\n"
	".incbin \"/usr/share/publicsuffix/public_suffix_list.dat\"\n"
	"public_suffixes_end:\n"
	".byte 0\n"
	".popsection\n");
extern const char public_suffixes[], public_suffixes_end[];

/* Zones that answer with an address that stands in the name, or with one that whoever asks has chosen. */
static const char *const address_zones[] = {
	"1u.ms",	  "backname.io",      "in-addr.arpa", "ip6.arpa", "ip6.name", "lacolhost.com", "local-ip.co",
	"local-ip.sh",	  "localhost.direct", "localtest.me", "lvh.me",	  "nip.io",   "plex.direct",   "rbndr.us",
	"rebind.network", "sslip.io",	      "traefik.me",   "vcap.me",  "xip.io",   "xip.name",
};

/* A line of the list that ends in `.base` is a suffix below it; comments hold no such line. */
static bool line_below(const char *base)
{
	size_t n = strlen(base);
	const char *at = public_suffixes, *end = public_suffixes_end;

	while ((at = memmem(at, (size_t)(end - at), base, n))) {
		const char *line = at;

		while (line > public_suffixes && line[-1] != '\n')
			line--;
		if (at > line && at[-1] == '.' && (at + n == end || at[n] == '\n' || at[n] == '\r') &&
		    strncmp(line, "//", 2) != 0 && *line != '!')
			return true;
		at++;
	}
	return false;
}

/* The list has international names as they are written, profiles have their A-labels. */
static bool suffix_below(const char *base)
{
	char *written = NULL;
	bool below = line_below(base);

	if (!below && strstr(base, "xn--") && idn2_to_unicode_8z8z(base, &written, 0) == IDN2_OK) {
		below = line_below(written);
		idn2_free(written);
	}
	return below;
}

static bool in_zone(const char *name, const char *zone)
{
	size_t n = strlen(name), m = strlen(zone);

	return n >= m && strcmp(name + n - m, zone) == 0 && (n == m || name[n - m - 1] == '.');
}

bool host_bounded(struct diags *d, const struct host_pattern *p, const char *text)
{
	const psl_ctx_t *psl = psl_builtin();
	const char *why = NULL;
	struct diag *e;

	if (!p->below)
		return true;
	for (size_t i = 0; i < sizeof address_zones / sizeof *address_zones; i++)
		if (in_zone(p->name, address_zones[i]) || in_zone(address_zones[i], p->name))
			why = "names there encode addresses: it reaches any address that the tool likes";
	if (!psl || psl_is_public_suffix2(psl, p->name, PSL_TYPE_ANY))
		why = "anyone can publish there";
	else if (!why && suffix_below(p->name))
		why = "anyone can publish at some of the names below it";
	if (!why)
		return true;
	e = diag_error(d, CAVE_EGRESS_UNBOUNDED, p->at, "`%s` is unbounded: %s", text, why);
	diag_note(d, e, nowhere, "name the hosts, or a wildcard below a name that is one owner's: *.%s.%s", "example",
		  p->name);
	return false;
}

bool host_place_check(struct diags *d, const struct net_operand *place)
{
	struct addr_range range = { place->lo, place->hi };

	if (egress_one_operand(place->family, place->lo, place->hi))
		return true;
	for (size_t i = 0; i < metadata_address_count; i++) {
		const struct metadata_address *m = &metadata_addresses[i];

		if (m->family != place->family || !addr_within((struct addr_range){ m->addr, m->addr }, range))
			continue;
		diag_note(d,
			  diag_error(d, CAVE_METADATA_ADDRESS, place->at, "this holds the metadata address %s (%s)",
				     addr_show(m->family, m->addr).s, m->what),
			  nowhere, "name the prefixes beside it, or the address alone");
		return false;
	}
	diag_error(d, CAVE_VALUE, place->at,
		   "this holds addresses that may only be named singly: link-local, multicast, or what carries a "
		   "metadata address");
	return false;
}
