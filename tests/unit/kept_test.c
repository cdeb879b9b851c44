/* SPDX-License-Identifier: MIT */
/* What is kept of a policy: its record, which others may have written, and the comparison of attached programs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/attached.h"
#include "runtime/kept_record.h"
#include "tests/unit/unit.h"

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* No programs on the hooks of host names. */
#define NAMES " 0 0 0 0"

static bool reads(int fd, const char *text, struct kept_record *out)
{
	return !fsetxattr(fd, "user.cave", text, strlen(text), 0) && kept_record_read(fd, out);
}

static void test_hostile(int fd)
{
	static const char *const bad[] = {
		"",
		"x",
		HEX64,
		HEX64 " 1 2 3 4 5 6 7 8 9" NAMES, /* no name follows */
		HEX64 " 1 2 3 4 5 6 7 8" NAMES " name",
		HEX64 " 1 2 3 4 5 6 7 8 -9" NAMES " name",
		HEX64 " 1 2 3 4 5 6 7 8 0" NAMES " name",
		HEX64 " 1 2 3 4 5 6 7 8 9 0 0 0 -1 name",
		HEX64 " 1 2 3 4 5 6 7 8  9" NAMES " name",
		HEX64 "1 2 3 4 5 6 7 8 9" NAMES " name",
		"0011223344556677 1 2 3 4 5 6 7 8 9" NAMES " name",
		"G" HEX64 " 1 2 3 4 5 6 7 8 9" NAMES " name",
	};
	struct kept_record r;
	char longest[420];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		check(!reads(fd, bad[i], &r), "a record that is none: '%s'", bad[i]);
	check(reads(fd, HEX64 " 1 2 3 4 5 6 7 8 9" NAMES " name", &r), "control: one that is");
	memset(longest, 'n', sizeof longest);
	memcpy(longest, HEX64 " 1 2 3 4 5 6 7 8 9" NAMES " ", 64 + 27);
	longest[sizeof longest - 1] = 0;
	check(!reads(fd, longest, &r), "a name that is too long");
	longest[64 + 27 + 255] = 0;
	check(reads(fd, longest, &r) && strlen(r.name) == 255, "the longest name");
}

static void test_round(int fd)
{
	struct kept_record in = { .name = "fetch" }, out;

	for (unsigned i = 0; i < CAVE_DIGEST_SIZE; i++)
		in.identity[i] = (uint8_t)(i * 37 + 200);
	for (unsigned i = 0; i < CAVE_HOOK_COUNT; i++)
		in.id[i] = UINT32_MAX - i;
	check(!kept_record_write(fd, &in), "a record is written");
	check(kept_record_read(fd, &out) && !memcmp(in.identity, out.identity, sizeof in.identity) &&
	      !memcmp(in.id, out.id, sizeof in.id) && !strcmp(in.name, out.name), "and read as it was");
	fremovexattr(fd, "user.cave");
	check(!kept_record_read(fd, &out), "there is none");
}

static bool plus(const char *all, const char *some, uint32_t id)
{
	static struct attached a, s;

	a.n = s.n = 0;
	for (; *all; all++)
		a.id[a.n++] = (uint32_t)*all;
	for (; *some; some++)
		s.id[s.n++] = (uint32_t)*some;
	return attached_is_plus(&a, &s, id);
}

static void test_attached(void)
{
	check(plus("x", "", 'x'), "one program, and none of the caller's");
	check(plus("abx", "ab", 'x') && plus("xba", "ab", 'x'), "beside the caller's, in any order");
	check(plus("xx", "x", 'x'), "the same program above");
	check(plus("aax", "aa", 'x'), "one of the caller's at two levels");
	check(!plus("", "", 'x'), "not: none");
	check(!plus("y", "", 'x'), "not: another");
	check(!plus("xy", "", 'x'), "not: one more");
	check(!plus("xx", "", 'x'), "not: the same twice");
	check(!plus("x", "a", 'x'), "not: in place of the caller's");
	check(!plus("bx", "a", 'x'), "not: another of the caller's");
	check(!plus("abbx", "aab", 'x'), "not: as many, and others");
}

int main(void)
{
	char path[] = "/tmp/cave-kept-test.XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	if (fsetxattr(fd, "user.cave", "x", 1, 0) && errno == EOPNOTSUPP) {
		puts("skip records: no attributes of users in /tmp");
	} else {
		test_hostile(fd);
		test_round(fd);
	}
	close(fd);
	test_attached();
	return unit_done();
}
