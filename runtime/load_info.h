/* SPDX-License-Identifier: MIT */
/* BTF of an artefact: what lets the verifier and bpftool show lines of the profile. */
#ifndef CAVE_RUNTIME_LOAD_INFO_H
#define CAVE_RUNTIME_LOAD_INFO_H

#include "bpf/artefact.h"
#include "runtime/load_bpf.h"
#include "runtime/load_btf.h"

struct load_info {
	int fd; /* of the BTF in the kernel; -1: the artefact has none, or the kernel does not take it */
	struct load_btf btf; /* where it is there */
	const struct artefact_section *ext; /* .BTF.ext; NULL */
};

/* Loads the artefact's BTF.  It is an aid only: what cannot be had is left out. */
void load_info_open(const struct artefact *a, struct load_info *out);

/*
 * Puts function and line records of a program, of `section`, and of the functions behind it into what it is loaded
 * with, as the kernel wants them: offsets are in instructions, not bytes.  The records are of malloc() and go into
 * records[2], to be freed by the caller.
 */
void load_info_fill(const struct load_info *info, const char *section, const struct artefact_whole *whole,
		    union bpf_attr *attr, void *records[2]);

void load_info_close(struct load_info *info);

#endif
