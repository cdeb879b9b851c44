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

static bool compile(const char *text, size_t n, struct result *out)
{
	struct artefact_error error;

	return compile_text("test.cave", text, n, stdout, &out->data, &out->size) &&
	       artefact_open(out->data, out->size, &out->view, &error);
}

static const char *const profiles[] = {
	"profile empty { }",
	"profile p { network { allow tcp 192.0.2.0/24 except 192.0.2.9 port { 443, 8000-8010 } } }",
	"profile p { network { allow { tcp, udp } 10.0.0.0/8 port any\n deny 10.1.2.3 } }",
	"profile p { network { allow tcp localhost port 8080; allow udp 2001:db8::/33 port 53-54 } }",
	"profile p { network { allow tcp { 2001:db8::1, 2001:db8::2, 198.51.100.7 } port 443 } }",
	"profile p { network { allow tcp ::ffff:192.0.2.1 port 1; deny tcp 192.0.2.1 port 2 } }",
	"profile p { network { allow tcp 0.0.0.1-0.0.0.255 port 1; allow tcp 203.0.113.0/24 port 65535 } }",
	"profile p { credentialEnv GEMINI_API_KEY, GOOGLE_API_KEY }",
	"profile p { env { pass TERM, HOME; set A \"x \\\"y\\\" \\\\ ${workspace}/z\"; set B workspace } }",
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
	return unit_done();
}
