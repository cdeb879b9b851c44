/* SPDX-License-Identifier: MIT */
/* Reads the files themselves: a name service would be code of others in a small static program. */
#include "runtime/user.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/mountinfo.h"
#include "runtime/privilege.h"

/* Cuts the next `separator`-terminated piece off *text; NULL at its end. */
static char *piece(char **text, char separator)
{
	char *p = *text, *end;

	if (!p)
		return NULL;
	end = strchr(p, separator);
	*text = end ? end + 1 : NULL;
	if (end)
		*end = 0;
	return p;
}

static bool number(const char *s, uint32_t *out)
{
	char *end;
	unsigned long n;

	if (!s || *s < '0' || *s > '9')
		return false;
	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno || *end || n >= UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* name:password:uid:gid:comment:home:shell.  *name is set also where the rest is damaged, which returns false. */
static bool parse_passwd(char *line, struct user *u)
{
	u->name = piece(&line, ':');
	piece(&line, ':');
	if (!number(piece(&line, ':'), &u->uid) || !number(piece(&line, ':'), &u->gid))
		return false;
	piece(&line, ':');
	u->home = piece(&line, ':');
	return true;
}

static bool find_passwd(char *text, struct user *u)
{
	struct user found = { .name = NULL };
	char *line;

	while ((line = piece(&text, '\n'))) {
		bool whole = parse_passwd(line, &found);

		if (!found.name || strcmp(found.name, u->name))
			continue;
		u->uid = found.uid;
		u->gid = found.gid;
		u->home = found.home;
		return whole;
	}
	return false;
}

bool user_home(struct memory *m, uid_t uid, const char **out, struct refusal *r)
{
	struct user found = { .name = NULL };
	char *text, *line;
	int error = proc_read(m, "/etc/passwd", &text);

	if (error)
		return refuse_errno(r, CAVE_FAILED, error, "cannot read /etc/passwd");
	*out = NULL;
	while (!*out && (line = piece(&text, '\n')))
		if (parse_passwd(line, &found) && found.uid == uid)
			*out = found.home;
	return true;
}

static bool is_member(char *members, const char *name)
{
	char *member;

	while ((member = piece(&members, ',')))
		if (!strcmp(member, name))
			return true;
	return false;
}

/* name:password:gid:member,member */
static void find_groups(struct memory *m, char *text, struct user *u)
{
	size_t lines = 1;
	gid_t *group;
	char *line;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	group = MEMORY_ARRAY(m, lines + 1, gid_t);
	group[u->ngroups++] = u->gid;
	while ((line = piece(&text, '\n'))) {
		uint32_t gid;

		piece(&line, ':');
		piece(&line, ':');
		if (number(piece(&line, ':'), &gid) && gid != u->gid && is_member(line, u->name))
			group[u->ngroups++] = gid;
	}
	u->group = group;
}

bool user_find(struct memory *m, const char *name, struct user *out, struct refusal *r)
{
	struct user u = { .name = name };
	char *text;
	int error;

	if (geteuid())
		return refuse(r, CAVE_FAILED, "--user needs root");
	error = proc_read(m, "/etc/passwd", &text);
	if (error)
		return refuse_errno(r, CAVE_FAILED, error, "--user: cannot read /etc/passwd");
	if (!find_passwd(text, &u))
		return refuse(r, CAVE_FAILED, "--user: /etc/passwd has no user %s", name);
	error = proc_read(m, "/etc/group", &text);
	if (error)
		return refuse_errno(r, CAVE_FAILED, error, "--user: cannot read /etc/group");
	/* The parent-death signal is sent with our credentials (kernel/signal.c, check_kill_permission()). */
	if (u.uid != geteuid() && !has_capability(CAP_KILL))
		return refuse(r, CAVE_FAILED, "--user: without CAP_KILL the tool would outlive a caverun that is killed");
	find_groups(m, text, &u);
	*out = u;
	return true;
}
