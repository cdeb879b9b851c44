/* SPDX-License-Identifier: MIT */
/* What this host can enforce: each mechanism is tried, not asked about. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cave.h"
#include "runtime/cgroup.h"
#include "runtime/check/check.h"
#include "runtime/check/trial.h"
#include "runtime/json.h"
#include "runtime/policy.h"
#include "runtime/privilege.h"
#include "runtime/userns.h"

/* Who needs it. */
enum {
	NEED_ANY = 1u << 0, /* every policy */
	NEED_EGRESS = 1u << 1, /* network grants */
	NEED_MOUNTS = 1u << 2, /* a syscalls line that allows calls on the metadata of files */
	NEED_CHILDREN = 1u << 3, /* other processes of the tool's */
	NEED_MEMORY = 1u << 4, /* a limit on it */
	NEED_TASKS = 1u << 5,
	NEED_NAMES = 1u << 6, /* grants by host name */
	NEED_COVERS = 1u << 7, /* denials of files, a private /dev/shm */
	NEED_GROUP = 1u << 8, /* processor time of several processes */
};

struct mechanism {
	const char *name;
	trial_fn *try;
	unsigned needs;
	const char *without; /* what becomes of starts without it */
	const char *remedy;
};

#define NETWORK "network grants are refused"
#define NAMES "grants by host name are refused"
#define HOOKS "Linux 5.8 with CONFIG_CGROUP_BPF; CAP_BPF and CAP_NET_ADMIN in the first user namespace"
#define PLAIN "without it the calls that change modes, owners and times of files are refused"

static const struct mechanism mechanisms[] = {
	{ "seccomp", try_seccomp, NEED_ANY, "nothing starts", "a kernel with CONFIG_SECCOMP_FILTER" },
	{ "landlock", try_landlock, NEED_ANY, "nothing starts",
	  "Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and landlock among lsm= of the kernel's command line" },
	{ "death_signal", try_death_signal, NEED_ANY, "nothing starts", "none: every Linux has it" },
	{ "close_range", try_close_range, NEED_ANY, "nothing starts", "Linux 5.11" },
	{ "user_namespace", try_user_namespace, 0, "an ordinary user has no mount namespace", NULL },
	{ "read_only_mounts", try_read_only, NEED_MOUNTS, PLAIN, "Linux 5.12; CAP_SYS_ADMIN or user namespaces" },
	{ "write_grant_mounts", try_write_grant, NEED_MOUNTS, PLAIN, "Linux 5.12; CAP_SYS_ADMIN or user namespaces" },
	{ "private_files", try_cover, NEED_COVERS, "denials of files, and shm, are refused",
	  "Linux 5.12; CAP_SYS_ADMIN or user namespaces" },
	{ "landlock_truncate", try_landlock_truncate, 0, "nothing starts where there is no mount namespace either",
	  "Linux 6.2" },
	{ "landlock_signals", try_landlock_scope, 0, "signals to other processes are refused by the filter", "Linux 6.12" },
	{ "pid_namespace", try_pid_namespace, NEED_CHILDREN, "contained children are refused",
	  "CONFIG_PID_NS; CAP_SYS_ADMIN or user namespaces" },
	{ "private_proc", try_private_proc, NEED_CHILDREN, "contained children are refused",
	  "Linux 5.9; in a container, a /proc with nothing mounted in it (procMount: Unmasked)" },
	{ "pidfd", try_pidfd, 0, "hosts of libcave have no descriptor of a tool", "Linux 5.3" },
	{ "seccomp_listener", try_listener, NEED_CHILDREN, "--trace and contained children are refused", "Linux 5.5" },
	{ "cgroup_v2", try_cgroup, NEED_EGRESS | NEED_GROUP, NETWORK ", and cpu-time of children",
	  "a writable cgroup v2 (mount -t cgroup2 none DIR), and a group of it that is delegated to the user who asks "
	  "(systemd-run --scope -p Delegate=yes), or root" },
	{ "clone_into_cgroup", try_clone_into_cgroup, NEED_EGRESS, NETWORK, "Linux 5.7" },
	{ "cgroup_record", try_record, NEED_EGRESS, NETWORK, "Linux 5.7" },
	{ "egress_connect4", try_connect4, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_connect6", try_connect6, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_sendmsg4", try_sendmsg4, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_sendmsg6", try_sendmsg6, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_bind4", try_bind4, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_bind6", try_bind6, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_sock_create", try_sock_create, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_packets_out", try_egress, NEED_EGRESS, NETWORK, HOOKS },
	{ "egress_packets_in", try_ingress, NEED_EGRESS, NETWORK, HOOKS },
	{ "names_recvmsg4", try_recvmsg4, NEED_NAMES, NAMES, HOOKS },
	{ "names_recvmsg6", try_recvmsg6, NEED_NAMES, NAMES, HOOKS },
	{ "names_getpeername4", try_getpeername4, NEED_NAMES, NAMES, HOOKS },
	{ "names_getpeername6", try_getpeername6, NEED_NAMES, NAMES, HOOKS },
	/*
	 * Last of those that use the group: Linux 6.18 kills what is cloned into a group that was killed before and the
	 * caller's own was not (cgroup_css_set_fork() notes the number of kills of the one, cgroup_post_fork() compares it
	 * with that of the other, kernel/cgroup/cgroup.c).
	 */
	{ "cgroup_kill", try_cgroup_kill, NEED_EGRESS, NETWORK, "Linux 5.14" },
	{ "btf", try_btf, 0, "the verifier's log shows no lines of the profile", "CAP_BPF; CONFIG_DEBUG_INFO_BTF" },
	{ "cave_load", try_loader, NEED_EGRESS, NETWORK, "install it whole (make install)" },
	{ "cave_resolve", try_resolver, NEED_NAMES, NAMES, "install it whole (make install)" },
	{ "cave_report", try_reporter, 0, "--report and --log are refused", "install it whole (make install)" },
	{ "memory_controller", try_memory, NEED_MEMORY, "limits on memory are refused",
	  "start caverun alone in a group that is delegated (systemd-run --scope -p Delegate=yes)" },
	{ "pids_controller", try_pids, NEED_TASKS, "limits on tasks are refused",
	  "start caverun alone in a group that is delegated (systemd-run --scope -p Delegate=yes)" },
};

enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms, REPORT_MAX = 32768 };

