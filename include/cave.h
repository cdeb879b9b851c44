/* SPDX-License-Identifier: MIT */
/*
 * libcave: starts tools under compiled policies, for programs that start many.  docs/library.md is the guide.
 *
 *   cave_policy_open()  reads and checks an artefact            struct cave_policy
 *   cave_prepare()      does once what can be done once         struct cave_prepared
 *   cave_spawn()        starts one tool                         struct cave_tool
 *   cave_wait()         until it ends;  cave_tool_free()        nothing of it is left
 *
 * The library prints nothing, never ends the process, keeps no global state, and reads no environment but the one
 * that it is given.  What it cannot set up it refuses: then no tool has been started and nothing is left behind.
 *
 * Errors.  A function that can fail returns CAVE_OK or one of the codes of cave/codes.h, and then fills *error, which
 * may be NULL; what it would have returned through another pointer is untouched.  A code that a policy gives rise to
 * is the policy's or the host's; CAVE_FAILED names the step and the errno in the sentence.
 *
 * Threads.  Every function may be called from any thread, on different objects at the same time; a policy and a
 * prepared start may be shared by any number of threads that spawn.  One tool belongs to one thread at a time.  A
 * policy must stay until what was prepared from it is freed, and that until its tools are.
 *
 * Signals.  The library installs no handler.  The calling thread's signals are blocked while a tool is started, for
 * as long as posix_spawn() would.  A tool is an ordinary child that ends with SIGCHLD: a host that ignores SIGCHLD,
 * or reaps every child by waitpid(-1), loses its status (cave_wait() then says so).
 *
 * Children of a process, its user and group ids and its cgroup are seen as they are when cave_prepare() is called; a
 * host that changes them prepares anew, and so does the child of a fork(2): what was prepared and started before is the
 * parent's, starts nothing in the child, and is not freed there.
 */
#ifndef CAVE_H
#define CAVE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h> /* sigset_t, also where only standard C is asked for */
#include <sys/types.h>

#include "cave/codes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CAVE_API __attribute__((visibility("default")))

#define CAVE_ERROR_TEXT 1024 /* bytes, the NUL among them */

struct cave_error {
	enum cave_code code;
	int status; /* what caverun would exit with: 125; 126 or 127 where PROGRAM cannot be executed or is not found */
	int error; /* the errno of the step that failed; 0 where it is no call that failed */
	char text[CAVE_ERROR_TEXT]; /* one sentence, without a full stop or a newline */
};

/* --- the policy ----------------------------------------------------------------------------------- */

struct cave_policy;

/*
 * Reads the artefact that `path` names, a regular file of at most CAVE_ARTEFACT_MAX bytes (cave/artefact.h), and
 * checks it whole: digest first, then everything that is in it.  From then on only the copy counts.  The file itself
 * stays open (O_PATH), since relative grants are relative to its folder and no write grant may cover it.
 *
 * CAVE_POLICY_INVALID: damaged, inconsistent, or not for this version.  CAVE_FAILED: it cannot be read, or has no
 * filter for this machine.
 */
CAVE_API enum cave_code cave_policy_open(const char *path, struct cave_policy **out, struct cave_error *error);

/* The same from a descriptor, which is read from its beginning, and stays the caller's. */
CAVE_API enum cave_code cave_policy_open_fd(int fd, struct cave_policy **out, struct cave_error *error);

/* The same from memory, which is copied.  Such a policy has no folder: one with relative grants cannot be prepared. */
CAVE_API enum cave_code cave_policy_open_memory(const void *data, size_t size, struct cave_policy **out,
						struct cave_error *error);

/*
 * Chooses a profile that is nested in the policy, by its name; the name of the outermost one chooses that.  What was
 * prepared before is not changed by it.  If it fails, the policy is as it was.
 */
CAVE_API enum cave_code cave_policy_choose(struct cave_policy *policy, const char *name, struct cave_error *error);

/* NULL is allowed, here and in the other functions that free. */
CAVE_API void cave_policy_free(struct cave_policy *policy);

/* The profile's name and the policy's identity, 32 bytes (cave/artefact.h); both live as long as the policy. */
CAVE_API const char *cave_policy_name(const struct cave_policy *policy);
CAVE_API const unsigned char *cave_policy_identity(const struct cave_policy *policy);

/* --- preparing ------------------------------------------------------------------------------------ */

struct cave_prepared;

/*
 * The host's own rule on policies, asked after the operator's and before anything is made.  Returns CAVE_OK, or a
 * code (CAVE_POLICY_UNTRUSTED, most often) after it has written a sentence of at most CAVE_ERROR_TEXT bytes, NUL
 * included, to `why`.
 */
typedef enum cave_code (*cave_accept)(void *context, const struct cave_policy *policy, char why[CAVE_ERROR_TEXT]);

/* A folder that a policy calls by a name of its own (`read folder in`). */
struct cave_folder {
	const char *name, *path;
};

