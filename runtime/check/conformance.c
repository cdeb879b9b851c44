/* SPDX-License-Identifier: MIT */
/*
 * Whether a policy holds on this host: the battery is tried outside, where all of it must get through for the test to
 * mean anything, and then inside.
 */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cave.h"
#include "runtime/check/attempt.h"
#include "runtime/check/check.h"
#include "runtime/check/granted.h"
#include "runtime/identity.h"
#include "runtime/json.h"
#include "runtime/kernel.h"
#include "runtime/mountinfo.h"
#include "runtime/policy.h"
#include "runtime/privilege.h"

enum verdict {
	VERDICT_PASS, /* refused, and outside it was not */
	VERDICT_FAIL,
	VERDICT_GRANTED, /* it got through, as the policy says it may */
	VERDICT_UNPROVEN, /* refused, and outside too: no proof of anything */
};

struct result {
	struct outcome outside, inside;
	enum verdict verdict;
};

/* One policy, tested. */
struct test {
	const struct check_options *options;
	const char *probe, *policy_path;
	struct cave_policy *policy;
	char **env;
	struct outside outside;
	struct result *of; /* of each row */
	bool failed;
	const char *prefix; /* of its fields */
};

/* What a report is of: one policy; or the two of the product, the second where this host can bound a network. */
struct report {
	struct test test[2];
	size_t n;
};

enum { REPORT_MAX = 1 << 17 };

/* --- what is granted ------------------------------------------------------------------------------- */

static bool text_has(const struct artefact *a, const char *words)
{
	return memmem(a->policy.data, a->policy.size, words, strlen(words)) != NULL;
}

static bool is_granted(const struct test *t, const struct row *row)
{
	const struct artefact *a = t->policy->artefact;
	bool datagram = !strncmp(row->attempt, "udp", 3);
	unsigned port = strstr(row->attempt, "%T") ? t->outside.tcp_port :
			strstr(row->attempt, "%U") ? t->outside.udp_port :
			strstr(row->attempt, "%X") ? t->outside.tcp6_port :
			strstr(row->attempt, "%Y") ? t->outside.udp6_port : 53;

	if (row->to)
		return granted_reach(a, row->to, port, datagram);
	return row->grant && text_has(a, row->grant);
}

/* A folder that no file grant of the policy leads into. */
static bool is_ungranted(const struct artefact *a, const char *folder)
{
	struct artefact_record record;
	char path[ARTEFACT_PATH_MAX + 1];

	for (size_t at = 0; artefact_next(a, &at, &record);) {
		if (record.type != CAVE_RECORD_FILE || record.flags & (CAVE_FILE_RELATIVE | CAVE_FILE_WORKSPACE))
			continue;
		memcpy(path, record.payload, record.length);
		path[record.length] = '\0';
		if (*path != '/' || path_within(folder, path) || path_within(path, folder))
			return false;
	}
	return true;
}

/* --- judging --------------------------------------------------------------------------------------- */

/*
 * An errno that a sandbox refuses with: others are faults of the attempt.  The first three are those of a filter; the
 * others are refusals only of what gets through outside.
 */
static bool is_refusal(const struct row *row, const struct outcome *o)
{
	static const int errors[] = { EPERM, EACCES, ENOSYS, EROFS, EXDEV, ENOENT, EPROTONOSUPPORT, EAFNOSUPPORT };
	const size_t n = row->how == ROW_CALL ? 3 : sizeof errors / sizeof *errors;

	for (size_t i = 0; i < n; i++)
		if (o->answered && !o->allowed && o->error == errors[i])
			return true;
	return false;
}

static bool got_through(const struct row *row, const struct outcome *o)
{
	if (row->how == ROW_CALL)
		return o->answered && !is_refusal(row, o);
	if (row->how == ROW_ALONE && !o->answered)
		return o->status == 0;
	return o->answered && o->allowed;
}

static bool prints(const struct outcome *o, const char *word)
{
	return o->answered && o->said && strstr(o->said, word);
}

static enum verdict proved(bool inside, bool outside)
{
	return !inside ? VERDICT_FAIL : outside ? VERDICT_PASS : VERDICT_UNPROVEN;
}

static enum verdict judge(const struct test *t, const struct row *row, const struct result *of)
{
	const struct outcome *in = &of->inside, *out = &of->outside;

