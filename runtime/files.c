/* SPDX-License-Identifier: MIT */
/*
 * Every grant is opened once, by descriptor, and judged by what was opened: where it really lies, what it is,
 * and on which file system.  Nothing is judged by its text alone.
 */
#include "runtime/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/kernel.h"
#include "runtime/place.h"

enum { LL_ABI_REFER = 2, LL_ABI_TRUNCATE = 3, LL_ABI_NET = 4, LL_ABI_IOCTL = 5, LL_ABI_SCOPE = 6 };

struct preparation {
	struct memory *memory;
	const struct files_request *request;
	struct files *files;
	struct refusal *refusal;
	struct stat root; /* of "/" */
	dev_t proc; /* the device of /proc; that of "/" if there is no /proc */
	int folder; /* the artefact's; -1 until it is needed */
	struct covered *writable; /* as files->writable, in the order of the policy */
	struct mounts mounts; /* read when it is needed */
	bool have_mounts;
};

/* One grant, opened. */
struct grant {
	const char *path; /* as it is opened */
	unsigned flags; /* CAVE_FILE_* */
	bool execute;
	bool direct; /* opened in /proc by a path without links */
	int fd;
	struct stat st;
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/* A path of the workspace is shown as the profile spells it. */
static const char *shown(struct preparation *p, const struct grant *g)
{
	bool whole = !*g->path || !strcmp(g->path, ".");

	if (!(g->flags & CAVE_FILE_WORKSPACE))
		return g->path;
	return whole ? "workspace" : memory_printf(p->memory, "workspace/%s", g->path);
}

/* --- rights --------------------------------------------------------------------------------------- */

/* Everything that this kernel can refuse, so that nothing is left out by silence. */
static uint64_t handled(int abi)
{
	uint64_t rights = LL_FS_REFER - 1;

	rights |= abi >= LL_ABI_REFER ? LL_FS_REFER : 0;
	rights |= abi >= LL_ABI_TRUNCATE ? LL_FS_TRUNCATE : 0;
	rights |= abi >= LL_ABI_IOCTL ? LL_FS_IOCTL_DEV : 0;
	return rights;
}

static uint64_t folder_rights(const struct grant *g)
{
	uint64_t rights = LL_FS_READ_FILE | LL_FS_READ_DIR;

	if (g->flags & CAVE_FILE_WRITE)
		rights |= LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE |
			  LL_FS_MAKE_DIR | LL_FS_MAKE_REG | LL_FS_MAKE_SYM | LL_FS_MAKE_FIFO |
			  LL_FS_REFER;
	return rights;
}

/* A device gets no ioctl: reading and writing is what the profile says. */
static uint64_t file_rights(const struct grant *g)
{
	uint64_t rights = LL_FS_READ_FILE;

	if (g->flags & CAVE_FILE_WRITE)
		rights |= LL_FS_WRITE_FILE | (S_ISREG(g->st.st_mode) ? LL_FS_TRUNCATE : 0);
	return rights | (g->execute ? LL_FS_EXECUTE : 0);
}

static bool make_ruleset(struct preparation *p)
{
	int abi = p->request->landlock_abi;
	bool network = p->request->artefact->requires & CAVE_REQUIRE_EGRESS;
	struct ll_ruleset_attr attr = { .handled_access_fs = handled(abi) };
	size_t size = abi >= LL_ABI_SCOPE ? 24 : abi >= LL_ABI_NET ? 16 : 8;

	if (abi >= LL_ABI_NET && !network)
		attr.handled_access_net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
	if (abi >= LL_ABI_SCOPE)
		attr.scoped = LL_SCOPE_ABSTRACT_UNIX_SOCKET | LL_SCOPE_SIGNAL;
	p->files->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (p->files->ruleset < 0)
		return refuse_errno(p->refusal, CAVE_FAILED, errno, "landlock_create_ruleset");
	return true;
}

static bool add_rule(struct preparation *p, const struct grant *g)
{
	struct ll_path_beneath_attr attr = { .parent_fd = g->fd };

	attr.allowed_access = S_ISDIR(g->st.st_mode) ? folder_rights(g) : file_rights(g);
	attr.allowed_access &= handled(p->request->landlock_abi);
	if (syscall(SYS_landlock_add_rule, p->files->ruleset, LL_RULE_PATH_BENEATH, &attr, 0))
		return refuse_errno(p->refusal, CAVE_FAILED, errno, "landlock_add_rule for %s", shown(p, g));
	return true;
}

/* --- write grants --------------------------------------------------------------------------------- */

static bool read_mounts(struct preparation *p)
{
	int error = p->have_mounts ? 0 : mountinfo_read(p->memory, &p->mounts);

	if (error)
		return refuse_errno(p->refusal, CAVE_FAILED, error, "/proc/self/mountinfo");
	p->have_mounts = true;
	return true;
}

/* A mount of the kernel's own file systems at or below `path`, or NULL. */
static const char *kernel_mount(const struct mounts *mounts, const char *path)
{
	for (size_t i = 0; i < mounts->n; i++)
		if (mount_is_kernel(mounts->mount[i].type) && path_within(mounts->mount[i].point, path))
			return mounts->mount[i].point;
	return NULL;
}

/* The path that leads to the policy file; NULL if none does, as to one that was deleted or is in memory only. */
static const char *artefact_path(struct preparation *p)
{
	char *path = path_of(p->memory, p->request->artefact_fd);
	struct stat st, named;

	if (!path || fstat(p->request->artefact_fd, &st) || stat(path, &named))
		return NULL;
	return st.st_dev == named.st_dev && st.st_ino == named.st_ino ? path : NULL;
}

/* True also where it cannot be told. */
static bool covers_artefact(struct preparation *p, const struct grant *g, const struct covered *folder)
{
	int fd = p->request->artefact_fd;
	struct place place;
	const char *path;
	struct stat st;

	if (fstat(fd, &st) || (st.st_dev == g->st.st_dev && st.st_ino == g->st.st_ino))
		return true;
	if (!S_ISDIR(g->st.st_mode) || !st.st_nlink)
		return false;
	path = artefact_path(p);
	return !path || !place_of(p->memory, &p->mounts, fd, path, &place) ||
	       place_covered(&p->mounts, &place, folder);
}

/* A folder or file that the private mount namespace must leave writable. */
static bool add_writable(struct preparation *p, const struct grant *g)
{
	const char *path = path_of(p->memory, g->fd), *point;
	struct files *f = p->files;
	size_t at = f->nwritable;
	struct covered *covered = &p->writable[at];

	if (!read_mounts(p))
		return false;
	covered->path = path;
	if (!path || !place_of(p->memory, &p->mounts, g->fd, path, &covered->place))
		return refuse(p->refusal, CAVE_FAILED, "the write grant %s has no path that can be known",
			      shown(p, g));
	point = kernel_mount(&p->mounts, path);
	if (is_kernel_file(g->fd) || point)
		return refuse(p->refusal, CAVE_FAILED,
			      "the write grant %s reaches %s, a file system of the kernel", shown(p, g),
			      point ? point : path);
	if (covers_artefact(p, g, covered))
		return refuse(p->refusal, CAVE_FAILED,
			      "the write grant %s covers the policy itself, which binds the tool", shown(p, g));
	/* Shorter paths first: what lies in a folder is put in place after the folder. */
	while (at && strlen(f->writable[at - 1].path) > strlen(path)) {
		f->writable[at] = f->writable[at - 1];
		at--;
	}
	f->writable[at] = (struct writable){ path, g->st.st_dev, g->st.st_ino };
	f->nwritable++;
	return true;
}

/* --- /proc/self ----------------------------------------------------------------------------------- */

/* /proc/self is the process that looks: caverun's own must not be granted in place of the tool's. */
static bool is_own(const char *path)
{
	return path_within(path, "/proc/self") || path_within(path, "/proc/thread-self");
}

static bool add_own(struct preparation *p, const struct grant *g, const char *path)
{
	if (g->flags & CAVE_FILE_WRITE)
		return refuse(p->refusal, CAVE_FAILED,
			      "the write grant %s reaches /proc, a file system of the kernel", shown(p, g));
	p->files->own[p->files->nown++] = (struct own_path){ path, folder_rights(g), g->flags & CAVE_FILE_OPTIONAL };
	return true;
}

/* A link that led to caverun's own part of /proc (/dev/fd, /etc/mtab): the same place as /proc/self/…, else NULL. */
static const char *own_place(struct preparation *p, const struct grant *g)
{
	char prefix[32];
	const char *path;

	if (g->direct || g->st.st_dev != p->proc || p->proc == p->root.st_dev)
		return NULL;
	snprintf(prefix, sizeof prefix, "/proc/%ld", (long)getpid());
	path = path_of(p->memory, g->fd);
	if (!path || !path_within(path, prefix))
		return NULL;
	return memory_printf(p->memory, "/proc/self%s", path + strlen(prefix));
}

/* --- one grant ------------------------------------------------------------------------------------ */

/*
 * What the tool may write it may not execute: those mounts are noexec, and without them, or through another mount
 * of the same folder, it is the same.  True also where it cannot be told.
 */
static bool is_writable(struct preparation *p, const struct grant *g)
{
	const char *path = p->files->nwritable ? path_of(p->memory, g->fd) : NULL;
	struct place place;

	if (!p->files->nwritable)
		return false;
	if (!path || !place_of(p->memory, &p->mounts, g->fd, path, &place))
		return true;
	for (size_t i = 0; i < p->files->nwritable; i++)
		if (place_covered(&p->mounts, &place, &p->writable[i]))
			return true;
	return false;
}

static bool judge(struct preparation *p, const struct grant *g)
{
	const char *own = own_place(p, g);

	if (own)
		return add_own(p, g, own);
	if (g->st.st_dev == p->root.st_dev && g->st.st_ino == p->root.st_ino)
		return refuse(p->refusal, CAVE_READ_ROOT, "the grant %s is the whole machine, /", shown(p, g));
	/* The ELF interpreter is named by PROGRAM, which nobody vouches for. */
	if (g->execute && (!S_ISREG(g->st.st_mode) || !(g->st.st_mode & 0111)))
		return refuse_program(p->refusal, EACCES, g->path, "it is no executable file");
	if (g->execute && is_writable(p, g))
		return refuse_program(p->refusal, EACCES, g->path,
				      "it lies in a write grant, where nothing is executed");
	if (g->flags & CAVE_FILE_WRITE && S_ISBLK(g->st.st_mode))
		return refuse(p->refusal, CAVE_FAILED, "the write grant %s is a block device", shown(p, g));
	/* A device is written through a read-only mount as well; a nodev one would close it. */
	if (g->flags & CAVE_FILE_WRITE && !S_ISCHR(g->st.st_mode) && !add_writable(p, g))
		return false;
	return add_rule(p, g);
}

static bool open_failed(struct preparation *p, const struct grant *g, int error)
{
	/* What the caller cannot reach, the tool cannot either. */
	if ((error == ENOENT || error == ENOTDIR || error == EACCES) && g->flags & CAVE_FILE_OPTIONAL)
		return true;
	if (g->execute)
		return refuse_program(p->refusal, error, g->path, NULL);
	if (error == EXDEV && g->flags & (CAVE_FILE_RELATIVE | CAVE_FILE_WORKSPACE))
		return refuse(p->refusal, CAVE_READ_ESCAPES,
			      "the grant %s leads out of the folder that it is relative to", shown(p, g));
	if (error == ELOOP)
		return refuse_errno(p->refusal, CAVE_FAILED, error,
				    "the grant %s leads through a link of /proc, or in a circle", shown(p, g));
	return refuse_errno(p->refusal, CAVE_FAILED, error, "cannot open the grant %s", shown(p, g));
}

/*
 * Most paths of /proc are reached without a link, and then they are nobody's own: trying so first saves asking
 * where they lead.
 */
static int open_grant(struct grant *g, int base, struct k_open_how *how)
{
	const char *path = *g->path ? g->path : ".";
	long fd;

	g->direct = false;
	if (base < 0 && path_within(path, "/proc")) {
		how->resolve |= K_RESOLVE_NO_SYMLINKS;
		fd = syscall(SYS_openat2, AT_FDCWD, path, how, sizeof *how);
		g->direct = fd >= 0;
		if (fd >= 0 || errno != ELOOP)
			return (int)fd;
		how->resolve &= ~(uint64_t)K_RESOLVE_NO_SYMLINKS;
	}
	return (int)syscall(SYS_openat2, base >= 0 ? base : AT_FDCWD, path, how, sizeof *how);
}

/* Opens, judges and closes it; `base` is the folder of a relative one, else -1. */
static bool add_grant(struct preparation *p, struct grant *g, int base)
{
	struct k_open_how how = { .flags = O_PATH | O_CLOEXEC,
				  .resolve = K_RESOLVE_NO_MAGICLINKS |
					     (base >= 0 ? K_RESOLVE_BENEATH : 0) };
	bool ok;

	g->fd = open_grant(g, base, &how);
	if (g->fd < 0)
		return open_failed(p, g, errno);
	if (fstat(g->fd, &g->st))
		ok = refuse_errno(p->refusal, CAVE_FAILED, errno, "the grant %s", shown(p, g));
	else
		ok = judge(p, g);
	close(g->fd);
	return ok;
}

static bool artefact_folder(struct preparation *p)
{
	const char *path, *slash;

	if (p->folder >= 0)
		return true;
	path = artefact_path(p);
	if (!path)
		return refuse(p->refusal, CAVE_FAILED,
			      "the policy has paths that are relative to its file, and no path leads to that file");
	slash = strrchr(path, '/');
	p->folder = open(memory_string(p->memory, path, slash == path ? 1 : (size_t)(slash - path)),
			 O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->folder < 0)
		return refuse_errno(p->refusal, CAVE_FAILED, errno, "cannot open the policy's folder");
	return true;
}

static bool add_record(struct preparation *p, const struct artefact_record *record)
{
	struct grant g = { .flags = record->flags };

	g.path = memory_string(p->memory, record->payload, record->length);
	if (g.flags & CAVE_FILE_WORKSPACE)
		return add_grant(p, &g, p->request->workspace->fd);
	if (g.flags & CAVE_FILE_RELATIVE)
		return artefact_folder(p) && add_grant(p, &g, p->folder);
	return is_own(g.path) ? add_own(p, &g, g.path) : add_grant(p, &g, -1);
}

/* What the policy does not name and the start needs: these very files and no more. */
static bool add_program(struct preparation *p)
{
	const struct program *program = p->request->program;
	struct grant g = { .path = program->path, .flags = CAVE_FILE_READ, .execute = true };

	if (!add_grant(p, &g, -1))
		return false;
	g.path = program->loader;
	if (g.path && !add_grant(p, &g, -1))
		return false;
	g.execute = false;
	for (size_t i = 0; i < program->nscripts; i++) {
		g.path = program->script[i];
		if (!add_grant(p, &g, -1))
			return false;
	}
	g.path = p->request->script;
	return !g.path || add_grant(p, &g, -1);
}

static size_t count_files(const struct artefact *a)
{
	struct artefact_record record;
	size_t n = 0;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		n += record.type == CAVE_RECORD_FILE;
	return n;
}

static bool add_all(struct preparation *p)
{
	struct artefact_record record;

	for (size_t at = 0; artefact_next(p->request->artefact, &at, &record);)
		if (record.type == CAVE_RECORD_FILE && !add_record(p, &record))
			return false;
	return add_program(p);
}

bool files_prepare(struct memory *m, const struct files_request *request, struct files *out,
		   struct refusal *r)
{
	size_t n = count_files(request->artefact);
	struct files f = { .ruleset = -1 };
	struct stat proc;
	struct preparation p = { .memory = m, .request = request, .files = &f, .refusal = r,
				 .folder = -1 };
	bool ok;

	f.writable = MEMORY_ARRAY(m, n + 1, struct writable);
	p.writable = MEMORY_ARRAY(m, n + 1, struct covered);
	f.own = MEMORY_ARRAY(m, n + 1, struct own_path);
	if (stat("/", &p.root))
		return refuse_errno(r, CAVE_FAILED, errno, "/");
	p.proc = stat("/proc", &proc) ? p.root.st_dev : proc.st_dev;
	ok = make_ruleset(&p) && add_all(&p);
	if (p.folder >= 0)
		close(p.folder);
	if (ok)
		*out = f;
	else
		files_close(&f);
	return ok;
}

void files_close(struct files *f)
{
	if (f->ruleset >= 0)
		close(f->ruleset);
	f->ruleset = -1;
}
