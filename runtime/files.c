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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/files_private.h"
#include "runtime/arch.h"
#include "runtime/kernel.h"
#include "runtime/rights.h"

enum { SPARED = 48, SPARED_BELOW = 256 };

const char *grant_shown(struct preparation *p, const struct grant *g)
{
	static const struct {
		unsigned flag;
		const char *word;
	} places[] = { { CAVE_FILE_WORKSPACE, "workspace" }, { CAVE_FILE_TMP, "tmp" }, { CAVE_FILE_HOME, "home" } };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (g->flags & places[i].flag)
			return memory_printf(p->memory, "%s%s%s", places[i].word, *g->path ? "/" : "", g->path);
	return g->flags & CAVE_FILE_SLOT ? memory_printf(p->memory, "folder %s", g->path) : g->path;
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/* --- the ruleset ----------------------------------------------------------------------------------- */

static bool make_ruleset(struct preparation *p)
{
	bool network = p->request->artefact->requires & CAVE_REQUIRE_EGRESS;

	if (p->request->keep)
		return true;
	p->files->ruleset = ruleset_make(p->request->landlock_abi, network);
	if (p->files->ruleset >= 0)
		return true;
	return refuse_errno(p->refusal, CAVE_FAILED, -p->files->ruleset, "landlock_create_ruleset");
}

/*
 * Adds it at once or, to be added at each start, keeps it open.  One that has been added may stay open until the tool
 * runs: closing it then keeps nobody waiting.
 */
static bool add_rule(struct preparation *p, struct grant *g)
{
	struct rule rule = { g->fd, rights_of(g->flags, g->st.st_mode, p->request->landlock_abi) };
	int error = p->request->keep ? 0 : ruleset_add(p->files->ruleset, &rule);

	if (error)
		return refuse_errno(p->refusal, CAVE_FAILED, error, "landlock_add_rule for %s", grant_shown(p, g));
	if (p->request->keep || (p->files->nrules < p->spared && g->fd < SPARED_BELOW)) {
		p->files->rule[p->files->nrules++] = rule;
		memory_let_go(p->memory, g->fd);
		g->fd = -1;
	}
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
			      "the write grant %s reaches /proc, a file system of the kernel", grant_shown(p, g));
	p->files->own[p->files->nown++] = (struct own_path){
		path, rights_of(CAVE_FILE_READ, S_IFDIR, p->request->landlock_abi), g->flags & CAVE_FILE_OPTIONAL
	};
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

/* A name with a final slash is a folder's, one without a file's; a place (workspace) is a folder. */
static const char *executable_fault(const struct grant *g)
{
	bool place = g->flags & (CAVE_FILE_BASES & ~CAVE_FILE_RELATIVE) && !*folders_below(g->path, g->flags);

	if (S_ISDIR(g->st.st_mode))
		return g->flags & CAVE_FILE_FOLDER || place ? NULL : "a folder: write its path with a final slash";
	if (!S_ISREG(g->st.st_mode))
		return "neither a regular file nor a folder";
	return g->flags & CAVE_FILE_FOLDER ? "no folder: write its path without the final slash" : NULL;
}

static bool judge_executable(struct preparation *p, const struct grant *g)
{
	const char *fault = executable_fault(g);

	if (fault)
		return refuse(p->refusal, CAVE_FAILED, "what may be executed, %s, is %s", grant_shown(p, g), fault);
	return add_executable(p, g);
}

/* A terminal by any of its devices (Documentation/admin-guide/devices.txt), or a folder with such in it. */
static bool leads_to_terminal(struct preparation *p, const struct grant *g)
{
	unsigned type = major(g->st.st_rdev);
	const char *path;

	if (S_ISCHR(g->st.st_mode))
		return type == 4 || type == 5 || (type >= 136 && type <= 143);
	path = S_ISDIR(g->st.st_mode) ? path_of(p->memory, g->fd) : NULL;
	return path && path_within(path, "/dev") && !path_within(path, "/dev/shm");
}

/*
 * Where output is limited, it has no way past the pipes that count it.  What `system` grants of terminals is then for
 * reading.
 */
static bool keep_from_terminal(struct preparation *p, struct grant *g)
{
	if (!p->request->artefact->limits.value[CAVE_LIMIT_OUTPUT] || !(g->flags & CAVE_FILE_WRITE) ||
	    !leads_to_terminal(p, g))
		return true;
	if (!(g->flags & CAVE_FILE_SYSTEM))
		return refuse(p->refusal, CAVE_FAILED,
			      "output is limited, and the write grant %s leads past the limit: it reaches terminals",
			      grant_shown(p, g));
	g->flags &= ~(unsigned)CAVE_FILE_WRITE;
	return true;
}

/* null, zero, full, random, urandom, tty (Documentation/admin-guide/devices.txt): no ioctl of theirs reaches far. */
static bool is_plain_device(dev_t device)
{
	static const struct {
		unsigned major, minor;
	} plain[] = { { 1, 3 }, { 1, 5 }, { 1, 7 }, { 1, 8 }, { 1, 9 }, { 5, 0 } };

	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (major(device) == plain[i].major && minor(device) == plain[i].minor)
			return true;
	return false;
}

/*
 * Landlock bounds ioctl() on devices from version 5 on.  Before, the private mounts have devices in /dev only, and of
 * those these few are all that can be granted; a write grant is a mount without devices.
 */
static bool judge_devices(struct preparation *p, const struct grant *g)
{
	bool device = S_ISCHR(g->st.st_mode) || S_ISBLK(g->st.st_mode);
	const char *path;

	if (p->request->landlock_abi >= LL_ABI_IOCTL || (!device && !S_ISDIR(g->st.st_mode)) ||
	    (!device && g->flags & CAVE_FILE_WRITE))
		return true;
	path = path_of(p->memory, g->fd);
	if (device && S_ISCHR(g->st.st_mode) && is_plain_device(g->st.st_rdev) && path && path_within(path, "/dev"))
		return true;
	if (!device && path && (!path_within(path, "/dev") || path_within(path, "/dev/shm")))
		return true;
	return refuse(p->refusal, CAVE_FAILED,
		      "the grant %s reaches devices, and this kernel's Landlock does not bound ioctl() on them "
		      "(Linux 6.10 does)",
		      grant_shown(p, g));
}

/* Where memory is limited, no pages of the host's pool of huge ones, which are not counted as such. */
static bool judge_huge_pages(struct preparation *p, const struct grant *g)
{
	const char *path = NULL;

	if (!p->request->artefact->limits.value[CAVE_LIMIT_MEMORY])
		return true;
	if (!read_mounts(p))
		return false;
	for (size_t i = 0; i < p->mounts.n; i++) {
		const char *point = p->mounts.mount[i].point;

		if (strcmp(p->mounts.mount[i].type, "hugetlbfs"))
			continue;
		path = path ? path : path_of(p->memory, g->fd);
		if (!path || path_within(point, path) || path_within(path, point))
			return refuse(p->refusal, CAVE_FAILED,
				      "the grant %s reaches %s, whose huge pages the limit memory does not count",
				      grant_shown(p, g), point);
	}
	return true;
}

static bool judge(struct preparation *p, struct grant *g)
{
	const char *own = own_place(p, g);
	bool denied;

	if (own)
		return add_own(p, g, own);
	if (g->st.st_dev == p->root.st_dev && g->st.st_ino == p->root.st_ino)
		return refuse(p->refusal, CAVE_READ_ROOT, "the grant %s is the whole machine, /", grant_shown(p, g));
	if (!judge_denied(p, g, &denied))
		return false;
	if (denied)
		return true;
	/* The ELF interpreter is named by PROGRAM, which nobody vouches for. */
	if (g->program && (!S_ISREG(g->st.st_mode) || !(g->st.st_mode & 0111)))
		return refuse_program(p->refusal, EACCES, g->path, "it is no executable file");
	if (g->program && !check_program(p, g))
		return false;
	if (!keep_from_terminal(p, g) || !judge_devices(p, g) || !judge_huge_pages(p, g))
		return false;
	if (g->flags & CAVE_FILE_WRITE && S_ISBLK(g->st.st_mode))
		return refuse(p->refusal, CAVE_FAILED, "the write grant %s is a block device", grant_shown(p, g));
	/* A device is written through a read-only mount as well; a nodev one would close it. */
	if (g->flags & CAVE_FILE_WRITE && !S_ISCHR(g->st.st_mode) && !add_writable(p, g))
		return false;
	if (g->flags & CAVE_FILE_EXECUTE && !g->program && !judge_executable(p, g))
		return false;
	return add_rule(p, g);
}

static bool open_failed(struct preparation *p, const struct grant *g, int error)
{
	/* What the caller cannot reach, the tool cannot either. */
	if ((error == ENOENT || error == ENOTDIR || error == EACCES) && g->flags & CAVE_FILE_OPTIONAL)
		return true;
	if (g->program)
		return refuse_program(p->refusal, error, g->path, NULL);
	if (error == EXDEV && g->flags & CAVE_FILE_BASES)
		return refuse(p->refusal, CAVE_READ_ESCAPES,
			      "the grant %s leads out of the folder that it is relative to", grant_shown(p, g));
	if (error == ELOOP)
		return refuse_errno(p->refusal, CAVE_FAILED, error,
				    "the grant %s leads through a link of /proc, or in a circle", grant_shown(p, g));
	return refuse_errno(p->refusal, CAVE_FAILED, error, "cannot open the grant %s", grant_shown(p, g));
}

/*
 * Most paths of /proc are reached without a link, and then they are nobody's own: trying so first saves asking
 * where they lead.
 */
static int open_grant(struct preparation *p, struct grant *g, int base, struct k_open_how *how)
{
	const char *path = folders_below(g->path, g->flags);
	bool in_proc = base < 0 && path_within(path, "/proc");
	int at = base >= 0 ? base : AT_FDCWD;
	long fd;

	path = *path ? path : ".";
	g->direct = g->linked = false;
	if (in_proc || links_matter(p, g)) {
		how->resolve |= K_RESOLVE_NO_SYMLINKS;
		fd = syscall(SYS_openat2, at, path, how, sizeof *how);
		g->direct = in_proc && fd >= 0;
		if (fd >= 0 || errno != ELOOP)
			return (int)fd;
		how->resolve &= ~(uint64_t)K_RESOLVE_NO_SYMLINKS;
		g->linked = links_matter(p, g);
	}
	return (int)syscall(SYS_openat2, at, path, how, sizeof *how);
}

/* To be looked at when all write grants are known. */
static void note_link(struct preparation *p, const struct grant *g, int base)
{
	if (g->linked)
		p->linked[p->nlinked++] = (struct linked){
			folders_below(g->path, g->flags), memory_printf(p->memory, "the grant %s", grant_shown(p, g)), base,
			g->st.st_dev, g->st.st_ino
		};
}

/* What was looked at before, by a path in which others may write. */
static bool is_other(const struct grant *g)
{
	return g->same && (g->same->dev != g->st.st_dev || g->same->ino != g->st.st_ino);
}

/* Opens, judges and closes it; `base` is the folder of a relative one, else -1. */
static bool add_grant(struct preparation *p, struct grant *g, int base)
{
	struct k_open_how how = { .flags = O_PATH | O_CLOEXEC,
				  .resolve = K_RESOLVE_NO_MAGICLINKS |
					     (base >= 0 ? K_RESOLVE_BENEATH : 0) };
	bool ok;

	g->fd = memory_hold(p->memory, open_grant(p, g, base, &how));
	if (g->fd < 0)
		return open_failed(p, g, errno);
	if (fstat(g->fd, &g->st))
		ok = refuse_errno(p->refusal, CAVE_FAILED, errno, "the grant %s", grant_shown(p, g));
	else if (is_other(g))
		ok = refuse(p->refusal, CAVE_FAILED, "%s was exchanged for another file meanwhile", g->path);
	else
		ok = judge(p, g);
	if (ok)
		note_link(p, g, base);
	memory_close(p->memory, g->fd);
	return ok;
}

bool artefact_folder(struct preparation *p, const char **out)
{
	const char *path, *slash;

	if (p->folder >= 0 && !out)
		return true;
	path = artefact_path(p);
	if (!path)
		return refuse(p->refusal, CAVE_FAILED,
			      "the policy has paths that are relative to its file, and no path leads to that file");
	slash = strrchr(path, '/');
	path = memory_string(p->memory, path, slash == path ? 1 : (size_t)(slash - path));
	if (out)
		*out = path;
	if (p->folder < 0)
		p->folder = memory_hold(p->memory, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (p->folder < 0)
		return refuse_errno(p->refusal, CAVE_FAILED, errno, "cannot open the policy's folder");
	return true;
}

/* Its root is there in the child only. */
static bool add_shm(struct preparation *p)
{
	p->files->shm = true;
	p->files->own[p->files->nown++] = (struct own_path){
		"/dev/shm", rights_of(CAVE_FILE_READ | CAVE_FILE_WRITE, S_IFDIR, p->request->landlock_abi), false
	};
	return true;
}

static bool add_record(struct preparation *p, const struct artefact_record *record)
{
	struct grant g = { .flags = record->flags };
	const struct workspace *base;

	g.path = memory_string(p->memory, record->payload, record->length);
	base = folders_base(p->request->folders, g.path, g.flags);
	if (g.flags & CAVE_FILE_SHM)
		return add_shm(p);
	if (base)
		return add_grant(p, &g, base->fd);
	if (g.flags & CAVE_FILE_RELATIVE)
		return artefact_folder(p, NULL) && add_grant(p, &g, p->folder);
	return is_own(g.path) ? add_own(p, &g, g.path) : add_grant(p, &g, -1);
}

static bool add_script(struct preparation *p)
{
	const struct files_request *q = p->request;
	struct grant g = { .path = q->script, .flags = CAVE_FILE_READ, .same = &q->script_seen };
	struct linked l = { q->script_named, NULL, -1, q->script_seen.dev, q->script_seen.ino };

	if (!g.path)
		return true;
	l.shown = memory_printf(p->memory, "--script %s", q->script_named);
	return check_links(p, &l) && add_grant(p, &g, -1);
}

/* What the policy does not name and the start needs: these very files and no more. */
static bool add_program(struct preparation *p)
{
	const struct program *program = p->request->program;
	struct grant g = { .path = program->path, .flags = CAVE_FILE_READ | CAVE_FILE_EXECUTE,
			   .program = true, .same = &program->seen[program->nscripts] };

	if (!add_grant(p, &g, -1))
		return false;
	g.path = program->loader;
	g.same = NULL;
	if (g.path && !add_grant(p, &g, -1))
		return false;
	g.flags = CAVE_FILE_READ;
	g.program = false;
	for (size_t i = 0; i < program->nscripts; i++) {
		g.path = program->script[i];
		g.same = &program->seen[i];
		if (!add_grant(p, &g, -1))
			return false;
	}
	return add_script(p);
}

static bool check_all_links(struct preparation *p)
{
	for (size_t i = 0; i < p->nlinked; i++)
		if (!check_links(p, &p->linked[i]))
			return false;
	return true;
}

/* What is executed later may have another one than PROGRAM. */
static bool add_loaders(struct preparation *p)
{
	static const char *const loaders[] = { ARCH_LOADERS };

	for (size_t i = 0; i < sizeof loaders / sizeof *loaders && p->request->artefact->children; i++) {
		struct grant g = { .path = loaders[i], .program = true,
				   .flags = CAVE_FILE_READ | CAVE_FILE_EXECUTE | CAVE_FILE_OPTIONAL };

		if (!add_grant(p, &g, -1))
			return false;
	}
	return true;
}

/* *writes: others than devices, which the system set names, are written. */
static size_t count_files(const struct artefact *a, bool *writes)
{
	struct artefact_record record;
	size_t n = 0;

	for (size_t at = 0; artefact_next(a, &at, &record);) {
		if (record.type != CAVE_RECORD_FILE)
			continue;
		n++;
		*writes |= record.flags & CAVE_FILE_WRITE && !(record.flags & (CAVE_FILE_SYSTEM | CAVE_FILE_DENY));
	}
	return n;
}

/* The grants that are written to (or not), in the order of the policy. */
static bool add_records(struct preparation *p, bool writes)
{
	struct artefact_record record;

	for (size_t at = 0; artefact_next(p->request->artefact, &at, &record);)
		if (record.type == CAVE_RECORD_FILE && !(record.flags & CAVE_FILE_DENY) &&
		    !(record.flags & CAVE_FILE_WRITE) != writes &&
		    !add_record(p, &record))
			return false;
	return true;
}

/* What may be executed is judged by what may be written, and PROGRAM by both. */
static bool add_all(struct preparation *p)
{
	return find_denials(p) && add_records(p, true) && add_records(p, false) && check_shm(p) &&
	       check_all_links(p) && settle_executables(p) && add_program(p) && add_loaders(p) &&
	       settle_denials(p);
}

/*
 * How many descriptors may stay open though nobody needs them: none where they could be missed, or where the first
 * process of the namespace had to close them.
 */
static size_t may_spare(const struct files_request *request)
{
	struct rlimit limit;

	if (request->keep || request->artefact->max_children || getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return limit.rlim_cur >= 2 * SPARED_BELOW ? SPARED : 0;
}

bool files_mount(const struct files *f)
{
	return f->nwritable || f->ndenied || f->shm;
}

bool files_prepare(struct memory *m, const struct files_request *request, struct files *out,
		   struct refusal *r)
{
	bool writes = false;
	size_t n = count_files(request->artefact, &writes);
	struct stat proc;
	struct preparation p = { .memory = m, .request = request, .files = out, .refusal = r,
				 .folder = -1, .writes = writes };
	bool ok;

	*out = (struct files){ .ruleset = -1 };
	out->writable = MEMORY_ARRAY(m, n + 1, struct writable);
	p.writable = MEMORY_ARRAY(m, n + 1, struct covered);
	p.executable = MEMORY_ARRAY(m, n + 1, struct executable);
	p.linked = MEMORY_ARRAY(m, n + 1, struct linked);
	p.granted = MEMORY_ARRAY(m, n + PROGRAM_SCRIPTS_MAX + 4, const char *);
	out->own = MEMORY_ARRAY(m, n + 1, struct own_path);
	p.spared = may_spare(request);
	if (request->keep || p.spared)
		out->rule = MEMORY_ARRAY(m, request->keep ? n + FILES_OF_PROGRAM : p.spared, struct rule);
	if (stat("/", &p.root))
		return refuse_errno(r, CAVE_FAILED, errno, "/");
	p.proc = stat("/proc", &proc) ? p.root.st_dev : proc.st_dev;
	ok = make_ruleset(&p) && add_all(&p);
	memory_close(m, p.folder);
	if (!ok)
		files_close(out);
	return ok;
}

void files_close(struct files *f)
{
	if (f->ruleset >= 0)
		close(f->ruleset);
	f->ruleset = -1;
	while (f->nrules)
		close(f->rule[--f->nrules].fd);
}
