/* SPDX-License-Identifier: MIT */
#include "bpf/hosts.h"

#include <netinet/in.h>
#include <string.h>

/* Walks the record while it is checked; `left` bytes stand at `at`. */
struct walk {
	const uint8_t *data;
	size_t at, left;
};

static const void *take(struct walk *w, size_t n)
{
	size_t padded = (n + 3) & ~(size_t)3;
	const void *here = w->data + w->at;

	if (padded < n || padded > w->left)
		return NULL;
	w->at += padded;
	w->left -= padded;
	return here;
}

/* --- the check ------------------------------------------------------------------------------------ */

static bool check_class(struct walk *w)
{
	const struct cave_host_class *c = take(w, sizeof *c);
	const struct cave_host_ports *p;

	if (!c || !c->ports || c->ports > w->left / sizeof *p)
		return false;
	p = take(w, c->ports * sizeof *p);
	for (uint32_t i = 0; i < c->ports; i++)
		if ((p[i].protocol != IPPROTO_TCP && p[i].protocol != IPPROTO_UDP) || !p[i].lo || p[i].lo > p[i].hi ||
		    p[i].zero)
			return false;
	return true;
}

static int compare(const uint32_t *a, const uint32_t *b, unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* Ranges of addresses of `words` words: sorted and disjoint. */
static bool check_ranges(struct walk *w, uint32_t n, unsigned words)
{
	size_t size = 2 * words * sizeof(uint32_t);
	const uint32_t *r = n > w->left / size ? NULL : take(w, n * size);

	if (!r)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *lo = r + (size_t)2 * words * i;

		if (compare(lo, lo + words, words) > 0 || (i && compare(lo - words, lo, words) >= 0))
			return false;
	}
	return true;
}

static bool check_place(struct walk *w)
{
	const struct cave_host_place *p = take(w, sizeof *p);

	return p && !(p->flags & ~(uint32_t)CAVE_HOST_ANYWHERE) && check_ranges(w, p->v4, 1) &&
	       check_ranges(w, p->v6, 4);
}

static bool check_name(struct walk *w)
{
	const struct cave_host_name *n = take(w, sizeof *n);
	const char *text = n && n->length && n->length <= CAVE_HOST_NAME ? take(w, n->length) : NULL;

	if (!text || n->flags & ~CAVE_HOST_BELOW)
		return false;
	for (size_t i = 0; i < n->length; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9') &&
		    !strchr("-_.", text[i] ? text[i] : ' '))
			return false;
	return text[0] != '.' && text[n->length - 1] != '.';
}

static bool check_grant(struct walk *w, const struct cave_hosts *h)
{
	const struct cave_host_grant *g = take(w, sizeof *g);

	if (!g || g->class >= h->classes || g->place >= h->places || g->zero)
		return false;
	for (unsigned i = 0; i <= g->excepts; i++)
		if (!check_name(w))
			return false;
	return true;
}

bool hosts_open(const void *data, size_t n, struct hosts *out)
{
	struct walk w = { data, 0, n };
	const struct cave_hosts *h = take(&w, sizeof *h);
	struct hosts view = { .data = data };

	if (!h || h->classes > CAVE_HOST_CLASSES || h->places > CAVE_HOST_PLACES || h->grants > CAVE_HOST_GRANTS ||
	    h->denials > CAVE_HOST_GRANTS)
		return false;
	view.nclasses = h->classes;
	view.nplaces = h->places;
	view.nshut = h->shut;
	view.ngrants = h->grants;
	view.ndenials = h->denials;
	view.classes = w.at;
	for (uint32_t i = 0; i < h->classes; i++)
		if (!check_class(&w))
			return false;
	view.places = w.at;
	for (uint32_t i = 0; i < h->places; i++)
		if (!check_place(&w))
			return false;
	view.shut = w.at;
	if (!check_ranges(&w, h->shut, 1))
		return false;
	view.grants = w.at;
	for (uint32_t i = 0; i < h->grants; i++)
		if (!check_grant(&w, h))
			return false;
	view.denials = w.at;
	for (uint32_t i = 0; i < h->denials; i++)
		if (!check_name(&w))
			return false;
	if (w.left)
		return false;
	*out = view;
	return true;
}