/* What was found out. */
struct findings {
	struct utsname kernel;
	unsigned needs;
	bool missing; /* something that is needed */
	struct {
		bool needed, untried;
		int error;
		const char *detail, *remedy;
	} of[MECHANISMS];
};

/* --- what a policy needs -------------------------------------------------------------------------- */

static bool has_covers(const struct artefact *a)
{
	struct artefact_record record;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_FILE && record.flags & (CAVE_FILE_DENY | CAVE_FILE_SHM))
			return true;
	return false;
}

static unsigned needs_of_artefact(const struct artefact *a)
{
	unsigned needs = NEED_ANY;

	needs |= a->requires & CAVE_REQUIRE_EGRESS ? NEED_EGRESS : 0;
	needs |= a->requires & CAVE_REQUIRE_MOUNTS ? NEED_MOUNTS : 0;
	needs |= a->max_children ? NEED_CHILDREN : 0;
	needs |= a->max_children && a->limits.value[CAVE_LIMIT_CPU_TIME] ? NEED_GROUP : 0;
	needs |= a->host_record ? NEED_NAMES : 0;
	needs |= has_covers(a) ? NEED_COVERS : 0;
	needs |= a->limits.value[CAVE_LIMIT_MEMORY] ? NEED_MEMORY : 0;
	return needs | (a->limits.value[CAVE_LIMIT_TASKS] ? NEED_TASKS : 0);
}

static bool needs_of(const struct check_options *o, unsigned *out, struct refusal *r)
{
	struct cave_policy *policy;
	struct cave_error error;

	*out = NEED_ANY;
	if (!o->policy)
		return true;
	if (cave_policy_open(o->policy, &policy, &error))
		return refuse(r, error.code, "%.900s", error.text);
	*out = needs_of_artefact(policy->artefact);
	cave_policy_free(policy);
	return true;
}

static const struct mechanism *named(const struct findings *f, const char *name, size_t *at)
{
	(void)f;
	for (*at = 0; *at < MECHANISMS; ++*at)
		if (!strcmp(mechanisms[*at].name, name))
			return &mechanisms[*at];
	return NULL;
}

static bool lacks(const struct findings *f, const char *name)
{
	size_t at;

	return named(f, name, &at) && f->of[at].error;
}

static void need(struct findings *f, const char *name)
{
	size_t at;

	if (named(f, name, &at))
		f->of[at].needed = true;
}

/* Which of them count, once all have been tried: some stand in for others. */
static void judge(struct findings *f, bool privileged)
{
	for (size_t i = 0; i < MECHANISMS; i++)
		f->of[i].needed = mechanisms[i].needs & f->needs;
	if (f->needs & (NEED_MOUNTS | NEED_CHILDREN | NEED_COVERS) && !privileged)
		need(f, "user_namespace");
	if (lacks(f, "read_only_mounts") || lacks(f, "write_grant_mounts"))
		need(f, "landlock_truncate");
	for (size_t i = 0; i < MECHANISMS; i++)
		f->missing |= f->of[i].needed && f->of[i].error;
}

static const char *user_namespaces(void)
{
	const char *setting = userns_setting();

	return *setting ? setting + 2 : "CONFIG_USER_NS; in a container, its seccomp profile must let clone3 make one";
}

/* --- trying --------------------------------------------------------------------------------------- */

static bool try_all(struct memory *m, const struct host *host, struct findings *f, struct refusal *r)
{
	struct trial *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return refuse_errno(r, CAVE_FAILED, errno, "mmap");
	for (size_t i = 0; i < MECHANISMS; i++) {
		*t = (struct trial){ .host = host };
		mechanisms[i].try(t);
		f->of[i].error = t->error;
		f->of[i].untried = t->untried;
		f->of[i].detail = memory_string(m, t->detail, strlen(t->detail));
		f->of[i].remedy = t->untried ? "that of cgroup_v2" :
				  mechanisms[i].remedy ? mechanisms[i].remedy : user_namespaces();
	}
	munmap(t, sizeof *t);
	return true;
}