/* Strings are copied.  Fields that are zero have no effect. */
struct cave_options {
	size_t size; /* sizeof(struct cave_options): tells which fields the caller knows */
	const char *program; /* sought in `search` if it has no slash; the one field that must be given */
	const char *search; /* the host's PATH; NULL: /usr/local/bin:/usr/bin:/bin */
	const char *script; /* becomes readable; its absolute path is the tool's first argument */
	const char *workspace; /* the folder that the policy calls workspace; NULL: a fresh one for each tool */
	const char *tmpdir; /* where fresh ones are made; NULL or relative: /tmp */
	const char *directory; /* where the tool starts; NULL: its workspace, else the host's current one */
	const char *user; /* of /etc/passwd; root only.  NULL: whom the calling thread is */
	const char *loader; /* the path of cave-load, for policies that grant network; NULL: see docs/library.md */
	const char *config; /* the operator's rules, a file or a folder; NULL: /etc/cave, which may be without them */
	const char *record; /* starts and ends are appended to this file (docs/operator.md), beside the operator's */
	cave_accept accept; /* the host's rule; NULL: none */
	void *context; /* for accept() */
	const char *home; /* the host's HOME, for policies that name the home folder; NULL: of /etc/passwd.  With
			   * `user` it is always that user's of /etc/passwd. */
	const struct cave_folder *folders; /* exactly those that the policy names; copied */
	size_t nfolders;
	unsigned flags; /* CAVE_PREPARE_* */
};

enum {
	CAVE_PREPARE_ONCE = 1u << 0, /* one tool is started: nothing is kept that only later ones would use */
	/* The network programs are loaded for this one alone and removed with it: what they count is of its tools. */
	CAVE_PREPARE_OWN = 1u << 1,
};

/*
 * Keeps the operator's rules, checks what this kernel and these privileges can enforce, and does everything that need
 * not be done for each start: PROGRAM, its interpreter and the scripts that lead to it are resolved, as are the
 * policy's files, each judged by what was opened.  What is kept open is listed in docs/library.md.
 *
 * What has been resolved is what counts.  Where a file that is granted, or PROGRAM, is replaced by another one under
 * its name, later starts fail (they never get the new one): prepare anew.
 *
 * Codes: CAVE_CREDENTIAL_*, CAVE_POLICY_UNTRUSTED, CAVE_NETWORK_UNAVAILABLE, CAVE_READ_ROOT, CAVE_READ_ESCAPES,
 * CAVE_POLICY_INVALID, CAVE_FAILED; `status` is 126 or 127 where PROGRAM is at fault.
 */
CAVE_API enum cave_code cave_prepare(struct cave_policy *policy, const struct cave_options *options,
				     struct cave_prepared **out, struct cave_error *error);

/* Frees it; all its tools must have been freed. */
CAVE_API void cave_prepared_free(struct cave_prepared *prepared);

/*
 * The control group that the network programs are attached to, a descriptor that is the library's; -1 where the policy
 * grants no network.  What they have counted can be read by it (docs/egress.md).
 */
CAVE_API int cave_prepared_group(const struct cave_prepared *prepared);

/* The path of the `i`th script whose #! line leads to what is executed, from 0; NULL where there is none. */
CAVE_API const char *cave_prepared_script(const struct cave_prepared *prepared, size_t i);

/* --- starting ------------------------------------------------------------------------------------- */

struct cave_tool;

enum {
	/*
	 * The calling thread itself starts the tool, and lasts as long as the tool does: when that thread ends, the
	 * kernel kills the tool (prctl(2), PR_SET_PDEATHSIG: "parent" is the thread).  Without this flag the tool is
	 * started by a thread that belongs to the prepared start, so that a host's threads may come and go.
	 */
	CAVE_SPAWN_FROM_CALLER = 1u << 0,
	/*
	 * The caller waits in cave_wait() until the tool has ended, and that call keeps the limits of the policy that
	 * the kernel does not keep by itself.  Without this flag a thread that belongs to the prepared start keeps them.
	 */
	CAVE_SPAWN_UNGUARDED = 1u << 1,
	/*
	 * Where the policy limits memory or tasks by control groups of version 2, of which one with processes in it
	 * hands no controller down: the calling process, and those of its children that are in its group, may be moved
	 * to another one beneath it until cave_tool_free(), if no other process is in that group.  One tool at a time.
	 */
	CAVE_SPAWN_ASIDE = 1u << 2,
};

/*
 * A sentence about each refusal of a system call, and of a file by its path, as it happens: each sentence once.  It is
 * called from a thread of the library, which answers these calls of the tool, so that they take longer; the answers are
 * those of the filter, and if nobody can give them any more the calls fail.  Network destinations are not among them.
 */
struct cave_trace {
	void (*refused)(void *context, const char *sentence);
	void *context;
};

