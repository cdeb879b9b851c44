/* SPDX-License-Identifier: MIT */
#include "runtime/maps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cave/artefact.h"

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int by_id(int command, uint32_t id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.prog_id = id; /* the same place as map_id */
	return (int)bpf(command, &attr);
}

static int info_of(int fd, void *info, uint32_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = size;
	attr.info.info = (uintptr_t)info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) ? errno : 0;
}

/* Which of the names the map has; `n` if none.  Kernels cut names at BPF_OBJ_NAME_LEN, and so are ours at most. */
static size_t which(int map, const char *const name[], size_t n)
{
	struct bpf_map_info info;
	size_t i = 0;

	memset(&info, 0, sizeof info);
	if (info_of(map, &info, sizeof info))
		return n;
	while (i < n && strncmp(info.name, name[i], sizeof info.name) != 0)
		i++;
	return i;
}

/* The ids of the maps that the program uses; an errno. */
static int list_maps(uint32_t program, uint32_t id[CAVE_MAPS_MAX], uint32_t *n)
{
	struct bpf_prog_info info;
	int fd = by_id(BPF_PROG_GET_FD_BY_ID, program), error;

	if (fd < 0)
		return errno;
	memset(&info, 0, sizeof info);
	info.nr_map_ids = CAVE_MAPS_MAX;
	info.map_ids = (uintptr_t)id;
	error = info_of(fd, &info, sizeof info);
	close(fd);
	*n = info.nr_map_ids < CAVE_MAPS_MAX ? info.nr_map_ids : CAVE_MAPS_MAX;
	return error;
}

bool maps_open(uint32_t program, const char *const name[], int out[], size_t n)
{
	uint32_t id[CAVE_MAPS_MAX], nids = 0;
	int error = list_maps(program, id, &nids);
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		out[i] = -1;
	for (uint32_t i = 0; !error && i < nids && found < n; i++) {
		int fd = by_id(BPF_MAP_GET_FD_BY_ID, id[i]);
		size_t k = fd < 0 ? n : which(fd, name, n);

		if (k < n && out[k] < 0) {
			out[k] = fd;
			found++;
		} else if (fd >= 0) {
			close(fd);
		}
	}
	for (size_t i = 0; i < n && found < n; i++)
		if (out[i] >= 0)
			close(out[i]);
	errno = error ? error : ENOENT;
	return found == n;
}

static int element(int command, int map, const void *key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return bpf(command, &attr) ? errno : 0;
}

int map_set(int map, const void *key, const void *value)
{
	return element(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int map_get(int map, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int map_delete(int map, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, map, key, NULL);
}

bool map_next(int map, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, map, key, next) == 0;
}
