/* SPDX-License-Identifier: MIT */
/* What the runtime itself may do. */
#ifndef CAVE_RUNTIME_PRIVILEGE_H
#define CAVE_RUNTIME_PRIVILEGE_H

#include <stdbool.h>

/* True if the calling thread has the capability (CAP_*) in effect. */
bool has_capability(unsigned number);

#endif
