/* SPDX-License-Identifier: MIT */
/*
 * The canonical text of an artefact is a profile: compiled again it gives the same identity and the same text.
 * And spellings that mean the same give the same programs.
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/artefact.h"
#include "compiler/compile.h"
#include "tests/unit/unit.h"

struct result {
	void *data;
	size_t size;
	struct artefact view;
};

static bool compile_quietly(const char *text, size_t n, FILE *messages, struct result *out)
{
	struct artefact_error error;

	return compile_text("test.cave", text, n, messages, &out->data, &out->size) &&
	       artefact_open(out->data, out->size, &out->view, &error);
}

static bool compile(const char *text, size_t n, struct result *out)
{
	return compile_quietly(text, n, stdout, out);
}

static const char *const profiles[] = {
	"profile empty { }",
	"profile p { network { allow tcp 192.0.2.0/24 except 192.0.2.9 port { 443, 8000-8010 } } }",
	"profile p { network { allow { tcp, udp } 10.0.0.0/8 port any\n deny 10.1.2.3 } }",
	"profile p { network { allow tcp localhost port 8080; allow udp 2001:db8::/33 port 53-54 } }",
	"profile p { network { allow tcp { 2001:db8::1, 2001:db8::2, 198.51.100.7 } port 443 } }",
	"profile p { network { allow tcp ::ffff:192.0.2.1 port 1; deny tcp 192.0.2.1 port 2 } }",
	"profile p { network { allow tcp 0.0.0.1-0.0.0.255 port 1; allow tcp 203.0.113.0/24 port 65535 } }",
	"profile p { network { allow netlink route } }",
	"profile p { network { allow netlink route; allow tcp 10.0.0.1 port 1 } }",
	"profile p { network { listen tcp any port 8080; listen tcp 10.0.0.1 port 81 } }",
	"profile p { network { listen tcp localhost port { 80, 8000-8010 }; allow udp 10.0.0.1 port 80 } }",
	"profile p { network { allow resolver } }",
	"profile p { network { allow resolver; allow netlink route; allow tcp 10.0.0.1 port 53 } }",
	"profile p { network { allow tcp 2001:db8:0:0:0:0:1:443 port 443 } }",
	"profile p { network { allow tcp 2001:db8:0:0:0:0:0:8000/113 port 443 } }",
	"profile p { network { allow tcp { 169.254.1.0, 169.254.1.1 } port 443 } }",
	"profile p { network { allow tcp { 169.253.255.255, 169.254.0.0 } port 443 } }",
	"profile p { network { allow udp { ff02::fa, ff02::fb } port 5353 } }",
	"profile p { network { allow udp { 255.255.255.254, 255.255.255.255 } port 67 } }",
	"profile p { network { allow tcp 100.64.0.0/10 except 100.100.100.200 port 443\n"
	" allow tcp 100.100.100.200 port 443 } }",
	"profile p { network { allow tcp { 64:ff9b::6464:6400/120, 64:ff9b::6464:64c8 } port 443 } }",
	"profile p { network { allow tcp { 2002:a9fe:a9fe::/47, 2002:a9fe:a9fe::/48 } port 443 } }",
	"profile p { network { allow tcp { 2001:0:a00:1::5601:5600/120, 2001:0:a00:1::5601:5601 } port 443 } }",
	"profile p { network { allow tcp ::/126 except ::1-::3 port 443 } }",
	"profile p { network { allow tcp ::/126 port 443 } }",
	"profile p { network { allow tcp 0.0.0.0/31 except 0.0.0.1 port 443 } }",
	"profile p { network { allow tcp 0.0.0.0/31 port 443 } }",
	"profile p { credentialEnv GEMINI_API_KEY, GOOGLE_API_KEY }",
	"profile p { env { pass TERM, HOME; set A \"x \\\"y\\\" \\\\ ${workspace}/z\"; set B workspace };"
	" files { read workspace } }",
	"profile p { env { set A \"${folder:a-1}:${home}:${tmp}/\"; set B home };"
	" files { write tmp, folder a-1/x; shm } }",
	"profile p { files { execute workspace, \"/a/\", \"/b\", ./c/, tmp/d/, home/e, folder f/, folder f/g/;"
	" deny \"/a/x\", ./q } }",
	"profile p { files { read optional \"/a\", \"/b\"; read optional \"/b\"; deny optional home/z };"
	" use <npm>, <gcc> }",
	"profile p { files { base none; read \"./lib\", ./x//y/., /etc/hostname; write workspace, workspace/out } }",
	"profile p { syscalls { deny @keyring; deny chmod, ptrace; allow inotify_init1 } }",
	"profile p { syscalls { base none; allow read, write, exit_group } }",
	"profile p { syscalls { allow personality(persona == 0); allow acct logged; deny ptrace with kill } }",
	"profile p { syscalls { deny clone3 with errno ENOSYS; deny uname with errno EACCES } }",
	"profile p { syscalls { allow ioctl(request in { 1000-1063, TCGETS }) logged; deny kill(sig != -5) } }",
	"profile p { syscalls { deny lseek(offset < 0 || offset > 0x7fffffffffff && whence == SEEK_END) } }",
	"profile p { syscalls { deny mmap(prot & 6 == 6), mmap(flags & 0x5 in { 1-4 }), "
	"mmap(fd in { 0xfffffff0-0xffffffff }) } }",
	"profile p { syscalls { deny openat(flags & (O_DIRECTORY | O_CREAT) && dirfd != AT_FDCWD), "
	"openat(!(flags == O_NOFOLLOW)) } }",
	"profile p { limits { time 90s; cpu-time 1h; memory 1088KiB; tasks 7; output 1B; open-files 8; file-size 3GiB } }",
	"profile p { limits { time none; open-files none; file-size none; memory none } }",
	"profile p { childProcess { max-processes 0; execute \"/bin/sh\" } }",
	"profile p { childProcess { max-processes 12; execute \"/bin/sh\", \"/usr/lib/git-core/\" }\n"
	"files { read \"/bin/sh\", \"/usr/lib/git-core\" }; syscalls { allow clone; deny pidfd_open } }",
	"{\"schema_version\":1,\"network\":false,\"child_process\":false,\"credential_env\":[\"OPENAI_API_KEY\"]}",
};

static void round_trip(size_t i)
{
	struct result first = { 0 }, second = { 0 };
	bool good = compile(profiles[i], strlen(profiles[i]), &first);

	if (check(good, "compiles: profile %zu", i)) {
		good = compile(first.view.policy.data, first.view.policy.size, &second);
		check(good && memcmp(first.view.identity, second.view.identity, CAVE_DIGEST_SIZE) == 0,
		      "canonical text has the same identity: profile %zu", i);
	}
	free(first.data);
	free(second.data);
}

/* --- random networks ------------------------------------------------------ */

