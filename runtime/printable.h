/* SPDX-License-Identifier: MIT */
/* Text that is shown on a terminal, and in which names stand that others have chosen. */
#ifndef CAVE_RUNTIME_PRINTABLE_H
#define CAVE_RUNTIME_PRINTABLE_H

/*
 * Puts '?' where a terminal would obey: control characters, those of ISO 6429 in UTF-8 (C1, which begin sequences like
 * those that begin with ESC) or in single bytes among them, and what reverses the direction of writing.
 */
void printable(char *text);

#endif
