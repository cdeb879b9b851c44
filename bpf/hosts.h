/* SPDX-License-Identifier: MIT */
/*
 * The record CAVE_RECORD_HOSTS of a manifest (cave/artefact.h): which names a policy grants, and where their addresses
 * may be.  What the resolver of a run reads; also the compiler, to prove what it has written.
 */
#ifndef CAVE_BPF_HOSTS_H
#define CAVE_BPF_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cave/artefact.h"

/* A checked view: everything in it lies inside the record. */
struct hosts {
	const uint8_t *data; /* the record's payload */
	uint32_t nclasses, nplaces, nshut, ngrants, ndenials;
	size_t classes, places, shut, grants, denials; /* where each begins */
};

/* An address in host order, most significant word first; of IPv4 only the last word counts. */
struct host_address {
	bool six;
	uint32_t word[4];
};

/* Checks the `n` bytes at `data`, aligned to 4.  Returns false, and leaves *out alone, if they are no such record. */
bool hosts_open(const void *data, size_t n, struct hosts *out);

/* True if `name`, in lower case and without a dot at the end, may not be looked up whatever grants it. */
bool hosts_denied(const struct hosts *h, const char *name);

/* A grant that speaks of a name. */
struct host_match {
	unsigned class; /* below CAVE_HOST_CLASSES */
	unsigned place;
};

/* The grants that speak of `name` in turn: *at is 0 before the first; false after the last. */
bool hosts_match(const struct hosts *h, const char *name, size_t *at, struct host_match *out);

/* True if the address is in that place; *global if the place is that of public addresses, not of the host's own. */
bool hosts_in_place(const struct hosts *h, unsigned place, const struct host_address *a, bool *global);

/* True if a denial by address covers the IPv4 address, for whatever port. */
bool hosts_shut(const struct hosts *h, uint32_t v4);

/* The port ranges of a class in turn, as above. */
bool hosts_ports(const struct hosts *h, unsigned class, size_t *at, struct cave_host_ports *out);

/* --- the record as it stands, for who shows it ----------------------------------------------------- */

struct host_text {
	bool below;
	const char *name; /* `length` bytes, no NUL */
	size_t length;
};

/* The name at *at, which is then behind it: of a denial from h->denials on, h->ndenials in all; of a grant as below. */
struct host_text hosts_name(const struct hosts *h, size_t *at);

/* The grant at *at, from h->grants on, h->ngrants in all; its name and then its excepts follow. */
const struct cave_host_grant *hosts_grant(const struct hosts *h, size_t *at);

#endif
