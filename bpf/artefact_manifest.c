/* SPDX-License-Identifier: MIT */
/* Checks the manifest of an artefact: its frame, each record, and what must be there because of them. */
#include "bpf/artefact_check.h"

#include <string.h>

#include "bpf/limits.h"

static struct cave_manifest_header manifest_header(const struct artefact *a)
{
	struct cave_manifest_header h;

	memcpy(&h, a->manifest.data, sizeof h);
	return h;
}

static bool check_manifest_header(struct artefact *a, struct artefact_error *error)
{
	struct cave_manifest_header h;

	if (a->manifest.size < sizeof h || a->manifest.size > ARTEFACT_MANIFEST_MAX ||
	    a->manifest.size % 8)
		return fail(error, "cave.manifest: %zu bytes cannot be a manifest", a->manifest.size);
	h = manifest_header(a);
	if (h.magic != CAVE_MANIFEST_MAGIC)
		return fail(error, "cave.manifest: it does not begin as one");
	if (h.version != CAVE_MANIFEST_VERSION)
		return fail(error, "cave.manifest: version %u, and only %u is known here: "
				   "compile the profile again, or use the caverun of its cavec",
			    h.version, CAVE_MANIFEST_VERSION);
	if (h.size != a->manifest.size)
		return fail(error, "cave.manifest: it has %zu bytes and says %u", a->manifest.size,
			    h.size);
	if (h.requires & ~(unsigned)(CAVE_REQUIRE_EGRESS | CAVE_REQUIRE_MOUNTS))
		return fail(error, "cave.manifest: unknown requirements 0x%x", h.requires);
	a->requires = h.requires;
	return true;
}

bool artefact_next(const struct artefact *a, size_t *at, struct artefact_record *out)
{
	const char *manifest = a->manifest.data;
	struct cave_record r;

	if (!*at)
		*at = sizeof(struct cave_manifest_header);
	if (*at >= a->manifest.size)
		return false;
	memcpy(&r, manifest + *at, sizeof r);
	*out = (struct artefact_record){ r.type, r.flags, manifest + *at + sizeof r, r.length };
	*at += sizeof r + ((size_t)r.length + 7) / 8 * 8;
	return true;
}

/* Frames: every record lies inside, in ascending order of type, padded with zero bytes. */
static bool check_frames(const struct artefact *a, struct artefact_error *error)
{
	const char *manifest = a->manifest.data;
	unsigned last = 0;

	for (size_t at = sizeof(struct cave_manifest_header); at < a->manifest.size;) {
		size_t left = a->manifest.size - at - sizeof(struct cave_record), end;
		struct cave_record r;

		memcpy(&r, manifest + at, sizeof r);
		if (r.length > left)
			return fail(error, "cave.manifest: the record at %zu reaches outside", at);
		if (r.type < CAVE_RECORD_NAME || r.type > CAVE_RECORD_REACH)
			return fail(error, "cave.manifest: unknown record type %u at %zu", r.type, at);
		if (r.type < last)
			return fail(error, "cave.manifest: the record at %zu is out of order", at);
		last = r.type;
		end = at + sizeof r + r.length;
		at += sizeof r + ((size_t)r.length + 7) / 8 * 8;
		for (; end < at; end++)
			if (manifest[end])
				return fail(error, "cave.manifest: padding before %zu is not zero", at);
	}
	return true;
}

static bool is_text(const char *s, size_t n, size_t max)
{
	if (n > max)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return true;
}

/* [A-Za-z_][A-Za-z0-9_]* */
static bool is_variable(const char *s, size_t n)
{
	if (!n || n > ARTEFACT_NAME_MAX || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(s[i] == '_' || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') ||
		      (s[i] >= '0' && s[i] <= '9')))
			return false;
	return true;
}

static size_t variable_length(const struct artefact_record *r)
{
	const char *nul = r->type == CAVE_RECORD_ENV_SET ? memchr(r->payload, 0, r->length) : NULL;

	return nul ? (size_t)(nul - r->payload) : r->length;
}

