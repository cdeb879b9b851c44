/* SPDX-License-Identifier: MIT */
#include "runtime/load_bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES = 5 };

int load_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	long result = -1;

	for (unsigned i = 0; i < TRIES; i++) {
		result = syscall(SYS_bpf, command, attr, sizeof *attr);
		if (result >= 0 || errno != EAGAIN)
			break;
	}
	return (int)result;
}

int load_bpf_btf(const void *data, size_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.btf = (uintptr_t)data;
	attr.btf_size = (uint32_t)size;
	return load_bpf(BPF_BTF_LOAD, &attr);
}

int load_bpf_map_update(int map, const void *key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return load_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

int load_bpf_map_freeze(int map)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)map;
	return load_bpf(BPF_MAP_FREEZE, &attr);
}

int load_bpf_attach(int program, int group, enum bpf_attach_type type)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.target_fd = (uint32_t)group;
	attr.attach_bpf_fd = (uint32_t)program;
	attr.attach_type = type;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	return load_bpf(BPF_PROG_ATTACH, &attr);
}

int load_bpf_query(int group, enum bpf_attach_type type, uint32_t flags, uint32_t *id, uint32_t *n)
{
	union bpf_attr attr;
	int result;

	memset(&attr, 0, sizeof attr);
	attr.query.target_fd = (uint32_t)group;
	attr.query.attach_type = type;
	attr.query.query_flags = flags;
	attr.query.prog_ids = (uintptr_t)id;
	attr.query.prog_cnt = *n;
	result = load_bpf(BPF_PROG_QUERY, &attr);
	*n = attr.query.prog_cnt;
	return result;
}

uint32_t load_bpf_id(int program)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof info);
	memset(&attr, 0, sizeof attr);
	attr.info.bpf_fd = (uint32_t)program;
	attr.info.info_len = sizeof info;
	attr.info.info = (uintptr_t)&info;
	return load_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) ? 0 : info.id;
}
