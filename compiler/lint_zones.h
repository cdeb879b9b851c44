/* SPDX-License-Identifier: MIT */
/* Known zones: shared hosting, and networks whose addresses many names share. */
#ifndef CAVE_COMPILER_LINT_ZONES_H
#define CAVE_COMPILER_LINT_ZONES_H

#include <stdbool.h>

struct host_pattern;

struct zone {
	const char *name;
	const char *what; /* stands there: "a bucket of anyone's" */
	bool collects; /* what is sent there is for whoever asks: nothing else is its purpose */
};

/* What a granted pattern has of shared hosting; NULL: nothing that is known. */
const struct zone *zone_shared(const struct host_pattern *p);

/* The network that a name of the pattern is known to be served by; NULL: none. */
const char *zone_network(const struct host_pattern *p);

#endif
