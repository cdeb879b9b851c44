/* SPDX-License-Identifier: MIT */
/* Embeds the built-in syscall sets.  The paths are from the top folder, where the Makefile runs. */
#include "compiler/syscalls_builtin.h"

#define EMBED(symbol, file)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol ", " #symbol "_end\n" #symbol ":\n"                             \
		".incbin \"" file "\"\n" #symbol "_end:\n"                                         \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char symbol[], symbol##_end[]

EMBED(cave_base, "compiler/base/base.cave");
EMBED(cave_base_network, "compiler/base/network.cave");
EMBED(cave_base_tcp, "compiler/base/tcp.cave");
EMBED(cave_base_udp, "compiler/base/udp.cave");
EMBED(cave_base_listen, "compiler/base/listen.cave");
EMBED(cave_base_netlink, "compiler/base/netlink.cave");
EMBED(cave_base_execute, "compiler/base/execute.cave");
EMBED(cave_base_children, "compiler/base/children.cave");
EMBED(cave_base_may, "compiler/base/may.cave");

struct builtin_text builtin_text(enum builtin which)
{
	switch (which) {
	case BUILTIN_NETWORK:
		return (struct builtin_text){ "<network>", cave_base_network,
					      (size_t)(cave_base_network_end - cave_base_network) };
	case BUILTIN_TCP:
		return (struct builtin_text){ "<tcp>", cave_base_tcp, (size_t)(cave_base_tcp_end - cave_base_tcp) };
	case BUILTIN_UDP:
		return (struct builtin_text){ "<udp>", cave_base_udp, (size_t)(cave_base_udp_end - cave_base_udp) };
	case BUILTIN_LISTEN:
		return (struct builtin_text){ "<listen>", cave_base_listen,
					      (size_t)(cave_base_listen_end - cave_base_listen) };
	case BUILTIN_NETLINK:
		return (struct builtin_text){ "<netlink>", cave_base_netlink,
					      (size_t)(cave_base_netlink_end - cave_base_netlink) };
	case BUILTIN_EXECUTE:
		return (struct builtin_text){ "<execute>", cave_base_execute,
					      (size_t)(cave_base_execute_end - cave_base_execute) };
	case BUILTIN_CHILDREN:
		return (struct builtin_text){ "<children>", cave_base_children,
					      (size_t)(cave_base_children_end - cave_base_children) };
	case BUILTIN_MAY:
		return (struct builtin_text){ "<may>", cave_base_may, (size_t)(cave_base_may_end - cave_base_may) };
	default: break;
	}
	return (struct builtin_text){ "<base>", cave_base, (size_t)(cave_base_end - cave_base) };
}
