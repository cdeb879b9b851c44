/* SPDX-License-Identifier: MIT */
#include "compiler/artefact_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cave/artefact.h"

void *artefact_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *data = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		if (S_ISREG(st.st_mode) && st.st_size <= CAVE_ARTEFACT_MAX)
			data = malloc((size_t)st.st_size + 1);
		if (data && (*size = (size_t)st.st_size, read(fd, data, *size) != st.st_size)) {
			free(data);
			data = NULL;
		}
	}
	close(fd);
	return data;
}