	switch (row->how) {
	case ROW_ALLOWED:
		return proved(in->answered && in->allowed, true);
	case ROW_USUAL:
		if (in->answered && in->allowed)
			return VERDICT_PASS;
		return t->options->policy ? VERDICT_UNPROVEN : VERDICT_FAIL;
	case ROW_LACKS:
		return proved(in->answered && !prints(in, row->word), prints(out, row->word));
	case ROW_HAS:
		return proved(prints(in, row->word), out->answered && !prints(out, row->word));
	case ROW_KILLED:
		return proved(!in->answered && in->status == STATUS_SIGNALLED + 31, out->answered && out->allowed);
	default:
		if (got_through(row, in))
			return is_granted(t, row) ? VERDICT_GRANTED : VERDICT_FAIL;
		return proved(is_refusal(row, in), got_through(row, out));
	}
}

/* Of the rows of one field, from `i` on. */
static size_t field_end(size_t i)
{
	size_t end = i + 1;

	while (end < battery_size && !strcmp(battery[end].field, battery[i].field))
		end++;
	return end;
}

/* A test that could show nothing of these is not passed. */
static bool must_be_shown(const char *field)
{
	static const char *const fields[] = { "home_read_denied", "child_process_denied", "network_denied", "dns_denied",
					      "udp_denied" };

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!strcmp(fields[i], field))
			return true;
	return false;
}

static enum verdict field_verdict(const struct test *t, size_t i, size_t end)
{
	enum verdict best = VERDICT_UNPROVEN;
	const size_t first = i;

	for (; i < end; i++) {
		enum verdict v = t->of[i].verdict;

		if (v == VERDICT_FAIL)
			return v;
		if (v == VERDICT_GRANTED || (v == VERDICT_PASS && best == VERDICT_UNPROVEN))
			best = v;
	}
	return best == VERDICT_UNPROVEN && must_be_shown(battery[first].field) ? VERDICT_FAIL : best;
}

/* The privileges that bounded egress asks for; whether the kernel agrees is seen when it is tried. */
static bool bounds_network(void)
{
	return has_capability(CAP_SYS_ADMIN) || (has_capability(CAP_NR_BPF) && has_capability(CAP_NET_ADMIN));
}

/* --- running --------------------------------------------------------------------------------------- */

static const char *beside(struct memory *m, const char *name)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);

	while (n > 0 && exe[n - 1] != '/')
		n--;
	return n > 0 ? memory_printf(m, "%.*s%s", (int)n, exe, name) : NULL;
}

static void fill_outcomes(struct test *t, const struct outcome *from, bool inside)
{
	for (size_t i = 0; i < battery_size; i++)
		*(inside ? &t->of[i].inside : &t->of[i].outside) = from[i];
}

static bool run_outside(struct memory *m, struct test *t, struct refusal *r)
{
	static const char *const nothing[] = { NULL };
	struct launch l = { nothing, t->env, t->probe, "outside" };
	struct outcome *out = MEMORY_ARRAY(m, battery_size, struct outcome);

	if (!attempt_all(m, &l, &t->outside, out, r))
		return false;
	fill_outcomes(t, out, false);
	return true;
}

static bool run_inside(struct memory *m, struct test *t, struct refusal *r)
{
	const char *words[8];
	struct launch l = { words, t->env, t->probe, "inside" };
	struct outcome *out = MEMORY_ARRAY(m, battery_size, struct outcome);
	size_t n = 0;

	words[n++] = t->options->caverun;
	if (t->options->config) {
		words[n++] = "--config";
		words[n++] = t->options->config;
	}
	words[n++] = "--chdir";
	words[n++] = "/";
	words[n++] = t->policy_path;
	words[n++] = "--";
	words[n] = NULL;
	if (!attempt_all(m, &l, &t->outside, out, r))
		return false;
	fill_outcomes(t, out, true);
	return true;
}

