/* SPDX-License-Identifier: MIT */
/* cave-check doctor|conformance CAVERUN [--json] [--config PATH] [POLICY]: the command line that caverun gives it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/check/check.h"

bool check_print(const char *text, struct refusal *r)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t wrote = write(STDOUT_FILENO, text, n);

		if (wrote < 0 && errno != EINTR)
			return refuse_errno(r, CAVE_FAILED, errno, "cannot write the report");
		text += wrote > 0 ? wrote : 0;
		n -= wrote > 0 ? (size_t)wrote : 0;
	}
	return true;
}

bool scratch_make(struct memory *m, const char *at, struct scratch *out, struct refusal *r)
{
	const char *tmpdir = getenv("TMPDIR");
	char *folder;
	int fd;

	if (!at)
		at = tmpdir && *tmpdir == '/' ? tmpdir : "/tmp";
	folder = memory_printf(m, "%s/.cave-check-XXXXXX", strcmp(at, "/") ? at : "");
	if (!mkdtemp(folder))
		return refuse_errno(r, CAVE_FAILED, errno, "a folder of one's own in %s", at);
	*out = (struct scratch){ folder, memory_printf(m, "%s/file", folder) };
	fd = open(out->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, "text\n", 5) == 5 && !close(fd))
		return true;
	refuse_errno(r, CAVE_FAILED, errno, "a file of one's own in %s", folder);
	scratch_remove(out);
	return false;
}

/* What was created in it by what was tried is one level deep. */
void scratch_remove(const struct scratch *s)
{
	DIR *list = opendir(s->folder);
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (unlinkat(dirfd(list), e->d_name, 0))
			unlinkat(dirfd(list), e->d_name, AT_REMOVEDIR);
	if (list)
		closedir(list);
	rmdir(s->folder);
}

static bool parse(char **argv, struct check_options *out, struct refusal *r)
{
	struct check_options o = { .caverun = argv[0] };

	for (argv++; *argv; argv++) {
		if (!strcmp(*argv, "--json"))
			o.json = true;
		else if (!strcmp(*argv, "--config") && argv[1])
			o.config = *++argv;
		else if (**argv != '-' && !o.policy)
			o.policy = *argv;
		else
			return refuse(r, CAVE_FAILED, "cave-check is started by caverun; %s", *argv);
	}
	*out = o;
	return true;
}

static int run(char **argv, struct refusal *r)
{
	jmp_buf exhausted;
	struct memory m = { .exhausted = &exhausted };
	struct check_options o;

	if (setjmp(exhausted)) {
		refuse(r, CAVE_FAILED, "out of memory");
		return STATUS_REFUSED;
	}
	if (!argv[1] || !argv[2] || !parse(argv + 2, &o, r))
		return STATUS_REFUSED;
	return strcmp(argv[1], "doctor") ? conformance(&m, &o, r) : doctor(&m, &o, r);
}

int main(int argc, char **argv)
{
	struct refusal r = { .text = "cave-check is started by caverun" };
	int status = argc < 3 ? STATUS_REFUSED : run(argv, &r);

	if (status)
		fprintf(stderr, "caverun: error: %s [%s]\n", r.text, cave_code_name(r.code ? r.code : CAVE_FAILED));
	return status;
}
