/* SPDX-License-Identifier: MIT */
#include "runtime/refused/refused.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cave/hooks.h"

/* Keeps the descriptor if it is of the map that is sought. */
static bool keep_map(int fd, const struct bpf_map_info *info, struct counts *c)
{
	if (!strcmp(info->name, CAVE_DENIALS_MAP) && info->key_size == sizeof(struct cave_denial) &&
	    info->value_size == sizeof(uint64_t) && c->denials < 0)
		c->denials = fd;
	else if (!strcmp(info->name, CAVE_UNCOUNTED_MAP) && info->value_size == sizeof(uint64_t) && c->uncounted < 0)
		c->uncounted = fd;
	else
		return false;
	return true;
}

static void find_maps(const uint32_t *id, uint32_t n, struct counts *c)
{
	for (uint32_t i = 0; i < n; i++) {
		struct bpf_map_info info = { .type = 0 };
		uint32_t size = sizeof info;
		int fd = bpf_map_get_fd_by_id(id[i]);

		if (fd >= 0 && (bpf_obj_get_info_by_fd(fd, &info, &size) || !keep_map(fd, &info, c)))
			close(fd);
	}
}

/* All programs of a policy share its maps: those of the first are all. */
int counts_open(int group, struct counts *out)
{
	struct bpf_prog_info info = { .type = 0 };
	uint32_t maps[CAVE_MAPS_MAX], program[2], n = 1, flags, size = sizeof info;
	int fd;

	*out = (struct counts){ -1, -1 };
	if (bpf_prog_query(group, BPF_CGROUP_INET4_CONNECT, 0, &flags, program, &n))
		return errno;
	if (n != 1)
		return ENOENT;
	fd = bpf_prog_get_fd_by_id(program[0]);
	if (fd < 0)
		return errno;
	info.nr_map_ids = CAVE_MAPS_MAX;
	info.map_ids = (uintptr_t)maps;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		info.nr_map_ids = 0;
	close(fd);
	find_maps(maps, info.nr_map_ids < CAVE_MAPS_MAX ? info.nr_map_ids : CAVE_MAPS_MAX, out);
	return out->denials < 0 || out->uncounted < 0 ? ENOENT : 0;
}

int denied_order(const void *x, const void *y)
{
	const struct denied *a = x, *b = y;
	int order = memcmp(a->what.word, b->what.word, sizeof a->what.word);

	if (order)
		return order;
	if (a->what.port != b->what.port)
		return a->what.port < b->what.port ? -1 : 1;
	return memcmp(&a->what, &b->what, sizeof a->what);
}

long counts_read(const struct counts *c, struct denied **out, uint64_t *lost)
{
	struct denied *all = NULL;
	struct cave_denial *last = NULL;
	size_t n = 0, cap = 0;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(c->uncounted, &zero, lost))
		return -1;
	for (;;) {
		struct denied d;

		if (bpf_map_get_next_key(c->denials, last, &d.what))
			break;
		if (n == cap) {
			struct denied *more = realloc(all, (cap = cap ? 2 * cap : 64) * sizeof *all);

			if (!more) {
				free(all);
				errno = ENOMEM;
				return -1;
			}
			all = more;
		}
		if (bpf_map_lookup_elem(c->denials, &d.what, &d.count))
			break;
		all[n] = d;
		last = &all[n++].what;
	}
	if (n)
		qsort(all, n, sizeof *all, denied_order);
	*out = all;
	return (long)n;
}
