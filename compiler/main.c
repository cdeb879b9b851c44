/* SPDX-License-Identifier: MIT */
/* cavec: the command line. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "compiler/compile.h"
#include "compiler/diff.h"
#include "compiler/dump.h"
#include "compiler/explain.h"
#include "compiler/fmt.h"
#include "compiler/lint.h"
#include "compiler/lsp.h"
#include "compiler/sets.h"
#include "compiler/syscalls.h"
#include "compiler/system_set.h"
#include "compiler/visible.h"

static const char help[] =
	"usage: cavec FILE -o OUT [--root DIR] [--config DIR|FILE] [--capabilities FILE]\n"
	"       cavec FILTER -o OUT [--emit bpf|c|oci] [--arch ARCH]\n"
	"       cavec dump FILE.bpf\n"
	"       cavec list [@GROUP | base | system | '<SET>']\n"
	"       cavec diff OLD NEW | diff --within MAX FILE\n"
	"       cavec explain POLICY [QUESTION]\n"
	"       cavec lint FILE…\n"
	"       cavec fmt [-w | --check] FILE…\n"
	"       cavec lsp [--stdio]\n"
	"\n"
	"Compiles a sandbox profile to the programs that enforce it, proves them against the\n"
	"profile, and writes them to OUT for caverun.\n"
	"\n"
	"  -o, --output OUT        the artefact to write; written whole, or not at all\n"
	"      --emit bpf|c|oci    of a bare filter: raw struct sock_filter (the default), a C header,\n"
	"                          or the container engines' JSON; of a profile: bpf, the artefact\n"
	"      --arch ARCH         of a bare filter: x86_64, aarch64 or riscv64 (default: this machine)\n"
	"      --root DIR          what the profile and its includes must lie in\n"
	"                          (default: the profile's folder)\n"
	"      --config DIR|FILE   an operator's rules: credentials, and what is unbounded\n"
	"                          (docs/operator.md)\n"
	"      --capabilities FILE of such a file, the credentials only\n"
	"  -h, --help              this text\n"
	"      --version           the versions of the compiler and its tables\n"
	"\n"
	"  dump                    shows an artefact: manifest, profile, and both kinds of\n"
	"                          programs, each instruction beside the line it came from\n"
	"  list                    names the groups of system calls, or the members of one;\n"
	"                          `base` is the base set, `system` the files readable by default,\n"
	"                          and <SET> a set of files, programs and variables\n"
	"  explain                 says why something is allowed or refused; sums a policy up\n"
	"  lint                    looks for what compiles and is unwise\n"
	"  fmt                     lays a profile out in the one way there is\n"
	"  lsp                     a language server, for editors\n"
	"  diff                    says what one policy grants and another does not\n"
	"\n"
	"Exit status: 0 done; 1 the profile is refused; 2 usage or input and output.\n";

static const char list_help[] =
	"usage: cavec list [@GROUP | base | system | '<SET>']\n"
	"\n"
	"Without a name: the groups of system calls and the built-in sets.  With one, what it holds:\n"
	"\n"
	"  @GROUP                  the calls of the group\n"
	"  base                    the calls that every profile grants\n"
	"  system                  the files that are readable by default, and why\n"
	"  '<SET>'                 files, programs and variables that a kind of tool needs\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 done; 2 usage: there is no such name.\n";

static const char dump_help[] =
	"usage: cavec dump FILE.bpf\n"
	"\n"
	"Shows what an artefact holds: its identity, its manifest, the profile in its one form, and\n"
	"the programs, each instruction beside the line of the profile that it came from.  Nothing is\n"
	"proved; cavec diff does that with an artefact.\n"
	"\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit status: 0 done; 1 this is no artefact, or not a whole one; 2 usage, or input and output.\n";

static int usage(const char *text, const char *what)
{
	complain("cavec: %s%s", text, what);
	fputs("Try: cavec --help\n", stderr);
	return EXIT_TROUBLE;
}

static int print_version(void)
{
	printf("cavec %s (syscalls %s, system %s, sets %s)\n", CAVE_VERSION, syscalls_version, system_set_version,
	       sets_version);
	return EXIT_DONE;
}

static int list_system(void)
{
	for (size_t i = 0; i < system_set_size; i++)
		printf("%-5s %-40s # %s\n", system_set[i].flags & CAVE_FILE_WRITE ? "write" : "read",
		       system_set[i].path, system_set[i].reason);
	return EXIT_DONE;
}

/* <NAME>, or NAME. */
static bool list_set(const char *argument)
{
	size_t n = strlen(argument);
	char name[64];

	if (*argument == '<' && n > 2 && argument[n - 1] == '>' && n - 2 < sizeof name) {
		memcpy(name, argument + 1, n - 2);
		name[n - 2] = '\0';
		return set_list(name, stdout);
	}
	return set_list(argument, stdout);
}

