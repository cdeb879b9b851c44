/* SPDX-License-Identifier: MIT */
#include "runtime/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/kernel.h"

int proc_read(struct memory *m, const char *path, char **out)
{
	size_t n = 0, cap = 4096;
	char *text = memory_take(m, cap);
	int fd = memory_hold(m, openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC)), error = 0;
	ssize_t got;

	if (fd < 0)
		return errno;
	while ((got = read(fd, text + n, cap - n - 1)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			error = errno;
			break;
		}
		n += (size_t)got;
		if (n + 1 == cap) {
			char *larger = memory_take(m, cap *= 2);

			memcpy(larger, text, n);
			text = larger;
		}
	}
	memory_close(m, fd);
	if (error)
		return error;
	text[n] = 0;
	*out = text;
	return 0;
}

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blank, tab, newline and backslash stand as \ooo in a path (mangle(), fs/seq_file.c). */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && octal(s[1]) && octal(s[2]) && octal(s[3])) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

/* Cuts the next blank-separated field off *line; "" at its end. */
static char *field(char **line)
{
	char *f = *line, *end = f + strcspn(f, " ");

	*line = *end ? end + 1 : end;
	*end = 0;
	return f;
}

/* 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue */
static bool parse_line(char *line, struct mount *out)
{
	char *id, *device, *root, *point, *options, *f;

	id = field(&line);
	field(&line);
	device = field(&line);
	root = field(&line);
	point = field(&line);
	options = field(&line);
	do
		f = field(&line);
	while (*f && strcmp(f, "-"));
	if (!*f)
		return false;
	f = field(&line);
	field(&line);
	unescape(root);
	unescape(point);
	*out = (struct mount){ strtoull(id, NULL, 10), device, root, point, options, f, field(&line) };
	return true;
}

int mountinfo_read(struct memory *m, struct mounts *out)
{
	char *text, *next;
	size_t lines = 0;
	int error = proc_read(m, "/proc/self/mountinfo", &text);

	if (error)
		return error;
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	out->mount = MEMORY_ARRAY(m, lines + 1, struct mount);
	out->n = 0;
	for (; *text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = 0;
		else
			next = text + strlen(text);
		if (parse_line(text, &out->mount[out->n]))
			out->n++;
	}
	return 0;
}

bool path_within(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n && folder[n - 1] == '/')
		n--;
	return !strncmp(path, folder, n) && (path[n] == '/' || !path[n]);
}

bool mount_is_kernel(const char *type)
{
	static const char *const types[] = { "proc", "sysfs", "cgroup", "cgroup2", "bpf", "debugfs",
					     "tracefs", "securityfs", "configfs", "efivarfs",
					     "selinuxfs", "nsfs", "pidfs", "binfmt_misc",
					     "fusectl", "resctrl", "pstore", "mqueue", "rpc_pipefs",
					     "smackfs", "nfsd" };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

bool is_kernel_file(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	switch ((unsigned long)fs.f_type & 0xffffffff) {
	case K_FS_PROC:
	case K_FS_SYSFS:
	case K_FS_CGROUP:
	case K_FS_CGROUP2:
	case K_FS_BPF:
	case K_FS_DEBUG:
	case K_FS_TRACE:
	case K_FS_SECURITY:
	case K_FS_CONFIG:
	case K_FS_EFIVARS:
	case K_FS_SELINUX:
	case K_FS_BINFMT:
	case K_FS_NS:
	case K_FS_PID:
	case K_FS_MQUEUE:
	case K_FS_SECRETMEM:
	case K_FS_FUSECTL:
	case K_FS_RPC:
	case K_FS_APPARMOR:
	case K_FS_SMACK:
	case K_FS_PSTORE:
	case K_FS_RESCTRL:
	case K_FS_NFSD:
		return true;
	default:
		return false;
	}
}