/* No variable is granted twice: two values for one name have no single meaning. */
static bool variable_is_new(const struct artefact *a, const struct artefact_record *r)
{
	size_t n = variable_length(r), at = 0;
	struct artefact_record other;

	while (artefact_next(a, &at, &other) && other.payload != r->payload)
		if (other.type >= CAVE_RECORD_CREDENTIAL && other.type <= CAVE_RECORD_ENV_SET &&
		    variable_length(&other) == n && !memcmp(other.payload, r->payload, n))
			return false;
	return true;
}

bool artefact_slot_valid(const char *s, size_t n)
{
	if (!n || n > ARTEFACT_SLOT_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') ||
		      s[i] == '_' || s[i] == '-'))
			return false;
	return true;
}

/* How many bytes at `s` stand for a place; 0 if they do not. */
static size_t place_length(const char *s, size_t n)
{
	const char *end;

	if (*s >= CAVE_ENV_WORKSPACE_BYTE && *s <= CAVE_ENV_HOME_BYTE)
		return 1;
	if (*s != CAVE_ENV_SLOT_BYTE)
		return 0;
	end = memchr(s + 1, CAVE_ENV_SLOT_BYTE, n - 1);
	return end && artefact_slot_valid(s + 1, (size_t)(end - s) - 1) ? (size_t)(end - s) + 1 : 0;
}