static int list_all(void)
{
	const struct builtin_set *set;
	int status = syscalls_list(NULL, stdout);

	printf("%-14s files readable by default\n", "system");
	for (size_t i = 0; (set = set_at(i)); i++)
		printf("%-14s %s\n", set->shown, set->hosts ? "hosts" : "files, programs and variables");
	return status;
}

/* True if the help was asked for, and given. */
static bool asks_help(int argc, char **argv, const char *text)
{
	if (argc == 0 || (strcmp(argv[0], "--help") != 0 && strcmp(argv[0], "-h") != 0))
		return false;
	fputs(text, stdout);
	return true;
}

static int run_list(int argc, char **argv)
{
	if (asks_help(argc, argv, list_help))
		return EXIT_DONE;
	if (argc > 1)
		return usage("list takes one name", "");
	if (argc == 0)
		return list_all();
	if (strcmp(argv[0], "system") == 0)
		return list_system();
	return list_set(argv[0]) ? EXIT_DONE : syscalls_list(argv[0], stdout);
}

static int run_dump(int argc, char **argv)
{
	if (asks_help(argc, argv, dump_help))
		return EXIT_DONE;
	if (argc != 1)
		return usage("dump takes one artefact", "");
	return dump_file(argv[0], stdout);
}

/* EMIT_DEFAULT if there is no such form. */
static enum emit emit_form(const char *name)
{
	return strcmp(name, "bpf") == 0 ? EMIT_BPF : strcmp(name, "c") == 0 ? EMIT_C : strcmp(name, "oci") == 0 ? EMIT_OCI :
														   EMIT_DEFAULT;
}

static int run_compile(int argc, char **argv)
{
	enum { OPT_EMIT = 256, OPT_ARCH, OPT_ROOT, OPT_CAPABILITIES, OPT_CONFIG, OPT_VERSION };
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "emit", required_argument, NULL, OPT_EMIT },
		{ "arch", required_argument, NULL, OPT_ARCH },
		{ "root", required_argument, NULL, OPT_ROOT },
		{ "config", required_argument, NULL, OPT_CONFIG },
		{ "capabilities", required_argument, NULL, OPT_CAPABILITIES },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ NULL, 0, NULL, 0 },
	};
	struct compile_options o = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			o.out = optarg;
			break;
		case OPT_EMIT:
			o.emit = emit_form(optarg);
			if (o.emit == EMIT_DEFAULT)
				return usage("--emit takes bpf, c or oci, not ", optarg);
			break;
		case OPT_ARCH:
			o.arch = optarg;
			break;
		case OPT_ROOT:
			o.root = optarg;
			break;
		case OPT_CAPABILITIES:
			o.capabilities = optarg;
			break;
		case OPT_CONFIG:
			o.config = optarg;
			break;
		case OPT_VERSION:
			return print_version();
		case 'h':
			fputs(help, stdout);
			return EXIT_DONE;
		default:
			return usage("see above", "");
		}
	}
	if (optind + 1 != argc)
		return usage(optind == argc ? "no profile is given" : "one profile at a time, please: ",
			     optind == argc ? "" : argv[optind + 1]);
	if (o.config && o.capabilities)
		return usage("--config has the credentials in it: without --capabilities, please", "");
	if (!o.out)
		return usage("-o OUT is missing", "");
	o.file = argv[optind];
	return compile_file(&o);
}

static int finish(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("cavec: cannot write to the standard output\n", stderr);
		return EXIT_TROUBLE;
	}
	return status;
}

int main(int argc, char **argv)
{
	static char buffer[65536];

	/* Whole messages: those of compiles that run at once shall not mix. */
	setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
	if (argc > 1 && strcmp(argv[1], "dump") == 0)
		return finish(run_dump(argc - 2, argv + 2));
	if (argc > 1 && strcmp(argv[1], "list") == 0)
		return finish(run_list(argc - 2, argv + 2));
	if (argc > 1 && strcmp(argv[1], "diff") == 0)
		return finish(diff_main(argc - 1, argv + 1));
	if (argc > 1 && strcmp(argv[1], "explain") == 0)
		return finish(explain_main(argc - 1, argv + 1));
	if (argc > 1 && strcmp(argv[1], "fmt") == 0)
		return finish(fmt_main(argc - 1, argv + 1));
	if (argc > 1 && strcmp(argv[1], "lint") == 0)
		return finish(lint_main(argc - 1, argv + 1));
	if (argc > 1 && strcmp(argv[1], "lsp") == 0)
		return finish(lsp_main(argc - 1, argv + 1));
	return finish(run_compile(argc, argv));
}