/* Near everything that is special, so that ranges of them meet. */
static const char *const address[] = {
	"10.0.0.0/30", "10.0.0.3-10.0.0.9", "10.0.0.7", "localhost", "0.0.0.0/31", "0.0.0.0/30", "0.0.0.1",
	"100.64.0.0/10", "100.100.100.192/28", "100.100.100.200", "100.100.100.199-100.100.100.201",
	"169.253.255.254/31", "169.254.0.0", "169.254.0.1", "169.254.1.0", "169.254.169.253", "169.254.169.254",
	"169.254.0.0/16", "223.255.255.255", "224.0.0.0", "224.0.0.1", "239.255.255.255", "240.0.0.0/30",
	"255.255.255.254", "255.255.255.255", "168.63.129.16", "168.63.129.16/30", "::/126", "::/127", "::1", "::2-::3",
	"2001:db8:0:0:0:0:1:443", "2001:db8::1:440-2001:db8::1:442", "2001:db8:0:0:0:0:0:8000/113", "2001:db8::/112",
	"2001:db8:0:0:0:0:0:22", "2001:db8::21", "2001:db8:1:2:3:4:5:443", "ff02::fa", "ff02::fb", "ff02::",
	"fe80::1", "fe80::", "fe80::a9fe:a9fe", "fd00:ec2::250/124", "fd00:ec2::254", "fd00:ec2::/64",
	"64:ff9b::6464:64c0/124", "64:ff9b::6464:64c8", "::6464:64c0/124", "::6464:64c8", "::a9fe:a9fe",
	"2002:a9fe:a9fe::/47", "2002:a9fe:a9fe::/48", "2002:a9fe:a9fe::1", "2002:a9fe:a9fe::/127",
	"2001:0:a9fe:a9fe::/127", "2001:0:a9fe:a9fe::1", "2001:0:a00:1::5601:5600/127", "2001:0:a00:1::5601:5601",
	"2001:0:a00:1::5601:5602/127", "2001:0:a00:2::5601:5601", "192.0.0.192/31", "192.0.0.192",
};
static const char *const port[] = { "443", "80-90", "{ 85, 443 }", "1-65535", "any", "{ 80-84, 86-90 }" };