/* The caller's environment, a variable that must not reach the tool, and a value for each credential of the policy. */
static char **make_environment(struct memory *m, const struct artefact *a)
{
	struct artefact_record record;
	size_t n = 0, max = 2;
	char **env;

	for (size_t at = 0; artefact_next(a, &at, &record);)
		max++;
	for (char **e = environ; *e; e++)
		max++;
	env = MEMORY_ARRAY(m, max, char *);
	for (char **e = environ; *e; e++)
		env[n++] = *e;
	env[n++] = (char *)"CONFORMANCE_CANARY=1";
	for (size_t at = 0; artefact_next(a, &at, &record);)
		if (record.type == CAVE_RECORD_CREDENTIAL)
			env[n++] = memory_printf(m, "%.*s=conformance", (int)record.length, record.payload);
	return env;
}

/* The caller's home, if one can write there and the policy grants nothing in it; else the next best. */
static const char *find_home(struct memory *m, const struct artefact *a)
{
	const char *const candidates[] = { getenv("HOME"), getenv("TMPDIR"), "/var/tmp", "/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		char path[PATH_MAX];

		if (candidates[i] && *candidates[i] == '/' && realpath(candidates[i], path) && !access(path, W_OK | X_OK) &&
		    is_ungranted(a, path))
			return memory_string(m, path, strlen(path));
	}
	return NULL;
}

static bool prepare(struct memory *m, struct test *t, struct refusal *r)
{
	const char *home = find_home(m, t->policy->artefact);

	if (!home)
		return refuse(r, CAVE_CONFORMANCE_FAILED,
			      "there is no folder that can be written and that the policy grants nothing in");
	t->env = make_environment(m, t->policy->artefact);
	t->of = MEMORY_ARRAY(m, battery_size, struct result);
	return outside_make(m, home, t->policy_path, &t->outside, r);
}

static bool test(struct memory *m, struct test *t, struct refusal *r)
{
	struct cave_error error;
	bool ok;

	if (!t->probe || !t->policy_path)
		return refuse_errno(r, CAVE_FAILED, errno, "/proc/self/exe");
	if (cave_policy_open(t->policy_path, &t->policy, &error))
		return refuse(r, error.code, "%.900s", error.text);
	if (!prepare(m, t, r))
		return false;
	ok = run_outside(m, t, r) && run_inside(m, t, r);
	outside_remove(&t->outside);
	for (size_t i = 0; ok && i < battery_size; i++)
		t->of[i].verdict = judge(t, &battery[i], &t->of[i]);
	for (size_t i = 0; ok && i < battery_size; i = field_end(i))
		t->failed |= field_verdict(t, i, field_end(i)) == VERDICT_FAIL;
	return ok;
}

/* --- saying ---------------------------------------------------------------------------------------- */

static const char *const verdict_name[] = { "pass", "FAIL", "granted", "unproven" };

static void put_identity(struct json *j, const struct cave_policy *p)
{
	char hex[IDENTITY_TEXT];

	json_put_string(j, "policy", cave_policy_name(p));
	json_put_string(j, "identity", identity_text(cave_policy_identity(p), hex));
}

static void put_row(struct memory *m, struct json *j, const char *prefix, const struct row *row,
		    const struct result *of)
{
	json_open(j, '{');
	json_put_string(j, "field", memory_printf(m, "%s%s", prefix, row->field));
	json_put_string(j, "attempt", row->attempt);
	json_put_string(j, "outside", outcome_text(m, &of->outside));
	json_put_string(j, "inside", outcome_text(m, &of->inside));
	json_put_string(j, "verdict", verdict_name[of->verdict]);
	json_close(j, '}');
}

/* What the reading of a file at home is refused with, by its name in errno.h; null if it is not. */
static void put_read_code(struct memory *m, struct json *j, const struct test *t, size_t i)
{
	const struct outcome *in = &t->of[i].inside;
	const char *name = in->answered && !in->allowed ? strerrorname_np(in->error) : NULL;

	json_key(j, memory_printf(m, "%shome_read_code", t->prefix));
	if (name)
		json_add_string(j, name);
	else
		json_add_null(j);
}

/* true: refused, and shown to be; false: not; null: the policy grants it, or nothing could be shown. */
static void put_fields(struct memory *m, struct json *j, const struct test *t)
{
	for (size_t i = 0, end; i < battery_size; i = end) {
		enum verdict v;

		end = field_end(i);
		v = field_verdict(t, i, end);
		json_key(j, memory_printf(m, "%s%s", t->prefix, battery[i].field));
		if (v == VERDICT_PASS || v == VERDICT_FAIL)
			json_add_boolean(j, v == VERDICT_PASS);
		else
			json_add_null(j);
		if (!strcmp(battery[i].field, "home_read_denied"))
			put_read_code(m, j, t, i);
	}
}

