/* SPDX-License-Identifier: MIT */
/* The rights of grants under every version of Landlock's interface: what is handled, and what each grant gives. */
#include <string.h>
#include <sys/stat.h>

#include "cave/artefact.h"
#include "runtime/kernel.h"
#include "runtime/rights.h"
#include "tests/unit/unit.h"

enum { NEWEST = 9 };

#define READ CAVE_FILE_READ
#define WRITE (CAVE_FILE_READ | CAVE_FILE_WRITE)
#define EXECUTE (CAVE_FILE_READ | CAVE_FILE_EXECUTE)
#define NEVER (LL_FS_MAKE_CHAR | LL_FS_MAKE_BLOCK | LL_FS_MAKE_SOCK | LL_FS_IOCTL_DEV)

/* Documentation/userspace-api/landlock.rst: one right each with versions 2, 3 and 5. */
static void test_handled(void)
{
	static const struct {
		int abi;
		uint64_t rights;
	} known[] = { { 1, 0x1fff }, { 2, 0x3fff }, { 3, 0x7fff }, { 4, 0x7fff }, { 5, 0xffff }, { NEWEST, 0xffff } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		check(rights_handled(known[i].abi) == known[i].rights, "handled rights of version %d", known[i].abi);
}

static void test_version(int abi)
{
	const mode_t modes[] = { S_IFDIR, S_IFREG, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK };
	const unsigned all = WRITE | EXECUTE;
	uint64_t handled = rights_handled(abi);

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		uint64_t read = rights_of(READ, modes[i], abi), write = rights_of(WRITE, modes[i], abi);

		/* The kernel refuses a rule with a right that the ruleset does not handle, or that a file cannot have. */
		check(!(rights_of(all, modes[i], abi) & ~handled),
		      "%d: nothing but what is handled", abi);
		check(!(rights_of(all, modes[i], abi) & NEVER),
		      "%d: nobody makes devices or sockets, or controls devices", abi);
		check((write & read) == read && write != read,
		      "%d: write includes read", abi);
		check(!((read | write) & LL_FS_EXECUTE),
		      "%d: neither includes execute", abi);
		check(rights_of(EXECUTE, modes[i], abi) == (read | LL_FS_EXECUTE),
		      "%d: execute includes read and no write", abi);
		check(!(read & ~(uint64_t)(LL_FS_READ_FILE | (S_ISDIR(modes[i]) ? LL_FS_READ_DIR : 0))),
		      "%d: to read is to change nothing", abi);
		check(!!(write & LL_FS_TRUNCATE) == (abi >= 3 && (S_ISDIR(modes[i]) || S_ISREG(modes[i]))),
		      "%d: truncate where the kernel has it, of files", abi);
		if (!S_ISDIR(modes[i]))
			check(!(rights_of(all, modes[i], abi) &
				~(uint64_t)(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE)),
				      "%d: a file takes the rights of a file", abi);
	}
	check(!!(rights_of(WRITE, S_IFDIR, abi) & LL_FS_REFER) == (abi >= 2),
	      "%d: moving between folders where the kernel can bound it", abi);
}

int main(void)
{
	test_handled();
	for (int abi = 1; abi <= NEWEST; abi++)
		test_version(abi);
	return unit_done();
}
