/* SPDX-License-Identifier: MIT */
/* caverun --prepare, --list and --forget. */
#ifndef CAVE_RUNTIME_MAIN_KEPT_H
#define CAVE_RUNTIME_MAIN_KEPT_H

#include "cave.h"
#include "runtime/options.h"

/* Does it; *status is the exit status if all went well. */
enum cave_code main_kept(const struct options *o, int *status, struct cave_error *error);

#endif
