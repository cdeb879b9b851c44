/* SPDX-License-Identifier: MIT */
#include "compiler/dump_hosts.h"

#include <netinet/in.h>

static void put_name(FILE *to, const struct host_text *n)
{
	fprintf(to, " %s%.*s", n->below ? "*." : "", (int)n->length, n->name);
}

static void put_ports(FILE *to, const struct hosts *h, unsigned class)
{
	struct cave_host_ports p;
	unsigned last = 0;

	for (size_t at = 0; hosts_ports(h, class, &at, &p);) {
		if (p.protocol != last)
			fprintf(to, "%s %s", last ? "," : ":", p.protocol == IPPROTO_TCP ? "tcp" : "udp");
		last = p.protocol;
		fprintf(to, p.lo == p.hi ? " %u" : " %u-%u", p.lo, p.hi);
	}
}

void dump_hosts(FILE *to, const struct hosts *h)
{
	size_t at = h->grants;

	for (uint32_t i = 0; i < h->ngrants; i++) {
		const struct cave_host_grant *g = hosts_grant(h, &at);
		struct host_text name = hosts_name(h, &at);

		fputs("  lookup", to);
		put_name(to, &name);
		for (unsigned k = 0; k < g->excepts; k++) {
			name = hosts_name(h, &at);
			fputs(k ? "" : " except", to);
			put_name(to, &name);
		}
		put_ports(to, h, g->class);
		fprintf(to, "; addresses of place %u\n", g->place);
	}
	for (uint32_t i = 0; i < h->ndenials; i++) {
		struct host_text name = hosts_name(h, &at);

		fputs("  no lookup", to);
		put_name(to, &name);
		fputc('\n', to);
	}
}
