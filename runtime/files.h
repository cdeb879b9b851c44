/* SPDX-License-Identifier: MIT */
/*
 * The files that a policy grants, resolved once: a Landlock ruleset for what may be opened, and the list of
 * folders that stay writable in the private mount namespace.
 */
#ifndef CAVE_RUNTIME_FILES_H
#define CAVE_RUNTIME_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/artefact.h"
#include "runtime/folders.h"
#include "runtime/memory.h"
#include "runtime/program.h"
#include "runtime/report.h"
#include "runtime/ruleset.h"

/* A mount that stays writable.  The child finds it again by its path, and must find this very file. */
struct writable {
	const char *path; /* canonical */
	dev_t dev;
	ino_t ino;
	bool execute; /* what is in it may be executed, and mapped as code */
};

/* A path of /proc/self, or a private /dev/shm: only the child can open the tool's own. */
struct own_path {
	const char *path;
	uint64_t rights; /* if it is a folder; a file gets READ_FILE */
	bool optional;
};

/* What is covered in the private mounts: so that it cannot be opened, or by itself, read-only. */
struct denied {
	const char *path; /* canonical */
	dev_t dev;
	ino_t ino;
	bool folder, only_write;
};

struct denial; /* known to denials.c */

enum { FILES_OF_PROGRAM = PROGRAM_SCRIPTS_MAX + 3 }; /* itself, its loader, the scripts before it, --script */

struct files {
	int ruleset; /* all rules but those of own[]; -1 where rule[] is kept in its place */
	struct rule *rule; /* else those whose descriptors are still to be closed */
	size_t nrules;
	struct writable *writable; /* parents before what lies in them */
	size_t nwritable;
	struct own_path *own;
	size_t nown;
	struct denied *denied; /* what is read-only before what cannot be opened, which may lie in it */
	size_t ndenied;
	const char **absent; /* denied within a grant, and not there: must not be at the start either */
	size_t nabsent;
	const struct denial *denial; /* all of the policy's */
	size_t ndenials;
	bool shm; /* a private /dev/shm */
};

struct files_request {
	const struct artefact *artefact;
	int artefact_fd; /* -1: the policy is no file */
	const int *bound; /* other files that bind the tool, which no write grant may cover; -1 is none */
	size_t nbound;
	const struct folders *folders;
	const struct program *program;
	const char *script; /* canonical, or NULL */
	const char *script_named; /* as the caller named it */
	struct program_file script_seen;
	int landlock_abi;
	bool keep; /* for many starts */
};

/* Resolves every grant by descriptor.  *out is closed by files_close(), which after a failure does nothing. */
bool files_prepare(struct memory *m, const struct files_request *request, struct files *out,
		   struct refusal *r);

/* Refuses descriptors that lead to files, or pipes with a name, in what is denied, or where that cannot be told. */
bool files_check_handed(struct memory *m, const struct files *f, const int *fd, size_t n, struct refusal *r);

void files_close(struct files *f);

/* True if paths lead to other mounts in the tool's namespace than outside. */
bool files_mount(const struct files *f);

/* The version of Landlock's interface, 0 if the kernel has none or it is switched off. */
int landlock_abi(void);

#endif