/* --- reading what has been checked ---------------------------------------------------------------- */

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* True if the name at *at speaks of `name`; *at is then behind it, either way. */
static bool name_matches(const struct hosts *h, size_t *at, const char *name, size_t length)
{
	const struct cave_host_name *n = (const void *)(h->data + *at);
	const char *text = (const char *)(n + 1);

	*at += sizeof *n + padded(n->length);
	if (!(n->flags & CAVE_HOST_BELOW))
		return length == n->length && memcmp(name, text, length) == 0;
	return length > n->length + 1u && name[length - n->length - 1] == '.' &&
	       memcmp(name + length - n->length, text, n->length) == 0;
}

bool hosts_denied(const struct hosts *h, const char *name)
{
	size_t at = h->denials, length = strlen(name);

	for (uint32_t i = 0; i < h->ndenials; i++)
		if (name_matches(h, &at, name, length))
			return true;
	return false;
}

bool hosts_match(const struct hosts *h, const char *name, size_t *at, struct host_match *out)
{
	size_t length = strlen(name);

	if (!*at)
		*at = h->grants;
	while (*at < h->denials) {
		const struct cave_host_grant *g = (const void *)(h->data + *at);
		bool match;

		*at += sizeof *g;
		match = name_matches(h, at, name, length);
		for (unsigned i = 0; i < g->excepts; i++)
			match = !name_matches(h, at, name, length) && match;
		if (match) {
			*out = (struct host_match){ g->class, g->place };
			return true;
		}
	}
	return false;
}

static bool in_ranges(const uint32_t *r, uint32_t n, unsigned words, const uint32_t *a)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *lo = r + (size_t)2 * words * i;

		if (compare(lo, a, words) <= 0 && compare(a, lo + words, words) <= 0)
			return true;
	}
	return false;
}

bool hosts_in_place(const struct hosts *h, unsigned place, const struct host_address *a, bool *global)
{
	size_t at = h->places;

	for (;; place--) {
		const struct cave_host_place *p = (const void *)(h->data + at);
		const uint32_t *v4 = (const uint32_t *)(p + 1), *v6 = v4 + (size_t)2 * p->v4;

		if (!place) {
			*global = p->flags & CAVE_HOST_ANYWHERE;
			return a->six ? in_ranges(v6, p->v6, 4, a->word) : in_ranges(v4, p->v4, 1, a->word + 3);
		}
		at = (size_t)((const uint8_t *)(v6 + (size_t)8 * p->v6) - h->data);
	}
}

bool hosts_shut(const struct hosts *h, uint32_t v4)
{
	return in_ranges((const void *)(h->data + h->shut), h->nshut, 1, &v4);
}

bool hosts_ports(const struct hosts *h, unsigned class, size_t *at, struct cave_host_ports *out)
{
	size_t here = h->classes;

	for (;; class --) {
		const struct cave_host_class *c = (const void *)(h->data + here);
		const struct cave_host_ports *p = (const void *)(c + 1);

		if (!class) {
			if (*at >= c->ports)
				return false;
			*out = p[(*at)++];
			return true;
		}
		here += sizeof *c + c->ports * sizeof *p;
	}
}

/* --- showing -------------------------------------------------------------------------------------- */

struct host_text hosts_name(const struct hosts *h, size_t *at)
{
	const struct cave_host_name *n = (const void *)(h->data + *at);

	*at += sizeof *n + padded(n->length);
	return (struct host_text){ n->flags & CAVE_HOST_BELOW, (const char *)(n + 1), n->length };
}

const struct cave_host_grant *hosts_grant(const struct hosts *h, size_t *at)
{
	const struct cave_host_grant *g = (const void *)(h->data + *at);

	*at += sizeof *g;
	return g;
}
