/* SPDX-License-Identifier: MIT */
#include "runtime/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/sha256.h"
#include "runtime/attached.h"

/* The number changes with the meaning of what is kept: releases beside each other do not share. */
static const char prefix[] = "cave-1-";

enum { NAME_BYTES = 16, NAME_DIGITS = 2 * NAME_BYTES, TRIES = 32 };

void kept_init(struct kept *k)
{
	*k = (struct kept){ .own = { .fd = -1, .parent = -1 }, .group = { .fd = -1, .parent = -1 }, .freeze = -1 };
}

static void close_group(struct kept *k)
{
	if (k->group.fd >= 0)
		close(k->group.fd);
	if (k->freeze >= 0)
		close(k->freeze);
	k->group.fd = k->freeze = -1;
}

/* Held alone: nobody uses it, and who opened it meanwhile will find it gone. */
static bool remove_locked(int parent, const char *name, int fd)
{
	cgroup_sweep(fd);
	return !unlinkat(parent, name, AT_REMOVEDIR) || errno == ENOENT;
}

void kept_release(struct kept *k)
{
	if (k->alone && k->group.fd >= 0 && !flock(k->group.fd, LOCK_EX | LOCK_NB))
		remove_locked(k->own.fd, k->group.name, k->group.fd);
	close_group(k);
	if (k->own.fd >= 0)
		close(k->own.fd);
	k->own.fd = -1;
}

static bool is_kept_name(const char *name)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && strspn(name + n, "0123456789abcdef") == NAME_DIGITS &&
	       !name[n + NAME_DIGITS];
}