static bool any_failed(const struct report *report)
{
	return report->test[0].failed || (report->n > 1 && report->test[1].failed);
}

static void put_report(struct memory *m, struct json *j, const struct report *report, const char *kernel)
{
	json_open(j, '{');
	json_put_number(j, "schema_version", 1);
	put_identity(j, report->test[0].policy);
	json_put_string(j, "kernel", kernel);
	json_put_boolean(j, "conformant", !any_failed(report));
	for (size_t k = 0; k < report->n; k++)
		put_fields(m, j, &report->test[k]);
	json_key(j, "attempts");
	json_open(j, '[');
	for (size_t k = 0; k < report->n; k++)
		for (size_t i = 0; i < battery_size; i++)
			put_row(m, j, report->test[k].prefix, &battery[i], &report->test[k].of[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static bool print_json(struct memory *m, const struct report *report, struct refusal *r)
{
	char *text = memory_take(m, REPORT_MAX);
	struct utsname kernel;
	struct json j;

	if (uname(&kernel))
		return refuse_errno(r, CAVE_FAILED, errno, "uname");
	json_begin(&j, text, REPORT_MAX - 1);
	put_report(m, &j, report, kernel.release);
	if (!json_end(&j))
		return refuse(r, CAVE_FAILED, "the report is too long");
	text[j.n] = '\n';
	text[j.n + 1] = '\0';
	return check_print(text, r);
}

static bool print_text(struct memory *m, const struct test *t, struct refusal *r)
{
	for (size_t i = 0; i < battery_size; i++) {
		const struct result *of = &t->of[i];
		const char *field = memory_printf(m, "%s%s", t->prefix, battery[i].field);

		const char *line = memory_printf(m, "%-9s %-28s %-40s outside: %s, inside: %s\n",
						 verdict_name[of->verdict], field, battery[i].attempt,
						 outcome_text(m, &of->outside), outcome_text(m, &of->inside));

		if (!check_print(line, r))
			return false;
	}
	return true;
}

static bool print(struct memory *m, const struct report *report, bool json, struct refusal *r)
{
	if (json)
		return print_json(m, report, r);
	for (size_t k = 0; k < report->n; k++)
		if (!print_text(m, &report->test[k], r))
			return false;
	return true;
}

static bool conclude(struct memory *m, const struct report *report, struct refusal *r)
{
	const char *fields = "";

	for (size_t k = 0; k < report->n; k++)
		for (size_t i = 0; i < battery_size; i = field_end(i))
			if (field_verdict(&report->test[k], i, field_end(i)) == VERDICT_FAIL)
				fields = memory_printf(m, "%s%s%s%s", fields, *fields ? ", " : "", report->test[k].prefix,
						       battery[i].field);
	return !any_failed(report) ||
	       refuse(r, CAVE_CONFORMANCE_FAILED, "the sandbox does not keep, or could not be shown to keep: %.800s",
		      fields);
}

/* Without a policy's name the product's own, whose network programs need privileges that this host may not give. */
static bool test_all(struct memory *m, const struct check_options *o, struct report *report, struct refusal *r)
{
	report->test[0] = (struct test){ .options = o, .prefix = "", .probe = beside(m, "cave-probe"),
					 .policy_path = o->policy ? o->policy : beside(m, "conformance.bpf") };
	if (!test(m, &report->test[report->n++], r))
		return false;
	if (o->policy || !bounds_network())
		return true;
	report->test[1] = report->test[0];
	report->test[1].policy = NULL;
	report->test[1].prefix = "egress_";
	report->test[1].policy_path = beside(m, "conformance-egress.bpf");
	return test(m, &report->test[report->n++], r);
}

int conformance(struct memory *m, const struct check_options *o, struct refusal *r)
{
	struct report report = { .n = 0 };
	bool ok = test_all(m, o, &report, r) && print(m, &report, o->json, r) && conclude(m, &report, r);

	for (size_t k = 0; k < report.n; k++)
		cave_policy_free(report.test[k].policy);
	return ok ? 0 : STATUS_REFUSED;
}
