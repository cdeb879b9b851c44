/* SPDX-License-Identifier: MIT */
/* Why an ordinary user gets no user namespace on this host. */
#ifndef CAVE_RUNTIME_USERNS_H
#define CAVE_RUNTIME_USERNS_H

/* The setting that forbids it, with the narrow remedy, and "; " before it; "" if none is known. */
const char *userns_setting(void);

#endif
