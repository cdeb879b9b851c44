/* SPDX-License-Identifier: MIT */
/*
 * What the parts of files_prepare() share: files.c opens and judges, writable.c and denials.c say what the private
 * mounts are.
 */
#ifndef CAVE_RUNTIME_FILES_PRIVATE_H
#define CAVE_RUNTIME_FILES_PRIVATE_H

#include <sys/stat.h>

#include "runtime/files.h"
#include "runtime/place.h"

/* A folder or file of the policy's that may be executed, and that a write grant may concern. */
struct executable {
	const char *path; /* canonical */
	const char *shown;
	bool linked; /* an absolute path that a link leads elsewhere */
	struct place place;
	dev_t dev;
	ino_t ino;
};

struct denial;

/* A path that led through a link. */
struct linked {
	const char *path;
	const char *shown;
	int base; /* the folder that it is relative to; -1: as the caller named it */
	dev_t dev;
	ino_t ino;
};

struct preparation {
	struct memory *memory;
	const struct files_request *request;
	struct files *files;
	struct refusal *refusal;
	struct stat root; /* of "/" */
	dev_t proc; /* the device of /proc; that of "/" if there is no /proc */
	int folder; /* the artefact's; -1 until it is needed */
	size_t spared; /* how many descriptors may stay open once their rules have been added */
	struct covered *writable; /* the write grants, in the order of the policy */
	size_t nwritable;
	struct executable *executable; /* in the order of the policy */
	size_t nexecutable;
	bool writes; /* the policy has write grants of its own */
	struct linked *linked;
	size_t nlinked;
	struct denial *denial; /* in the order of the policy */
	size_t ndenials;
	const char **granted; /* where grants lead, if there are denials */
	size_t ngranted;
	struct mounts mounts; /* read when it is needed */
	bool have_mounts;
};

/* One grant, opened. */
struct grant {
	const char *path; /* as it is opened */
	unsigned flags; /* CAVE_FILE_* */
	bool program; /* PROGRAM or its loader, which the policy does not name */
	bool direct; /* opened in /proc by a path without links */
	bool linked; /* by one with links, where that matters */
	const struct program_file *same; /* what it must be, having been looked at before; or NULL */
	int fd;
	struct stat st;
};

/* The grant as the profile spells it. */
const char *grant_shown(struct preparation *p, const struct grant *g);

/* Opens the artefact's folder as p->folder, and says where it is; `path` may be NULL. */
bool artefact_folder(struct preparation *p, const char **path);

bool read_mounts(struct preparation *p);

/* The path that leads to the policy file; NULL if none does, as to one that was deleted or is in memory only. */
const char *artefact_path(struct preparation *p);

/* A folder or file that the private mount namespace must leave writable. */
bool add_writable(struct preparation *p, const struct grant *g);

/* One that may be executed; after all write grants. */
bool add_executable(struct preparation *p, const struct grant *g);

/* PROGRAM or its loader: not what the tool may write, unless the policy says that it is executed. After all others. */
bool check_program(struct preparation *p, const struct grant *g);

/* Enters a mount of its own; shorter paths first: what lies in a folder is put in place after the folder. */
void add_mount(struct files *f, const struct writable *w);

/* The innermost of these mounts that the path lies in, or NULL. */
struct writable *enclosing(struct files *f, const char *path);

/* True also where it cannot be told. */
bool is_writable(struct preparation *p, const struct place *place);

/* Whether it has to be known if the grant leads through links. */
bool links_matter(const struct preparation *p, const struct grant *g);

/* Refuses what leads out of the write grants by a link that lies in one; after all write grants. */
bool check_links(struct preparation *p, const struct linked *l);

/* Where the denials lead; before all grants. */
bool find_denials(struct preparation *p);

/*
 * *denied: nothing of the grant is left, and it may be missing.  One that may not is refused.  Of a grant whose writing
 * is denied the rest is left.
 */
bool judge_denied(struct preparation *p, struct grant *g, bool *denied);

/* What is to be covered, and what cannot be kept; after everything else. */
bool settle_denials(struct preparation *p);

/* With a private /dev/shm nothing of the host's can be written there; after all write grants. */
bool check_shm(struct preparation *p);

/* Which private mounts may be executed from; after all write grants and executables. */
bool settle_executables(struct preparation *p);

#endif