struct cave_spawn {
	size_t size; /* sizeof(struct cave_spawn) */
	char *const *argv; /* argv[0] and the arguments, NULL at the end; a script is put after argv[0] */
	/*
	 * The host's environment, NULL at the end: what the policy passes, and the credentials that it grants, are
	 * taken from there, and nothing else is.  NULL: there is none.
	 */
	char *const *environment;
	/* What the tool gets as 0, 1 and 2; -1 is /dev/null.  Regular files, pipes, terminals, /dev/null, connected
	 * unix stream sockets: anything else is refused, as it would be a way round the policy. */
	int standard[3];
	const int *keep; /* kept open under their own numbers, above 2, ascending; of the same kinds */
	size_t nkeep; /* at most CAVE_KEEP_MAX */
	const sigset_t *mask; /* the tool's signal mask; NULL: nothing is blocked */
	unsigned flags; /* CAVE_SPAWN_* */
	const struct cave_trace *trace; /* must stay until the tool is freed; NULL: none */
};

#define CAVE_KEEP_MAX 64

/*
 * Starts the tool.  On success the tool runs and is the caller's, who ends with cave_tool_free().  Descriptors are
 * the host's and stay open in it; they must not be closed or reused before this returns.
 *
 * Codes: CAVE_CREDENTIAL_MISSING, CAVE_NETWORK_UNAVAILABLE (what was prepared has been tampered with), CAVE_FAILED.
 */
CAVE_API enum cave_code cave_spawn(struct cave_prepared *prepared, const struct cave_spawn *spawn,
				   struct cave_tool **out, struct cave_error *error);

/*
 * The tool's process id, as the host sees it.  Of a policy that lets it have other processes: that of the first one of
 * their namespace, which passes on to the tool what signals it gets; with SIGKILL all end.
 */
CAVE_API pid_t cave_tool_pid(const struct cave_tool *tool);

/* A pidfd (pidfd_open(2)): readable once the tool has ended.  It is the library's; -1 before Linux 5.3. */
CAVE_API int cave_tool_pidfd(const struct cave_tool *tool);

struct cave_result {
	size_t size; /* set by the caller: sizeof(struct cave_result) */
	/*
	 * CAVE_OK, or the limit that ended the tool: CAVE_TIMEOUT, CAVE_OUTPUT_LIMIT, CAVE_FAILED for its memory.
	 * cave_tool_verdict() has a sentence about it.
	 */
	enum cave_code code;
	int status; /* as waitpid() gives it; -1 if another part of the host has reaped the tool */
	uint64_t refused_calls, refused_files; /* as far as they are traced */
	uint64_t started_ns, ended_ns; /* CLOCK_MONOTONIC, when it was started and seen to have ended */
};

/*
 * Waits until the tool has ended, for at most `timeout_ms` milliseconds (-1: as long as it takes), and reaps it.
 * *ended tells whether it has; *result is filled if so, and may be asked for again.
 */
CAVE_API enum cave_code cave_wait(struct cave_tool *tool, int timeout_ms, bool *ended, struct cave_result *result,
				  struct cave_error *error);

/* CAVE_OK, or the code of the limit that ended the tool, which then is in *error with 124 for a status. */
CAVE_API enum cave_code cave_tool_verdict(const struct cave_tool *tool, struct cave_error *error);

/* Sends a signal to the tool, and to no other process that may have its number by now. */
CAVE_API enum cave_code cave_tool_signal(struct cave_tool *tool, int signal, struct cave_error *error);

/*
 * Ends the tool if it still runs, and removes what was made for it: a fresh workspace, its cgroup.  The tool is freed
 * in any case.  CAVE_FAILED says what could not be removed.
 */
CAVE_API enum cave_code cave_tool_free(struct cave_tool *tool, struct cave_error *error);

/* --- policies that are kept ------------------------------------------------------------------------ */

/*
 * The programs of a policy that grants network are loaded once, by whichever process starts it first, and attached to a
 * control group that is named after the policy, beneath the caller's own.  They stay there, for every process of the
 * same user in the same control group, until nobody has started anything under the policy for an hour; then the next
 * start under any policy removes them.  Nothing is removed while it is in use: cave_prepare() to cave_prepared_free().
 */

/* Does that without starting anything; options->program and what concerns a tool is not looked at. */
CAVE_API enum cave_code cave_keep(struct cave_policy *policy, const struct cave_options *options,
				  struct cave_error *error);

struct cave_kept {
	size_t size; /* of what was filled in */
	const unsigned char *identity; /* 32 bytes; NULL: somebody is making it, or was killed before it was finished */
	const char *name; /* the profile's */
	const char *path; /* of the control group */
	bool used; /* by a process, which may be between two tools */
	uint64_t unused_s; /* seconds since the last start, to a minute */
};

/* Calls seen() for each, as long as it returns true; what *kept points to is valid until it returns. */
typedef bool (*cave_kept_seen)(void *context, const struct cave_kept *kept);
CAVE_API enum cave_code cave_kept_list(cave_kept_seen seen, void *context, struct cave_error *error);

/*
 * Removes what is kept of the policy, or of every one if that is NULL, and what killed runs have left.  *gone is how
 * many were removed, *busy how many are in use and stay.
 */
CAVE_API enum cave_code cave_kept_forget(const struct cave_policy *policy, unsigned *gone, unsigned *busy,
					 struct cave_error *error);

/* The version of the library: "0.1.0". */
CAVE_API const char *cave_version(void);

#ifdef __cplusplus
}
#endif

#endif
