/* SPDX-License-Identifier: MIT */
/*
 * Symbolic constants that conditions may use, with the values of the kernel's headers.  All of them have the
 * same value on every architecture that is supported (the generic ones of include/uapi/asm-generic).
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "compiler/syscalls_data.h"

/* Newer than the headers of Debian 12 (include/uapi/linux/fcntl.h, prctl.h). */
#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY 1027
#endif
#ifndef F_CREATED_QUERY
#define F_CREATED_QUERY 1028
#endif
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif

/* Of include/linux/socket.h and net/ipv4, which the kernel does not export under these names. */
#ifndef SOL_IP
#define SOL_IP 0
#endif
#ifndef SOL_IPV6
#define SOL_IPV6 41
#endif
#ifndef SOL_TCP
#define SOL_TCP 6
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

struct constant {
	const char *name;
	uint64_t value;
};

#define C(name) { #name, (uint32_t)(name) }

/* Sorted by name.  O_TMPFILE is two bits; O_TMPFILE_BIT is its own one (__O_TMPFILE). */
static const struct constant constants[] = {
	C(AF_INET), C(AF_INET6), C(AF_NETLINK), C(AF_UNIX), C(CLONE_NEWCGROUP), C(CLONE_NEWIPC), C(CLONE_NEWNET),
	C(CLONE_NEWNS), C(CLONE_NEWPID), C(CLONE_NEWUSER), C(CLONE_NEWUTS), C(CLONE_THREAD),
	C(FICLONE), C(FICLONERANGE), C(FIOASYNC), C(FIOCLEX), C(FIONBIO), C(FIONCLEX), C(FIONREAD),
	C(FIOQSIZE), C(FS_IOC_FIEMAP), C(FS_IOC_FSGETXATTR), C(FS_IOC_GETFLAGS), C(F_ADD_SEALS),
	C(F_CREATED_QUERY), C(F_DUPFD), C(F_DUPFD_CLOEXEC), C(F_DUPFD_QUERY), C(F_GETFD),
	C(F_GETFL), C(F_GETLEASE), C(F_GETLK), C(F_GETOWN), C(F_GETOWN_EX), C(F_GETPIPE_SZ),
	C(F_GETSIG), C(F_GET_FILE_RW_HINT), C(F_GET_RW_HINT), C(F_GET_SEALS), C(F_OFD_GETLK),
	C(F_OFD_SETLK), C(F_OFD_SETLKW), C(F_SETFD), C(F_SETFL), C(F_SETLK), C(F_SETLKW),
	C(F_SETOWN), C(F_SETOWN_EX), C(F_SETPIPE_SZ), C(F_SETSIG), C(IOPRIO_WHO_PROCESS),
	C(IPPROTO_TCP), C(IPPROTO_UDP), C(IPV6_DONTFRAG), C(IPV6_MTU_DISCOVER),
	C(IPV6_MULTICAST_HOPS), C(IPV6_MULTICAST_LOOP), C(IPV6_RECVERR), C(IPV6_RECVERR_RFC4884),
	C(IPV6_RECVHOPLIMIT), C(IPV6_RECVPKTINFO), C(IPV6_RECVTCLASS), C(IPV6_TCLASS),
	C(IPV6_UNICAST_HOPS), C(IPV6_V6ONLY), C(IP_BIND_ADDRESS_NO_PORT), C(IP_MTU_DISCOVER),
	C(IP_MULTICAST_LOOP), C(IP_MULTICAST_TTL), C(IP_PKTINFO), C(IP_RECVERR),
	C(IP_RECVERR_RFC4884), C(IP_RECVTOS), C(IP_RECVTTL), C(IP_TOS), C(IP_TTL), C(NETLINK_ROUTE), C(O_ACCMODE),
	{ "O_ASYNC", FASYNC }, C(O_CREAT), C(O_RDONLY), C(O_RDWR),
	{ "O_TMPFILE_BIT", __O_TMPFILE }, C(O_TRUNC), C(O_WRONLY), C(PRIO_PROCESS),
	C(PR_CAPBSET_READ), C(PR_CAP_AMBIENT), C(PR_CAP_AMBIENT_IS_SET), C(PR_GET_AUXV),
	C(PR_GET_CHILD_SUBREAPER), C(PR_GET_DUMPABLE), C(PR_GET_KEEPCAPS), C(PR_GET_MDWE),
	C(PR_GET_NAME), C(PR_GET_NO_NEW_PRIVS), C(PR_GET_PDEATHSIG), C(PR_GET_SECCOMP),
	C(PR_GET_SECUREBITS), C(PR_GET_SPECULATION_CTRL), C(PR_GET_TAGGED_ADDR_CTRL),
	C(PR_GET_THP_DISABLE), C(PR_GET_TID_ADDRESS), C(PR_GET_TIMERSLACK), C(PR_GET_TIMING),
	C(PR_GET_TSC), C(PR_MCE_KILL_GET), C(PR_SET_MDWE), C(PR_SET_NAME), C(PR_SET_NO_NEW_PRIVS),
	C(PR_SET_THP_DISABLE), C(PR_SET_TIMERSLACK), C(PR_SET_VMA), C(PR_SVE_GET_VL),
	C(SIOCATMARK), C(SOCK_DGRAM), C(SOCK_RAW), C(SOCK_SEQPACKET), C(SOCK_STREAM), C(SOL_IP), C(SOL_IPV6),
	C(SOL_SOCKET), C(SOL_TCP), C(SOL_UDP), C(SO_BROADCAST), C(SO_ERROR), C(SO_KEEPALIVE),
	C(SO_LINGER), C(SO_OOBINLINE), C(SO_PASSCRED), C(SO_PRIORITY), C(SO_RCVBUF),
	C(SO_RCVLOWAT), C(SO_RCVTIMEO_NEW), C(SO_RCVTIMEO_OLD), C(SO_REUSEADDR), C(SO_REUSEPORT),
	C(SO_SNDBUF), C(SO_SNDTIMEO_NEW), C(SO_SNDTIMEO_OLD), C(SO_TIMESTAMPNS_NEW),
	C(SO_TIMESTAMPNS_OLD), C(SO_TIMESTAMP_NEW), C(SO_TIMESTAMP_OLD), C(S_ISGID), C(S_ISUID),
	C(TCFLSH), C(TCGETA), C(TCGETS), C(TCGETS2), C(TCP_CONGESTION), C(TCP_CORK), C(TCP_DEFER_ACCEPT),
	C(TCP_FASTOPEN_CONNECT), C(TCP_FASTOPEN_NO_COOKIE), C(TCP_INQ), C(TCP_KEEPCNT),
	C(TCP_KEEPIDLE), C(TCP_KEEPINTVL), C(TCP_LINGER2), C(TCP_MAXSEG), C(TCP_NODELAY),
	C(TCP_NOTSENT_LOWAT), C(TCP_QUICKACK), C(TCP_SYNCNT), C(TCP_THIN_LINEAR_TIMEOUTS),
	C(TCP_USER_TIMEOUT), C(TCP_WINDOW_CLAMP), C(TCSBRK), C(TCSBRKP), C(TCSETA), C(TCSETAF),
	C(TCSETAW), C(TCSETS), C(TCSETS2), C(TCSETSF), C(TCSETSF2), C(TCSETSW), C(TCSETSW2),
	C(TCXONC), C(TIOCGETD), C(TIOCGPGRP), C(TIOCGPTN), C(TIOCGSID), C(TIOCGWINSZ), C(TIOCOUTQ),
	C(TIOCSPGRP), C(TIOCSWINSZ), C(UDP_CORK), C(UDP_GRO), C(UDP_SEGMENT),
};

enum { CONSTANTS = sizeof constants / sizeof constants[0] };

static int compare_name(const void *name, const void *constant)
{
	return strcmp(name, ((const struct constant *)constant)->name);
}

bool syscall_constant(const char *name, uint64_t *value)
{
	const struct constant *c = bsearch(name, constants, CONSTANTS, sizeof constants[0], compare_name);

	if (c)
		*value = c->value;
	return c != NULL;
}

const char *syscall_constant_name(size_t i)
{
	return i < CONSTANTS ? constants[i].name : NULL;
}
