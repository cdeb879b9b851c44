/* SPDX-License-Identifier: MIT */
#include "compiler/manifest.h"

#include "compiler/hosts.h"
#include "compiler/system_set.h"

static const char *const hook_section[] = {
#define X(symbol, section, prog_type, attach_type) section,
	CAVE_HOOKS(X)
#undef X
};

static void put_record(struct buffer *b, enum cave_record_type type, unsigned flags, const void *payload, size_t n)
{
	struct cave_record record = { (uint16_t)type, (uint16_t)flags, (uint32_t)n };

	buffer_add(b, &record, sizeof record);
	buffer_add(b, payload, n);
	buffer_align(b, 8);
}

static void put_string(struct buffer *b, enum cave_record_type type, unsigned flags, const char *s)
{
	put_record(b, type, flags, s, strlen(s));
}

/* Passed variables come before those that are set, as their types do. */
static void put_env(struct buffer *b, const struct policy *p)
{
	static const char places[] = { CAVE_ENV_WORKSPACE_BYTE, CAVE_ENV_TMP_BYTE, CAVE_ENV_HOME_BYTE,
				       CAVE_ENV_SLOT_BYTE, 0 };

	for (size_t i = 0; i < p->nenv; i++)
		if (!p->env[i].value)
			put_string(b, CAVE_RECORD_ENV_PASS, 0, p->env[i].name);
	for (size_t i = 0; i < p->nenv; i++) {
		const struct env_entry *e = &p->env[i];
		struct buffer payload = { .arena = b->arena };

		if (!e->value)
			continue;
		buffer_add(&payload, e->name, strlen(e->name) + 1);
		buffer_add(&payload, e->value, strlen(e->value));
		put_record(b, CAVE_RECORD_ENV_SET,
			   strpbrk(e->value, places) ? CAVE_ENV_PLACES : 0, payload.data, payload.n);
	}
}

static void put_files(struct buffer *b, const struct policy *p)
{
	if (p->base_files)
		for (size_t i = 0; i < system_set_size; i++)
			put_string(b, CAVE_RECORD_FILE,
				   system_set[i].flags | CAVE_FILE_SYSTEM | CAVE_FILE_OPTIONAL, system_set[i].path);
	for (size_t i = 0; i < p->nfiles; i++)
		put_string(b, CAVE_RECORD_FILE, p->file[i].flags, p->file[i].path);
}

static void put_filter(struct buffer *b, uint32_t arch, const struct filter_program *filter)
{
	struct cave_filter header = { arch, (uint32_t)filter->npatches };
	struct buffer payload = { .arena = b->arena };

	buffer_add(&payload, &header, sizeof header);
	buffer_add(&payload, filter->patch, filter->npatches * sizeof *filter->patch);
	put_record(b, CAVE_RECORD_FILTER, 0, payload.data, payload.n);
}

static void put_resolver(struct buffer *b, const struct hook_program *hook)
{
	struct buffer payload = { .arena = b->arena };

	for (size_t i = 0; i < CAVE_HOOK_COUNT; i++)
		buffer_add(&payload, hook[i].patch, hook[i].npatches * sizeof *hook[i].patch);
	if (payload.n)
		put_record(b, CAVE_RECORD_RESOLVER, 0, payload.data, payload.n);
}

static void put_maps(struct buffer *b, const struct map_list *maps)
{
	for (size_t i = 0; maps && i < maps->n; i++) {
		const struct map_def *m = &maps->map[i];
		struct buffer payload = { .arena = b->arena };

		buffer_add(&payload, &m->spec, sizeof m->spec);
		buffer_add(&payload, m->name, strlen(m->name));
		put_record(b, CAVE_RECORD_MAP, 0, payload.data, payload.n);
	}
}

static void put_hosts(struct buffer *b, const struct host_set *hosts)
{
	struct buffer payload = { .arena = b->arena };

	if (!hosts)
		return;
	hosts_record(hosts, &payload);
	put_record(b, CAVE_RECORD_HOSTS, 0, payload.data, payload.n);
}

static void put_reach(struct buffer *b, const struct net_reach *reach)
{
	const struct cave_reach payload = { reach->v4, reach->v6 };

	put_record(b, CAVE_RECORD_REACH, 0, &payload, sizeof payload);
}

static void put_nested(struct buffer *b, const struct nested_profiles *nested)
{
	for (size_t i = 0; nested && i < nested->n; i++) {
		struct buffer payload = { .arena = b->arena };

		buffer_add(&payload, nested->item[i].identity, CAVE_DIGEST_SIZE);
		buffer_add(&payload, nested->item[i].name, strlen(nested->item[i].name));
		put_record(b, CAVE_RECORD_PROFILE, 0, payload.data, payload.n);
	}
}

void manifest_write(const struct policy *p, const struct filter_program filter[ARTEFACT_ARCHES],
		    const struct hook_program *hook, const struct net_set *set,
		    const struct nested_profiles *nested, struct buffer *out)
{
	struct cave_manifest_header header = {
		.magic = CAVE_MANIFEST_MAGIC,
		.version = CAVE_MANIFEST_VERSION,
		.requires = (hook ? CAVE_REQUIRE_EGRESS : 0) | (p->requires_mounts ? CAVE_REQUIRE_MOUNTS : 0),
	};

	buffer_add(out, &header, sizeof header);
	put_string(out, CAVE_RECORD_NAME, 0, p->name);
	for (size_t i = 0; i < p->ncredentials; i++)
		put_string(out, CAVE_RECORD_CREDENTIAL, 0, p->credential[i]);
	put_env(out, p);
	put_files(out, p);
	for (int arch = 0; arch < ARTEFACT_ARCHES; arch++)
		put_filter(out, artefact_arch_audit(arch), &filter[arch]);
	for (size_t i = 0; hook && i < CAVE_HOOK_COUNT; i++)
		if (hook[i].n)
			put_string(out, CAVE_RECORD_PROGRAM, 0, hook_section[i]);
	if (hook) {
		put_resolver(out, hook);
		put_maps(out, hook->maps);
	}
	put_record(out, CAVE_RECORD_LIMITS, 0, &p->limits, sizeof p->limits);
	if (p->children)
		put_record(out, CAVE_RECORD_CHILDREN, 0, &(struct cave_children){ p->max_processes, 0 },
			   sizeof(struct cave_children));
	put_nested(out, nested);
	if (hook) {
		put_hosts(out, set->hosts);
		put_reach(out, &set->reach);
	}
	header.size = (uint32_t)out->n;
	memcpy(out->data, &header, sizeof header);
}