static const char *one_of(unsigned *seed, const char *const *list, size_t n)
{
	return list[(size_t)rand_r(seed) % n];
}

static void put_addresses(FILE *f, unsigned *seed)
{
	unsigned n = 1 + (unsigned)rand_r(seed) % 3;

	fputs("{ ", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s%s", i ? ", " : "", one_of(seed, address, sizeof address / sizeof *address));
	fputs(" }", f);
}

static void put_random(FILE *f, unsigned *seed)
{
	static const char *const proto[] = { "tcp", "udp", "{ tcp, udp }" };
	unsigned rules = 1 + (unsigned)rand_r(seed) % 4;

	fputs("profile p { network {\n", f);
	for (unsigned i = 0; i < rules; i++) {
		bool allow = !i || rand_r(seed) % 4;

		fprintf(f, "%s %s ", allow ? "allow" : "deny", one_of(seed, proto, 3));
		put_addresses(f, seed);
		if (allow && rand_r(seed) % 2) {
			fputs(" except ", f);
			put_addresses(f, seed);
		}
		fprintf(f, " port %s\n", one_of(seed, port, sizeof port / sizeof *port));
	}
	fputs("} }\n", f);
}

/* What is accepted of many random profiles compiles to the same identity from its canonical text. */
static void round_trip_random(void)
{
	enum { WANTED = 600, TRIES = 20000 };
	unsigned seed = 7, accepted = 0, differ = 0;
	FILE *quiet = fopen("/dev/null", "w");

	for (unsigned i = 0; i < TRIES && accepted < WANTED && quiet; i++) {
		struct result first = { 0 }, second = { 0 };
		char *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		put_random(f, &seed);
		fclose(f);
		if (compile_quietly(text, size, quiet, &first)) {
			accepted++;
			if (!compile(first.view.policy.data, first.view.policy.size, &second) ||
			    memcmp(first.view.identity, second.view.identity, CAVE_DIGEST_SIZE)) {
				differ++;
				printf("%s%.*s", text, (int)first.view.policy.size, (const char *)first.view.policy.data);
			}
		}
		free(first.data);
		free(second.data);
		free(text);
	}
	check(accepted == WANTED, "random networks: %u are accepted", accepted);
	check(!differ, "random networks: canonical text has the same identity (%u have not)", differ);
	if (quiet)
		fclose(quiet);
}

/* Pairs that mean the same. */
static const char *const aliases[][2] = {
	{ "profile p { network { allow tcp 10.0.0.0/9 port 1; allow tcp 10.128.0.0/9 port 1 } }",
	  "profile p { network { allow tcp 10.0.0.0/8 port 1 } }" },
	{ "profile p { network { deny udp 10.0.0.1; allow { tcp, udp } 10.0.0.1 port { 3, 1-2 } } }",
	  "profile p {\n network {\n allow tcp 10.0.0.1 port 1-3\n }\n}\n" },
	{ "profile p { network { allow tcp localhost port 1 } }",
	  "profile p { network { allow tcp { 127.0.0.0/8, ::1 } port 1 } }" },
	{ "profile p { files { write ./a; read ./a } }", "profile p { files { write \"a\" } }" },
	{ "profile p { env { set A \"1\"; pass B } }", "profile p { env { pass B }; env { set A \"1\" } }" },
	{ "profile p { sandbox required; network false; childProcess false }", "profile p { network { } }" },
	{ "profile p { limits { time 120s; memory 1024KiB } }",
	  "profile p { limits { memory 1MiB }; limits { time 2min } }" },
	{ "profile p { limits { time 1h; open-files 4096; file-size 4GiB; tasks none } }", "profile p { }" },
	{ "profile p { childProcess { max-processes 2; execute \"/bin/sh\" } }",
	  "profile p { files { execute \"/bin/sh\" }; childProcess { max-processes 2 } }" },
	{ "profile p { syscalls { deny chmod, read } }", "profile p { syscalls { deny read; deny chmod, read } }" },
};

static void same(size_t i)
{
	struct result a = { 0 }, b = { 0 };
	bool good = compile(aliases[i][0], strlen(aliases[i][0]), &a) && compile(aliases[i][1], strlen(aliases[i][1]), &b);

	check(good && memcmp(a.view.identity, b.view.identity, CAVE_DIGEST_SIZE) == 0, "one identity: pair %zu", i);
	free(a.data);
	free(b.data);
}

int main(void)
{
	for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
		round_trip(i);
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		same(i);
	round_trip_random();
	return unit_done();
}