static bool find_out(struct memory *m, struct findings *f, struct refusal *r)
{
	struct cgroup own = { .parent = -1, .fd = -1 }, group = own;
	struct scratch scratch;
	struct refusal no_group = { .code = CAVE_OK };
	struct host host = { .privileged = has_capability(CAP_SYS_ADMIN), .group = -1, .parent = -1, .memory = m };
	bool ok;

	if (uname(&f->kernel))
		return refuse_errno(r, CAVE_FAILED, errno, "uname");
	if (!scratch_make(m, NULL, &scratch, r))
		return false;
	host.folder = scratch.folder;
	host.file = scratch.file;
	if (cgroup_own(m, &own, &no_group) && cgroup_make(m, own.fd, own.path, &group, &no_group)) {
		host.group = group.fd;
		host.parent = group.parent;
		host.group_path = group.path;
	} else {
		host.no_group = &no_group;
	}
	ok = try_all(m, &host, f, r);
	if (host.group >= 0 && !cgroup_remove(&group, r))
		ok = false;
	if (own.fd >= 0)
		close(own.fd);
	scratch_remove(&scratch);
	judge(f, host.privileged);
	return ok;
}

/* --- saying --------------------------------------------------------------------------------------- */

static const char *word(const struct findings *f, size_t i)
{
	return !f->of[i].error ? "ok" : f->of[i].needed ? "MISSING" : "absent";
}

static bool print_text(struct memory *m, const struct findings *f, struct refusal *r)
{
	char *text = memory_take(m, REPORT_MAX);
	size_t n = 0;

	n += (size_t)snprintf(text, REPORT_MAX, "Linux %s, user %u\n", f->kernel.release, geteuid());
	for (size_t i = 0; i < MECHANISMS && n < REPORT_MAX; i++) {
		n += (size_t)snprintf(text + n, REPORT_MAX - n, "%-8s %-20s %s", word(f, i), mechanisms[i].name,
				      f->of[i].detail);
		if (n < REPORT_MAX && f->of[i].error && !f->of[i].untried)
			n += (size_t)snprintf(text + n, REPORT_MAX - n, ": %s (errno %d)", strerror(f->of[i].error),
					      f->of[i].error);
		if (n < REPORT_MAX && f->of[i].error)
			n += (size_t)snprintf(text + n, REPORT_MAX - n, "\n%-30s%s\n%-30sremedy: %s", "",
					      mechanisms[i].without, "", f->of[i].remedy);
		if (n < REPORT_MAX)
			n += (size_t)snprintf(text + n, REPORT_MAX - n, "\n");
	}
	if (n >= REPORT_MAX)
		return refuse(r, CAVE_FAILED, "the report is too long");
	return check_print(text, r);
}

static bool print_json(struct memory *m, const struct findings *f, struct refusal *r)
{
	char *text = memory_take(m, REPORT_MAX);
	struct json j;

	json_begin(&j, text, REPORT_MAX - 1);
	json_open(&j, '{');
	json_put_number(&j, "schema_version", 1);
	json_put_string(&j, "kernel", f->kernel.release);
	json_put_number(&j, "user", geteuid());
	json_put_boolean(&j, "ready", !f->missing);
	json_key(&j, "mechanisms");
	json_open(&j, '[');
	for (size_t i = 0; i < MECHANISMS; i++) {
		json_open(&j, '{');
		json_put_string(&j, "name", mechanisms[i].name);
		json_put_boolean(&j, "works", !f->of[i].error);
		json_put_boolean(&j, "needed", f->of[i].needed);
		json_put_string(&j, "tried", f->of[i].detail);
		json_put_number(&j, "errno", (uint64_t)f->of[i].error);
		json_put_string(&j, "without", mechanisms[i].without);
		json_put_string(&j, "remedy", f->of[i].error ? f->of[i].remedy : NULL);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	if (!json_end(&j))
		return refuse(r, CAVE_FAILED, "the report is too long");
	text[j.n] = '\n';
	text[j.n + 1] = '\0';
	return check_print(text, r);
}

static bool is_for_network(const struct findings *f, size_t i)
{
	return mechanisms[i].needs & f->needs & (NEED_EGRESS | NEED_NAMES);
}

static bool missing(const struct findings *f, struct refusal *r)
{
	for (size_t i = 0; i < MECHANISMS; i++)
		if (f->of[i].needed && f->of[i].error)
			return refuse(r, is_for_network(f, i) ? CAVE_NETWORK_UNAVAILABLE : CAVE_FAILED,
				      "this host lacks %s: %s", mechanisms[i].name, f->of[i].detail);
	return true;
}

int doctor(struct memory *m, const struct check_options *o, struct refusal *r)
{
	struct findings f = { .missing = false };

	if (!needs_of(o, &f.needs, r) || !find_out(m, &f, r) ||
	    !(o->json ? print_json(m, &f, r) : print_text(m, &f, r)) || !missing(&f, r))
		return STATUS_REFUSED;
	return 0;
}