/* The value of an ENV_SET: text, in which a tab and places may stand as well. */
static bool is_value(const struct artefact_record *r)
{
	for (size_t i = variable_length(r) + 1; i < r->length; i++) {
		unsigned char c = (unsigned char)r->payload[i];
		size_t place = r->flags & CAVE_ENV_PLACES ? place_length(r->payload + i, r->length - i) : 0;

		if (place)
			i += place - 1;
		else if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* The messages give the position only: a credential's name is never echoed. */
static bool check_variable(const struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
			   struct artefact_error *error)
{
	bool sets = r->type == CAVE_RECORD_ENV_SET;

	if (++t->env > ARTEFACT_ENV_MAX)
		return fail(error, "cave.manifest: more than %d variables", ARTEFACT_ENV_MAX);
	if (r->flags & ~(sets ? (unsigned)CAVE_ENV_PLACES : 0u))
		return fail(error, "cave.manifest: unknown flags 0x%x at %zu", r->flags, at);
	if (!is_variable(r->payload, variable_length(r)))
		return fail(error, "cave.manifest: the record at %zu names no variable", at);
	if (sets && (variable_length(r) == r->length || !is_value(r)))
		return fail(error, "cave.manifest: the record at %zu holds no value", at);
	if (!variable_is_new(a, r))
		return fail(error, "cave.manifest: the variable at %zu is there twice", at);
	return true;
}

/* "/proc/self/.." would be text below /proc/self and lead out of it. */
static bool goes_up(const char *path, size_t n)
{
	for (size_t at = 0, end; at < n; at = end + 1) {
		for (end = at; end < n && path[end] != '/'; end++)
			;
		if (end - at == 2 && path[at] == '.' && path[at + 1] == '.')
			return true;
	}
	return false;
}

/* What may be done: a grant reads at least, a denial nothing. */
static bool rights_agree(unsigned flags)
{
	const unsigned all = CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_EXECUTE;

	if (flags & CAVE_FILE_FOLDER && !(flags & CAVE_FILE_EXECUTE))
		return false;
	if (flags & CAVE_FILE_ONLY_WRITE && !(flags & CAVE_FILE_DENY))
		return false;
	if (flags & CAVE_FILE_DENY)
		return !(flags & (all | CAVE_FILE_SYSTEM | CAVE_FILE_SHM));
	return flags & CAVE_FILE_READ && (!(flags & CAVE_FILE_SHM) || (flags & all) == (CAVE_FILE_READ | CAVE_FILE_WRITE));
}

/* An absolute path, or one below the one base that the flags name. */
static bool path_agrees(const struct artefact_record *r, unsigned base)
{
	const char *slash;

	if (!base)
		return r->length && r->payload[0] == '/';
	if (r->length && r->payload[0] == '/')
		return false;
	if (base == CAVE_FILE_SHM)
		return !r->length;
	if (base != CAVE_FILE_SLOT)
		return true;
	slash = memchr(r->payload, '/', r->length);
	return artefact_slot_valid(r->payload, slash ? (size_t)(slash - r->payload) : r->length);
}

static bool check_file(const struct artefact_record *r, size_t at, struct tally *t, struct artefact_error *error)
{
	const unsigned known = CAVE_FILE_READ | CAVE_FILE_WRITE | CAVE_FILE_OPTIONAL | CAVE_FILE_SYSTEM |
			       CAVE_FILE_EXECUTE | CAVE_FILE_DENY | CAVE_FILE_FOLDER | CAVE_FILE_ONLY_WRITE |
			       CAVE_FILE_BASES;
	const unsigned base = r->flags & CAVE_FILE_BASES;

	if (++t->files > ARTEFACT_FILES_MAX)
		return fail(error, "cave.manifest: more than %d files", ARTEFACT_FILES_MAX);
	if (r->flags & ~known || !rights_agree(r->flags))
		return fail(error, "cave.manifest: flags 0x%x of the file at %zu", r->flags, at);
	if (!is_text(r->payload, r->length, ARTEFACT_PATH_MAX))
		return fail(error, "cave.manifest: the record at %zu holds no path", at);
	if (goes_up(r->payload, r->length))
		return fail(error, "cave.manifest: the path at %zu has a '..'", at);
	if (base & (base - 1) || (base && r->flags & CAVE_FILE_SYSTEM))
		return fail(error, "cave.manifest: the path at %zu has two bases", at);
	if (!path_agrees(r, base))
		return fail(error, "cave.manifest: the path at %zu and its flags 0x%x disagree", at,
			    r->flags);
	return true;
}


/* --- limits and children ------------------------------------------------------------------------- */

static bool read_limits(struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
			struct artefact_error *error)
{
	struct cave_limits limits;

	if (t->limits++ || r->flags || r->length != sizeof limits)
		return fail(error, "cave.manifest: the record at %zu holds no limits", at);
	memcpy(&limits, r->payload, sizeof limits);
	for (unsigned i = 0; i < CAVE_LIMITS; i++)
		if (!limit_valid(i, limits.value[i]))
			return fail(error, "cave.manifest: the limit %s at %zu is none", limit_table[i].name, at);
	a->limits = limits;
	return true;
}

static bool read_children(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error)
{
	struct cave_children children;

	if (a->children || r->flags || r->length != sizeof children)
		return fail(error, "cave.manifest: the record at %zu describes no children", at);
	memcpy(&children, r->payload, sizeof children);
	if (children.max > CAVE_CHILDREN_MAX || children.reserved)
		return fail(error, "cave.manifest: %u children at %zu, at most %d are known here", children.max, at,
			    CAVE_CHILDREN_MAX);
	a->children = true;
	a->max_children = children.max;
	return true;
}

/* --- all records, and what must be there because of them ----------------------------------------- */




static bool read_reach(struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
		       struct artefact_error *error)
{
	if (t->reaches++ || r->flags || r->length != sizeof a->reach)
		return fail(error, "cave.manifest: the record at %zu is no reach", at);
	memcpy(&a->reach, r->payload, sizeof a->reach);
	return true;
}

/* Names ascend, as strings do. */
static bool name_follows(const struct artefact_record *last, const struct artefact_record *r)
{
	size_t n, m;
	const char *a = artefact_nested_name(last, &n), *b = artefact_nested_name(r, &m);
	int order = memcmp(a, b, n < m ? n : m);

	return order < 0 || (!order && n < m);
}

static bool check_profile(const struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
			  struct artefact_error *error)
{
	const char *name;
	size_t n;

	if (t->nested++ == ARTEFACT_NESTED_MAX)
		return fail(error, "cave.manifest: more than %d nested profiles", ARTEFACT_NESTED_MAX);
	if (r->flags || r->length <= CAVE_DIGEST_SIZE ||
	    !is_text(r->payload + CAVE_DIGEST_SIZE, r->length - CAVE_DIGEST_SIZE, ARTEFACT_NAME_MAX))
		return fail(error, "cave.manifest: the record at %zu is no nested profile", at);
	if (t->nested > 1 && !name_follows(&t->profile, r))
		return fail(error, "cave.manifest: the nested profile at %zu is out of order, or twice", at);
	t->profile = *r;
	name = artefact_nested_name(r, &n);
	return nested_section(a, name, n) || fail(error, "there is no section for the nested profile at %zu", at);
}

/* Names are of no use without the programs that know their addresses. */
static bool read_hosts(struct artefact *a, const struct artefact_record *r, size_t at, struct artefact_error *error)
{
	if (a->host_record || r->flags || !(a->requires & CAVE_REQUIRE_EGRESS) ||
	    !hosts_open(r->payload, r->length, &a->hosts))
		return fail(error, "cave.manifest: the record at %zu holds no host names", at);
	a->host_record = r->payload;
	a->host_record_size = r->length;
	return true;
}

static bool check_record(struct artefact *a, const struct artefact_record *r, size_t at, struct tally *t,
			 struct artefact_error *error)
{
	switch (r->type) {
	case CAVE_RECORD_NAME:
		if (t->names++ || r->flags || !r->length ||
		    !is_text(r->payload, r->length, ARTEFACT_NAME_MAX))
			return fail(error, "cave.manifest: the record at %zu is no name", at);
		return true;
	case CAVE_RECORD_CREDENTIAL:
	case CAVE_RECORD_ENV_PASS:
	case CAVE_RECORD_ENV_SET:
		return check_variable(a, r, at, t, error);
	case CAVE_RECORD_FILE:
		return check_file(r, at, t, error);
	case CAVE_RECORD_FILTER:
		return check_filter_record(a, r, at, error);
	case CAVE_RECORD_PROGRAM:
		return check_program_record(r, at, t, error);
	case CAVE_RECORD_RESOLVER:
		return check_resolver_record(a, r, at, error);
	case CAVE_RECORD_MAP:
		return check_map_record(a, r, at, error);
	case CAVE_RECORD_PROFILE:
		return check_profile(a, r, at, t, error);
	case CAVE_RECORD_REACH:
		return read_reach(a, r, at, t, error);
	case CAVE_RECORD_LIMITS:
		return read_limits(a, r, at, t, error);
	case CAVE_RECORD_CHILDREN:
		return read_children(a, r, at, error);
	case CAVE_RECORD_HOSTS:
		return read_hosts(a, r, at, error);
	}
	return fail(error, "cave.manifest: unknown record type %d at %zu", (int)r->type, at);
}



bool read_manifest(struct artefact *a, struct artefact_error *error)
{
	struct artefact_record r;
	struct tally t = { 0 };
	size_t next = 0, at = sizeof(struct cave_manifest_header);

	if (!check_manifest_header(a, error) || !check_frames(a, error))
		return false;
	for (; artefact_next(a, &next, &r); at = next)
		if (!check_record(a, &r, at, &t, error))
			return false;
	if (t.names != 1)
		return fail(error, "cave.manifest: the profile has no name");
	if (t.reaches != !!(a->requires & CAVE_REQUIRE_EGRESS))
		return fail(error, "cave.manifest: a reach is %s", t.reaches ? "there without a network" : "missing");
	return check_filters(a, error) && read_programs(a, &t, error) &&
	       check_resolver_places(a, error) && check_maps(a, error);
}
