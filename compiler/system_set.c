/* SPDX-License-Identifier: MIT */
#include "compiler/system_set.h"

#include "cave/artefact.h"

#define R CAVE_FILE_READ
#define RW (CAVE_FILE_READ | CAVE_FILE_WRITE)

const char system_set_version[] = "1";

/* Every path is optional: distributions differ, and what is missing cannot be read. */
const struct system_path system_set[] = {
	{ "/dev/full", R, "C libraries' tests, shells" },
	{ "/dev/null", RW, "everything; git exits 128 without writing it" },
	{ "/dev/random", R, "TLS libraries" },
	{ "/dev/tty", R, "password prompts, pagers" },
	{ "/dev/urandom", R, "TLS libraries, Python" },
	{ "/dev/zero", R, "allocators, Java" },
	{ "/etc/group", R, "names of groups" },
	{ "/etc/host.conf", R, "the resolver" },
	{ "/etc/hosts", R, "the resolver" },
	{ "/etc/ld.so.cache", R, "the loader" },
	{ "/etc/nsswitch.conf", R, "name services" },
	{ "/etc/passwd", R, "names of users; Node's os.userInfo()" },
	{ "/etc/resolv.conf", R, "the resolver" },
	{ "/etc/services", R, "names of ports" },
	{ "/etc/ssl/certs", R, "trusted authorities" },
	{ "/etc/ssl/openssl.cnf", R, "OpenSSL; Node exits 13 when it cannot read it" },
	{ "/lib", R, "libraries" },
	{ "/lib64", R, "the loader" },
	{ "/proc/cpuinfo", R, "Node's os.cpus(), Go" },
	{ "/proc/filesystems", R, "SELinux-aware programs: git, cp" },
	{ "/proc/meminfo", R, "heap sizes: Node, Java" },
	{ "/proc/self", R, "the tool about itself: maps, exe, status, fd" },
	{ "/proc/stat", R, "Node's os.cpus()" },
	{ "/proc/sys/net/core/somaxconn", R, "Go" },
	{ "/proc/sys/vm/overcommit_memory", R, "allocators" },
	{ "/sys/devices/system/cpu", R, "number of processors: glibc, Go, Java" },
	{ "/sys/kernel/mm/transparent_hugepage", R, "allocators, Go" },
	{ "/usr/lib", R, "libraries, gconv, locales, and what tools keep there" },
	{ "/usr/lib64", R, "libraries" },
	{ "/usr/local/lib", R, "libraries" },
	{ "/usr/local/share/ca-certificates", R, "what /etc/ssl/certs links to" },
	{ "/usr/share/ca-certificates", R, "what /etc/ssl/certs links to" },
	{ "/usr/share/locale", R, "messages" },
	{ "/usr/share/nodejs", R, "Debian's Node keeps parts of itself there, and aborts without" },
	{ "/usr/share/zoneinfo", R, "time zones" },
};

const size_t system_set_size = sizeof system_set / sizeof *system_set;