/* The programs differ with the host's name servers, and so must the name; `salt` makes it one that nobody else has. */
static const char *name_of(struct memory *m, const struct artefact *a, const struct egress_servers *servers,
			   const uint64_t salt[2])
{
	uint8_t digest[SHA256_SIZE], bytes[CAVE_DIGEST_SIZE + CAVE_RESOLVERS * 5 * sizeof(uint32_t) + 2 * sizeof *salt];
	char digits[NAME_DIGITS + 1];
	size_t n = CAVE_DIGEST_SIZE;

	memcpy(bytes, a->identity, CAVE_DIGEST_SIZE);
	for (size_t i = 0; i < servers->n; i++) {
		uint32_t word[5] = { servers->address[i].six };

		memcpy(word + 1, servers->address[i].word, 4 * sizeof *word);
		memcpy(bytes + n, word, sizeof word);
		n += sizeof word;
	}
	if (salt) {
		memcpy(bytes + n, salt, 2 * sizeof *salt);
		n += 2 * sizeof *salt;
	}
	memcpy(digest, bytes, sizeof digest);
	if (n > CAVE_DIGEST_SIZE)
		sha256(bytes, n, digest);
	for (size_t i = 0; i < NAME_BYTES; i++) {
		digits[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		digits[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	digits[NAME_DIGITS] = 0;
	return memory_printf(m, "%s%s", prefix, digits);
}

/* --- those that nobody uses ----------------------------------------------------------------------- */

static uint64_t age_s(const struct stat *st)
{
	time_t now = time(NULL);

	return now > st->st_mtime ? (uint64_t)(now - st->st_mtime) : 0;
}

static int open_group(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void collect_one(int parent, const char *name)
{
	int fd = open_group(parent, name);
	struct stat st;

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && age_s(&st) > KEPT_UNUSED_S)
		remove_locked(parent, name, fd);
	close(fd);
}

/* Calls each() with the names that are there. */
static int for_each(int parent, bool (*each)(void *context, int parent, const char *name), void *context)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = errno;
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!list) {
		if (copy >= 0)
			close(copy);
		return error;
	}
	while ((e = readdir(list)))
		if (is_kept_name(e->d_name) && !each(context, parent, e->d_name))
			break;
	closedir(list);
	return 0;
}

static bool collect_each(void *context, int parent, const char *name)
{
	(void)context;
	collect_one(parent, name);
	return true;
}

/*
 * The group's time is that of its last start, to KEPT_TOUCH_S: what is used often costs nothing.  Who sets it looks for
 * what others have left, so that this is done at most once in that time for each policy.
 */
static void touch(const struct kept *k, const struct stat *st)
{
	if (age_s(st) < KEPT_TOUCH_S)
		return;
	futimens(k->group.fd, NULL);
	cgroup_sweep(k->own.fd);
	for_each(k->own.fd, collect_each, NULL);
}

/* --- finding or making it ------------------------------------------------------------------------- */

static bool tampered(const struct kept *k, const char *what, struct refusal *r)
{
	return refuse(r, CAVE_NETWORK_UNAVAILABLE,
		      "what is kept of the policy in %s is not what was made there: %s; see caverun --forget",
		      k->group.path, what);
}

static bool check_owner(const struct kept *k, struct stat *st, struct refusal *r)
{
	if (fstat(k->group.fd, st))
		return cgroup_unavailable(r, errno, "cannot look at", k->group.path);
	if (st->st_uid != geteuid() || (st->st_mode & 07777) != 0700)
		return tampered(k, "its owner or mode was changed", r);
	return true;
}

/* A finished group has one program on each hook, a fresh one none. */
static bool is_bare(const struct kept *k)
{
	struct attached own;

	for (unsigned hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		if (attached_query(k->group.fd, (enum cave_hook)hook, false, &own) || own.n)
			return false;
	return true;
}

/*
 * The lock is ours alone, and nobody has finished the group: we do, or, if somebody began, remove it.  Who is killed
 * on the way leaves it so.  Sets *again if it is to be sought anew.
 */
static bool finish(struct memory *m, const struct artefact *a, const struct egress_servers *servers,
		   const struct egress_helper *helper, struct kept *k, bool *again, struct refusal *r)
{
	const struct cgroup c = { .parent = k->own.fd, .fd = k->group.fd, .path = k->group.path };

	*again = !is_bare(k);
	if (!*again && egress_load(m, a, servers, helper, &c, r)) {
		if (kept_record_read(k->group.fd, &k->record) && !flock(k->group.fd, LOCK_SH))
			return true;
		return tampered(k, "its record", r);
	}
	if (!remove_locked(k->own.fd, k->group.name, k->group.fd) && *again)
		return cgroup_unavailable(r, errno, "an unfinished one cannot be removed:", k->group.path);
	return *again;
}

/* One try; *again if another was removing it at the same time. */
static bool seek(struct memory *m, const struct artefact *a, const struct egress_servers *servers,
		 const struct egress_helper *helper, struct kept *k, bool *again, struct refusal *r)
{
	struct stat st;
	bool done;

	*again = false;
	k->group.fd = open_group(k->own.fd, k->group.name);
	if (k->group.fd < 0 && errno == ENOENT) {
		bool made = !mkdirat(k->own.fd, k->group.name, 0700);

		if (!made && errno != EEXIST)
			return cgroup_unavailable(r, errno, cgroup_why_not(errno), k->own.path);
		k->group.fd = open_group(k->own.fd, k->group.name);
		*again = k->group.fd < 0 && errno == ENOENT;
		/* The caller's umask may have taken something from it. */
		if (made && k->group.fd >= 0 && fchmod(k->group.fd, 0700))
			return cgroup_unavailable(r, errno, "cannot set the mode of", k->group.path);
	}
	if (k->group.fd < 0)
		return *again || cgroup_unavailable(r, errno, "cannot open", k->group.path);
	if (!check_owner(k, &st, r))
		return false;
	if (flock(k->group.fd, LOCK_SH))
		return cgroup_unavailable(r, errno, "cannot lock", k->group.path);
	done = kept_record_read(k->group.fd, &k->record);
	if (!done && flock(k->group.fd, LOCK_EX))
		return cgroup_unavailable(r, errno, "cannot lock", k->group.path);
	*again = !cgroup_still_there(&k->group);
	if (*again)
		return true;
	if (!done && !kept_record_read(k->group.fd, &k->record))
		return finish(m, a, servers, helper, k, again, r);
	/* Who held the lock alone before us has finished it. */
	if (!done && flock(k->group.fd, LOCK_SH))
		return cgroup_unavailable(r, errno, "cannot lock", k->group.path);
	touch(k, &st);
	return memcmp(k->record.identity, a->identity, CAVE_DIGEST_SIZE) == 0 || tampered(k, "its record", r);
}

bool kept_acquire(struct memory *m, const struct artefact *a, const struct egress_helper *helper, bool alone,
		  struct kept *out, struct refusal *r)
{
	struct egress_servers servers;
	uint64_t salt[2];
	bool again = true;

	kept_init(out);
	if (!egress_check_privileges(r) || !egress_servers_read(a, &servers, r) || !cgroup_own(m, &out->own, r))
		return false;
	if (alone && getrandom(salt, sizeof salt, 0) != sizeof salt)
		return refuse_errno(r, CAVE_FAILED, errno, "getrandom");
	out->alone = alone;
	out->group.parent = out->own.fd;
	out->group.name = name_of(m, a, &servers, alone ? salt : NULL);
	out->group.path = memory_printf(m, "%s/%s", out->own.path, out->group.name);
	for (unsigned tries = 0; again && tries < TRIES; tries++) {
		close_group(out);
		if (!seek(m, a, &servers, helper, out, &again, r))
			return false;
	}
	if (again)
		return cgroup_unavailable(r, EAGAIN, "others remove it all the time:", out->group.path);
	out->freeze = openat(out->group.fd, "cgroup.freeze", O_RDONLY | O_CLOEXEC);
	return out->freeze >= 0 || cgroup_unavailable(r, errno, "cannot open cgroup.freeze of", out->group.path);
}

/* --- before a start ------------------------------------------------------------------------------- */

/*
 * Where the policy has no program, and nobody else has attached one to the group, what binds the caller binds the tool:
 * the kernel looks at the levels above for both (compute_effective_progs(), kernel/bpf/cgroup.c).
 */
static bool verify_bare_hook(const struct kept *k, enum cave_hook hook, struct refusal *r)
{
	struct attached own;
	int error = attached_query(k->group.fd, hook, false, &own);

	if (error)
		return cgroup_unavailable(r, error, "cannot ask what is attached to", attached_hook_name(hook));
	return !own.n || tampered(k, attached_hook_name(hook), r);
}

static bool verify_hook(const struct kept *k, enum cave_hook hook, struct refusal *r)
{
	struct attached callers, tools, own;
	int error;

	if (!k->record.id[hook])
		return verify_bare_hook(k, hook, r);
	error = attached_query(k->own.fd, hook, true, &callers);
	if (!error)
		error = attached_query(k->group.fd, hook, true, &tools);
	if (error)
		return cgroup_unavailable(r, error, "cannot ask what is attached to", attached_hook_name(hook));
	if (attached_is_plus(&tools, &callers, k->record.id[hook]))
		return true;
	if (attached_query(k->group.fd, hook, false, &own) || own.n != 1 || own.id[0] != k->record.id[hook])
		return tampered(k, attached_hook_name(hook), r);
	return refuse(r, CAVE_NETWORK_UNAVAILABLE,
		      "a program on %s that binds the caller would not bind the tool; attach it to the "
		      "caller's group with 'multi' in place of 'override'", attached_hook_name(hook));
}

/* A tool that is cloned into a frozen group would never start, and nor would we go on. */
static bool is_frozen(const struct kept *k)
{
	char c;

	return pread(k->freeze, &c, 1, 0) != 1 || c != '0';
}

bool kept_verify_group(const struct kept *k, struct refusal *r)
{
	struct stat st;

	if (!check_owner(k, &st, r))
		return false;
	if (!st.st_nlink || !cgroup_still_there(&k->group))
		return tampered(k, "it was removed", r);
	return !is_frozen(k) || tampered(k, "it is frozen", r);
}

bool kept_verify_programs(const struct kept *k, struct refusal *r)
{
	for (unsigned hook = 0; hook < CAVE_HOOK_COUNT; hook++)
		if (!verify_hook(k, (enum cave_hook)hook, r))
			return false;
	return true;
}

bool kept_verify(const struct kept *k, struct refusal *r)
{
	return kept_verify_group(k, r) && kept_verify_programs(k, r);
}

/* --- listing, forgetting -------------------------------------------------------------------------- */

struct listing {
	struct memory *memory;
	const char *path;
	bool (*seen)(void *context, const struct kept_entry *entry);
	void *context;
};

static bool list_one(void *of, int parent, const char *name)
{
	struct listing *l = of;
	struct kept_record record;
	struct kept_entry e;
	struct stat st;
	int fd = memory_hold(l->memory, open_group(parent, name));
	bool more = true;

	if (fd >= 0 && !fstat(fd, &st)) {
		e.path = memory_printf(l->memory, "%s/%s", l->path, name);
		e.record = kept_record_read(fd, &record) ? &record : NULL;
		e.used = flock(fd, LOCK_EX | LOCK_NB) != 0;
		e.unused_s = age_s(&st);
		more = l->seen(l->context, &e);
	}
	memory_close(l->memory, fd);
	return more;
}

bool kept_list(struct memory *m, bool (*seen)(void *context, const struct kept_entry *entry), void *context,
	       struct refusal *r)
{
	struct listing l = { .memory = m, .seen = seen, .context = context };
	struct cgroup own;
	int error;

	if (!cgroup_own(m, &own, r))
		return false;
	l.path = own.path;
	memory_hold(m, own.fd);
	error = for_each(own.fd, list_one, &l);
	memory_close(m, own.fd);
	return !error || cgroup_unavailable(r, error, "cannot list", own.path);
}

struct forgetting {
	const uint8_t *identity;
	unsigned gone, busy;
};

static bool forget_one(void *of, int parent, const char *name)
{
	struct forgetting *f = of;
	struct kept_record record;
	int fd = open_group(parent, name);
	bool wanted = fd >= 0 && (!f->identity || (kept_record_read(fd, &record) &&
						    !memcmp(record.identity, f->identity, CAVE_DIGEST_SIZE)));

	if (wanted && !flock(fd, LOCK_EX | LOCK_NB) && remove_locked(parent, name, fd))
		f->gone++;
	else if (wanted)
		f->busy++;
	if (fd >= 0)
		close(fd);
	return true;
}

bool kept_forget(struct memory *m, const uint8_t *identity, unsigned *gone, unsigned *busy, struct refusal *r)
{
	struct forgetting f = { .identity = identity };
	struct cgroup own;
	int error;

	if (!cgroup_own(m, &own, r))
		return false;
	error = for_each(own.fd, forget_one, &f);
	cgroup_sweep(own.fd);
	close(own.fd);
	*gone = f.gone;
	*busy = f.busy;
	return !error || cgroup_unavailable(r, error, "cannot list", own.path);
}
