/* SPDX-License-Identifier: MIT */
/* What /etc/hosts says of granted names. */
#ifndef CAVE_RUNTIME_NAMES_HOSTS_H
#define CAVE_RUNTIME_NAMES_HOSTS_H

#include "bpf/hosts.h"

/* The name is in lower case, without a dot at its end.  False: no more of them. */
typedef bool names_found(void *of, const char *name, const struct host_address *a);

/*
 * Calls found() for each address that the file gives to a name that is granted and not denied.  A file that cannot be
 * read says nothing.
 */
void names_hosts(const char *file, const struct hosts *granted, names_found *found, void *of);

/* The same, from the file's text, which is changed. */
void names_hosts_read(char *text, const struct hosts *granted, names_found *found, void *of);

#endif
