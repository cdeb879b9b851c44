/* SPDX-License-Identifier: MIT */
#include "runtime/place.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/kernel.h"

static const struct mount *find_mount(const struct mounts *mounts, uint64_t id)
{
	for (size_t i = 0; i < mounts->n; i++)
		if (mounts->mount[i].id == id)
			return &mounts->mount[i];
	return NULL;
}

/* "/a" and "/b/c" are "/a/b/c", "/" being nothing. */
static const char *join(struct memory *m, const char *root, const char *below)
{
	return memory_printf(m, "%s%s", strcmp(root, "/") ? root : "", below);
}

bool place_of(struct memory *m, const struct mounts *mounts, int fd, const char *path, struct place *out)
{
	const struct mount *mount;
	struct k_statx st;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, K_STATX_MNT_ID, &st) || !(st.mask & K_STATX_MNT_ID))
		return false;
	mount = find_mount(mounts, st.mount_id);
	if (mount && path_within(path, mount->point)) {
		const char *below = path + (strcmp(mount->point, "/") ? strlen(mount->point) : 0);

		*out = (struct place){ st.mount_id, true, mount->device, join(m, mount->root, below) };
	} else {
		*out = (struct place){ st.mount_id, false,
				       memory_printf(m, "%u:%u", st.device_major, st.device_minor), path };
	}
	return true;
}

static bool within(const struct place *place, const struct place *folder)
{
	if (strcmp(place->device, folder->device))
		return false;
	/* Paths of two mounts compare only if both are known within the file system. */
	if ((!place->listed || !folder->listed) && place->mount != folder->mount)
		return true;
	return path_within(place->path, folder->path);
}

bool place_covered(const struct mounts *mounts, const struct place *place, const struct covered *folder)
{
	if (within(place, &folder->place))
		return true;
	for (size_t i = 0; i < mounts->n; i++) {
		const struct mount *m = &mounts->mount[i];
		const struct place root = { m->id, true, m->device, m->root };

		if (path_within(m->point, folder->path) && within(place, &root))
			return true;
	}
	return false;
}
