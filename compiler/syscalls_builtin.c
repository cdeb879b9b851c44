/* SPDX-License-Identifier: MIT */
/* The tables of the built-in sets, as the build has made them. */
#include "compiler/syscalls_builtin.h"

#include "builtin_tables.h"
