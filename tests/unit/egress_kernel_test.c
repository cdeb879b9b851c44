/* SPDX-License-Identifier: MIT */
/*
 * The egress programs in the running kernel: it loads them, answers as the interpreter does, and
 * they hold for real sockets.  Needs root and a cgroup v2 to make a group in; works in a network
 * namespace of its own, where every address is local.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/in6.h>
#include <mntent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/egress_table.h"
#include "bpf/vm.h"
#include "tests/unit/egress_load.h"
#include "tests/unit/egress_rules.h"
#include "tests/unit/unit.h"

static const char POLICY[] = "allow tcp 10.9.0.0/24 except 10.9.0.66 port 7001,8000-8010\n"
			     "allow udp 10.9.0.1,10.9.0.5 port 7001\n"
			     "allow tcp,udp localhost port 7002\n"
			     "allow tcp,udp 2001:db8:9::/64 except 2001:db8:9::66 port 7001\n"
			     "deny tcp 10.9.0.7 port 8004\n";

static const struct {
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	const char *section;
} hooks[] = {
#define X(symbol, section, prog_type, attach_type) { prog_type, attach_type, section },
	CAVE_HOOKS(X)
#undef X
};

/* --- loading and attaching ------------------------------------------------ */

static int load(const struct hook_program *h, const struct loaded_maps *maps, char *log, size_t size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = hooks[h->hook].attach,
		    .log_buf = log, .log_size = (__u32)size, .log_level = 1);
	struct bpf_insn *insn = refer_to_maps(h, maps);
	int fd;

	fd = bpf_prog_load(hooks[h->hook].type, "cave", "GPL", insn, h->n, &opts);

	free(insn);
	return fd;
}

static bool find_cgroup(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	bool found = false;

	while (mounts && !found && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "cgroup2")) {
			snprintf(path, size, "%s/cave-test-%d", m->mnt_dir, getpid());
			found = true;
		}
	if (mounts)
		endmntent(mounts);
	return found && !mkdir(path, 0755);
}

static bool load_all(const struct compile *c, int fd[CAVE_HOOK_COUNT])
{
	static char log[1 << 16];
	struct loaded_maps maps;
	bool all = check(load_maps(c->hook->maps, &maps), "the kernel takes the maps");

	for (int h = 0; h < CAVE_HOOK_NAMES; h++) {
		fd[h] = load(&c->hook[h], &maps, log, sizeof log);
		all = check(fd[h] >= 0, "kernel loads %s%s", hooks[h].section,
			    fd[h] >= 0 ? "" : strerror(errno)) &&
		      all;
		if (fd[h] < 0)
			fprintf(stderr, "%s\n", log);
	}
	unload_maps(&maps);
	return all;
}

/* Policies whose programs have parts of the whole only, or none. */
static void test_loading(void)
{
	static const char *const text[] = {
		"allow tcp 10.1.2.3 port 443\ndeny all 10.0.0.0/8",
		"allow tcp 10.1.2.3 port 443",
		"allow udp 10.1.2.3 port any",
		"allow tcp 2001:db8::/48 port any",
		"allow udp 2001:db8::1 port 53",
		"allow tcp,udp localhost port 1-65535",
		"allow tcp 255.255.255.255,::2 port 65535",
		"resolver",
		"resolver\nallow tcp 10.1.2.3,2001:db8::1 port 53,443\nlisten tcp 127.0.0.1 port 53",
		"listen tcp 0.0.0.0 port 80",
		"listen tcp 127.0.0.1,2001:db8::1 port 80,443\nallow udp 10.0.0.1 port 53",
		"listen tcp any port any\nallow tcp 2001:db8::/48,10.0.0.0/8 port 443",
		"allow udp fc00::/8,10.0.0.0/8 port 1-100,102-65535\ndeny tcp 10.0.0.0/9",
	};

	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		int fd[CAVE_HOOK_COUNT];
		struct compile c;

		compile_init(&c);
		compile_read(&c, text[i]);
		if (check(compile_generate(&c) && egress_prove(&c.diags, &c.policy, c.hook),
			  "policy %zu compiles", i) &&
		    load_all(&c, fd))
			for (int h = 0; h < CAVE_HOOK_NAMES; h++)
				close(fd[h]);
		compile_free(&c);
	}
}

static bool attach_all(const int fd[CAVE_HOOK_COUNT], const char *cgroup)
{
	int dir = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool all = dir >= 0;

	for (int h = 0; h < CAVE_HOOK_NAMES && all; h++)
		all = !bpf_prog_attach(fd[h], dir, hooks[h].attach, 0);
	if (dir >= 0)
		close(dir);
	return all;
}

static bool enter_cgroup(const char *cgroup)
{
	char path[4200];
	int fd;
	bool done;

	snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, "0", 1) == 1;
	if (fd >= 0)
		close(fd);
	return done;
}

static bool make_network(void)
{
	return !unshare(CLONE_NEWNET) &&
	       !system("ip link set lo mtu 1500 up && ip route add local 10.9.0.0/16 dev lo && "
		       "ip -6 route add local 2001:db8::/32 dev lo && ip route add default dev lo "
		       "&& "
		       "ip -6 route add default dev lo");
}

/* --- one socket call ------------------------------------------------------ */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t make_address(union address *to, int family, const char *text, uint16_t port)
{
	memset(to, 0, sizeof *to);
	to->any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		to->v4.sin_port = htons(port);
		inet_pton(AF_INET, text, &to->v4.sin_addr);
		return sizeof to->v4;
	}
	to->v6.sin6_port = htons(port);
	inet_pton(AF_INET6, text, &to->v6.sin6_addr);
	return sizeof to->v6;
}

/* The errno of a connect, or of a sendto without one; 0 if it works. */
static int try_call(int family, int type, bool send, const char *text, uint16_t port)
{
	union address to;
	socklen_t size = make_address(&to, family, text, port);
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;

	if (fd < 0)
		return errno;
	if (send ? sendto(fd, "x", 1, 0, &to.any, size) < 0 : connect(fd, &to.any, size) < 0)
		error = errno;
	close(fd);
	return error == EINPROGRESS ? 0 : error;
}

/* --- a child in the cgroup ------------------------------------------------ */

struct expectation {
	const char *what;
	int family, type;
	bool send;
	const char *to;
	uint16_t port;
	bool refused;
};

static const struct expectation calls[] = {
	{ "tcp to a granted address", AF_INET, SOCK_STREAM, false, "10.9.0.9", 8001, false },
	{ "tcp to the except", AF_INET, SOCK_STREAM, false, "10.9.0.66", 8001, true },
	{ "tcp to another port", AF_INET, SOCK_STREAM, false, "10.9.0.9", 8011, true },
	{ "tcp to a denied port", AF_INET, SOCK_STREAM, false, "10.9.0.7", 8004, true },
	{ "tcp beside a denied port", AF_INET, SOCK_STREAM, false, "10.9.0.7", 8005, false },
	{ "mapped tcp", AF_INET6, SOCK_STREAM, false, "::ffff:10.9.0.9", 8001, false },
	{ "mapped tcp to the except", AF_INET6, SOCK_STREAM, false, "::ffff:10.9.0.66", 8001,
	  true },
	{ "tcp over IPv6", AF_INET6, SOCK_STREAM, false, "2001:db8:9::1", 7001, false },
	{ "tcp over IPv6 to the except", AF_INET6, SOCK_STREAM, false, "2001:db8:9::66", 7001,
	  true },
	{ "tcp over IPv6 to another net", AF_INET6, SOCK_STREAM, false, "2001:db8:a::1", 7001,
	  true },
	{ "udp by sendto", AF_INET, SOCK_DGRAM, true, "10.9.0.1", 7001, false },
	{ "udp by sendto elsewhere", AF_INET, SOCK_DGRAM, true, "10.9.0.2", 7001, true },
	{ "udp by connect", AF_INET, SOCK_DGRAM, false, "10.9.0.5", 7001, false },
	{ "udp by connect elsewhere", AF_INET, SOCK_DGRAM, false, "10.9.0.4", 7001, true },
	{ "udp by connect to a port probe", AF_INET, SOCK_DGRAM, false, "10.9.0.5", 0, true },
	{ "mapped udp by sendto", AF_INET6, SOCK_DGRAM, true, "::ffff:10.9.0.1", 7001, false },
	{ "mapped udp by sendto elsewhere", AF_INET6, SOCK_DGRAM, true, "::ffff:10.9.0.2", 7001,
	  true },
	{ "udp over IPv6 by sendto", AF_INET6, SOCK_DGRAM, true, "2001:db8:9::1", 7001, false },
	{ "udp over IPv6 elsewhere", AF_INET6, SOCK_DGRAM, true, "2001:db8:9::66", 7001, true },
	{ "udp to 0.0.0.0 as loopback", AF_INET, SOCK_DGRAM, true, "0.0.0.0", 7002, false },
	{ "udp to 0.0.0.0, other port", AF_INET, SOCK_DGRAM, true, "0.0.0.0", 7001, true },
	{ "udp to :: as loopback", AF_INET6, SOCK_DGRAM, true, "::", 7002, false },
	{ "udp to ::, other port", AF_INET6, SOCK_DGRAM, true, "::", 7001, true },
	{ "udp to mapped 0.0.0.0", AF_INET6, SOCK_DGRAM, false, "::ffff:0.0.0.0", 7002, false },
	{ "metadata", AF_INET, SOCK_STREAM, false, "169.254.169.254", 80, true },
	{ "mapped metadata", AF_INET6, SOCK_STREAM, false, "::ffff:169.254.169.254", 80, true },
	{ "NAT64 of a granted address", AF_INET6, SOCK_STREAM, false, "64:ff9b::a09:9", 8001,
	  true },
};

static void test_calls(void)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		const struct expectation *e = &calls[i];
		int got = try_call(e->family, e->type, e->send, e->to, e->port);

		/* Nobody listens: what is let through may be refused by the peer. */
		check((got == EPERM) == e->refused, "kernel %s %s (%s)",
		      e->refused ? "refuses" : "allows", e->what, strerror(got));
	}
}

static void test_sockets(void)
{
	static const struct {
		int family, type, protocol;
		bool refused;
	} made[] = {
		{ AF_INET, SOCK_STREAM, 0, false },
		{ AF_INET6, SOCK_STREAM, IPPROTO_TCP, false },
		{ AF_INET, SOCK_DGRAM, 0, false },
		{ AF_INET6, SOCK_DGRAM, IPPROTO_UDP, false },
		{ AF_INET, SOCK_DGRAM, 136, true },
		{ AF_INET, SOCK_STREAM, 262, true },
		{ AF_INET, SOCK_RAW, 1, true },
		{ AF_INET6, SOCK_RAW, 58, true },
		{ AF_INET, SOCK_RAW, IPPROTO_TCP, true },
		{ AF_INET, SOCK_RAW, IPPROTO_RAW, true },
	};

	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		int fd = socket(made[i].family, made[i].type, made[i].protocol);
		int error = fd < 0 ? errno : 0;

		/* A protocol that the kernel was built without is as good as refused. */
		check(made[i].refused ? fd < 0 : fd >= 0, "kernel: socket(%d, %d, %d) %s",
		      made[i].family, made[i].type, made[i].protocol, strerror(error));
		if (fd >= 0)
			close(fd);
	}
}

static int try_bind(int family, int type, const char *text, uint16_t port)
{
	union address to;
	socklen_t size = make_address(&to, family, text, port);
	int fd = socket(family, type, 0), error;

	error = fd < 0 || bind(fd, &to.any, size) < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

static void test_bind(void)
{
	check(!try_bind(AF_INET, SOCK_STREAM, "0.0.0.0", 0), "kernel: bind to an ephemeral port");
	check(!try_bind(AF_INET6, SOCK_DGRAM, "::1", 0), "kernel: bind to loopback, port 0");
	check(try_bind(AF_INET, SOCK_STREAM, "0.0.0.0", 7777) == EPERM,
	      "kernel: bind to a port refused");
	check(try_bind(AF_INET6, SOCK_DGRAM, "::", 7777) == EPERM,
	      "kernel: bind6 to a port refused");
	check(try_bind(AF_INET, SOCK_DGRAM, "224.0.0.1", 0) == EPERM,
	      "kernel: bind to multicast refused");
	check(try_bind(AF_INET6, SOCK_DGRAM, "ff02::1", 0) == EPERM,
	      "kernel: bind6 to multicast refused");
}

/* A packet that a routing header or an IPv4 option would lead elsewhere does not leave. */
static void test_reaiming(void)
{
	static const uint8_t lsrr[] = { 131, 7, 4, 10, 9, 0, 2, 0 };
	/* A segment routing header (RFC 8754): needs no privilege. */
	struct {
		uint8_t next, length, type, left, last, flags, tag[2];
		struct in6_addr segment[2];
	} header = { .length = 4, .type = 4, .left = 1, .last = 1 };
	union address to;
	socklen_t size = make_address(&to, AF_INET6, "2001:db8:9::1", 7001);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	inet_pton(AF_INET6, "2001:db8:a::1", &header.segment[1]);
	if (!setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, "\0\0\1\4\0\0\0\0", 8))
		check(sendto(fd, "x", 1, 0, &to.any, size) < 0 && errno == EPERM,
		      "kernel: extension headers do not leave");
	setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, NULL, 0);
	check(sendto(fd, "x", 1, 0, &to.any, size) == 1,
	      "kernel: without them the datagram leaves");
	check(!setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &header, sizeof header) &&
		      sendto(fd, "x", 1, 0, &to.any, size) < 0 && errno == EPERM,
	      "kernel: a routing header does not leave (%s)", strerror(errno));
	close(fd);
	size = make_address(&to, AF_INET, "10.9.0.1", 7001);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (!setsockopt(fd, IPPROTO_IP, IP_OPTIONS, lsrr, sizeof lsrr))
		check(sendto(fd, "x", 1, 0, &to.any, size) < 0 && errno == EPERM,
		      "kernel: a source route does not leave");
	close(fd);
}

/* A connected datagram socket that sends with ancillary data names no address. */
static void test_ancillary(void)
{
	union address to;
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { "x", 1 };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_TTL;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	*(int *)CMSG_DATA(c) = 64;
	check(!connect(fd, &to.any, make_address(&to, AF_INET, "10.9.0.1", 7001)) &&
		      sendmsg(fd, &m, 0) == 1,
	      "kernel: connected datagram with ancillary data");
	close(fd);
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_HOPLIMIT;
	check(!connect(fd, &to.any, make_address(&to, AF_INET6, "2001:db8:9::1", 7001)) &&
		      sendmsg(fd, &m, 0) == 1,
	      "kernel: the same over IPv6 (%s)", strerror(errno));
	close(fd);
}

/* --- the interpreter and the kernel side by side -------------------------- */

static uint64_t interpret(const struct compile *c, int hook, int family, int protocol,
			  const char *text, uint16_t port)
{
	struct bpf_sock_addr ctx = { .user_family = (uint32_t)family,
				     .family = (uint32_t)family,
				     .user_port = htons(port),
				     .protocol = (uint32_t)protocol };
	struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx };
	struct arena scratch = { 0 };
	uint64_t result = 2;

	inet_pton(family, text, family == AF_INET ? (void *)&ctx.user_ip4 : (void *)ctx.user_ip6);
	in.map = ebpf_maps(&scratch, c->hook->maps);
	in.nmaps = c->hook->maps ? c->hook->maps->n : 0;
	ebpf_run(c->hook[hook].insn, c->hook[hook].n, &in, &result, NULL);
	arena_free(&scratch);
	return result;
}

static void random_destination(unsigned *seed, int family, char text[INET6_ADDRSTRLEN])
{
	unsigned last = (unsigned)rand_r(seed) % 80, net = (unsigned)rand_r(seed) % 3;

	if (family == AF_INET)
		snprintf(text, INET6_ADDRSTRLEN, "10.9.%u.%u", net ? 0 : 1, last);
	else if (rand_r(seed) % 2)
		snprintf(text, INET6_ADDRSTRLEN, "::ffff:10.9.0.%u", last);
	else
		snprintf(text, INET6_ADDRSTRLEN, "2001:db8:%u::%x", net ? 9 : 10,
			 last ? last + 56 : 0);
}

static void test_connects_agree(const struct compile *c)
{
	static const uint16_t ports[] = { 0, 7000, 7001, 7002, 7999, 8000, 8004, 8010, 8011 };
	unsigned seed = 1, differ = 0;

	for (int i = 0; i < 4000; i++) {
		int family = i % 2 ? AF_INET : AF_INET6,
		    type = i % 4 / 2 ? SOCK_STREAM : SOCK_DGRAM;
		uint16_t port = ports[(unsigned)rand_r(&seed) % 9];
		char text[INET6_ADDRSTRLEN];
		uint64_t allowed;

		random_destination(&seed, family, text);
		allowed = interpret(c, family == AF_INET ? CAVE_HOOK_CONNECT4 : CAVE_HOOK_CONNECT6,
				    family, type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP, text,
				    port);
		differ += (try_call(family, type, false, text, port) != EPERM) != (allowed == 1);
	}
	check(!differ, "interpreter and kernel agree on 4000 connects (%u differ)", differ);
}

/* A packet of random fields near the granted ones. */
static size_t random_packet(unsigned *seed, uint8_t *p)
{
	bool six = rand_r(seed) % 2;
	size_t header = six ? 40 : 20, size = header + 20;

	memset(p, 0, 64);
	p[0] = six ? 0x60 : 0x45;
	p[six ? 6 : 9] = rand_r(seed) % 3 ? IPPROTO_UDP : IPPROTO_TCP;
	if (six)
		inet_pton(AF_INET6, "2001:db8:9::1", p + 8);
	else
		inet_pton(AF_INET, "10.9.0.1", p + 12);
	memcpy(p + (six ? 24 : 16), p + (six ? 8 : 12), six ? 16 : 4);
	for (int end = 0; end < 2; end++) {
		p[(six ? 22 : 15) + end * (six ? 16 : 4)] = (uint8_t)(rand_r(seed) % 8);
		p[header + (size_t)end * 2] = 7001 >> 8;
		p[header + (size_t)end * 2 + 1] = (uint8_t)((7001 & 0xff) + rand_r(seed) % 2);
	}
	p[header + 13] = (uint8_t)rand_r(seed);
	if (rand_r(seed) % 4 == 0)
		p[(unsigned)rand_r(seed) % size] = (uint8_t)rand_r(seed);
	/* A test run takes no packet that is cut within its network header. */
	if (rand_r(seed) % 4 == 0)
		size = header + (unsigned)rand_r(seed) % 20;
	return size;
}

static void test_packets_agree(const struct compile *c, const int fd[CAVE_HOOK_COUNT], int hook)
{
	struct arena scratch = { 0 };
	struct ebpf_map *map = ebpf_maps(&scratch, c->hook->maps);
	unsigned seed = 7, ran = 0, differ = 0, refused = 0;
	uint8_t frame[14 + 64] = { [12] = 0x08 };

	for (int i = 0; i < 20000; i++) {
		size_t size = random_packet(&seed, frame + 14);
		struct __sk_buff ctx = { .family = AF_UNSPEC };
		struct ebpf_input in = { .ctx = &ctx, .ctx_size = sizeof ctx, .packet = frame + 14,
					 .packet_size = size, .map = map,
					 .nmaps = c->hook->maps ? c->hook->maps->n : 0 };
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame,
			    .data_size_in = (__u32)(14 + size));
		bool six = frame[14] >> 4 == 6;
		uint64_t result = 2;

		/* The kernel makes up a socket from the frame, with no port. */
		frame[12] = six ? 0x86 : 0x08;
		frame[13] = six ? 0xdd : 0x00;
		ctx.family = six ? AF_INET6 : AF_INET;
		ebpf_run(c->hook[hook].insn, c->hook[hook].n, &in, &result, NULL);
		if (bpf_prog_test_run_opts(fd[hook], &opts))
			continue;
		ran++;
		refused += !opts.retval;
		differ += opts.retval != result;
	}
	arena_free(&scratch);
	check(!differ && refused && refused < ran && ran > 15000,
	      "interpreter and kernel agree on %u packets in %s (%u differ, %u refused)", ran,
	      hooks[hook].section, differ, refused);
}

/* --- traffic -------------------------------------------------------------- */

static int serve(int type, const char *text, uint16_t port)
{
	union address at;
	socklen_t size = make_address(&at, AF_INET, text, port);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	/* What was served for the policy before may be in TIME_WAIT. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (fd < 0 || bind(fd, &at.any, size) || (type == SOCK_STREAM && listen(fd, 8)))
		return -1;
	return fd;
}

/* Longer than the link allows: cut on the way out, put together on the way in. */
enum { LONG = 9000 };

/* The other end, outside the cgroup: echoes a datagram, after one from a stranger, and a stream. */
static void run_peer(int stream, int datagram, int stranger)
{
	static char buffer[2 * LONG];
	union address from;
	socklen_t size = sizeof from;
	ssize_t n = recvfrom(datagram, buffer, sizeof buffer, 0, &from.any, &size);

	if (n > 0) {
		sendto(stranger, "stranger", 8, 0, &from.any, size);
		sendto(datagram, buffer, (size_t)n, 0, &from.any, size);
	}
	stream = accept(stream, NULL, NULL);
	n = read(stream, buffer, sizeof buffer);
	if (n > 0 && write(stream, buffer, (size_t)n) != n)
		_exit(1);
	_exit(0);
}

static int traffic_socket(int family, int type)
{
	struct timeval second = { 10, 0 };
	int fd = socket(family, type, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
	return fd;
}

static void test_traffic(void)
{
	static char sent[LONG] = "hello", got[2 * LONG];
	union address to;
	socklen_t size = make_address(&to, AF_INET, "10.9.0.1", 7001);
	int fd = traffic_socket(AF_INET, SOCK_DGRAM);

	check(sendto(fd, sent, LONG, 0, &to.any, size) == LONG, "kernel: a long datagram leaves");
	check(recv(fd, got, sizeof got, 0) == LONG && !memcmp(got, sent, LONG),
	      "kernel: the answer arrives whole, the stranger's datagram does not (%.8s)", got);
	check(recv(fd, got, sizeof got, MSG_DONTWAIT) < 0 && errno == EAGAIN,
	      "kernel: nothing else does");
	close(fd);
	fd = traffic_socket(AF_INET, SOCK_STREAM);
	check(!connect(fd, &to.any, size) && write(fd, "stream", 6) == 6 && read(fd, got, 64) == 6,
	      "kernel: a stream flows both ways");
	close(fd);
	size = make_address(&to, AF_INET6, "2001:db8:9::1", 7001);
	fd = traffic_socket(AF_INET6, SOCK_DGRAM);
	check(sendto(fd, sent, LONG, 0, &to.any, size) == LONG,
	      "kernel: a long datagram leaves over IPv6");
	close(fd);
}

/* Nobody listens at a granted address: the ICMP error has to come through. */
static void test_icmp_errors(void)
{
	static const struct {
		int family;
		const char *to;
	} peer[] = { { AF_INET, "10.9.0.5" }, { AF_INET6, "2001:db8:9::5" } };

	for (int i = 0; i < 2; i++) {
		union address to;
		char byte;
		int fd = traffic_socket(peer[i].family, SOCK_DGRAM);

		check(!connect(fd, &to.any, make_address(&to, peer[i].family, peer[i].to, 7001)) &&
			      send(fd, "x", 1, 0) == 1 && recv(fd, &byte, 1, 0) < 0 &&
			      errno == ECONNREFUSED,
		      "kernel: an ICMP error arrives from %s (%s)", peer[i].to, strerror(errno));
		close(fd);
	}
}

static int in_cgroup(const struct compile *c, const char *cgroup)
{
	if (!check(enter_cgroup(cgroup), "enter the cgroup"))
		return 1;
	test_traffic();
	test_icmp_errors();
	test_calls();
	test_sockets();
	test_bind();
	test_reaiming();
	test_ancillary();
	test_connects_agree(c);
	fflush(stdout);
	return unit_done();
}

static int wait_for(pid_t child)
{
	int status = 0;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void test_in_cgroup(const struct compile *c, const int fd[CAVE_HOOK_COUNT],
			   const char *cgroup)
{
	int stream = serve(SOCK_STREAM, "10.9.0.1", 7001),
	    datagram = serve(SOCK_DGRAM, "10.9.0.1", 7001);
	int stranger = serve(SOCK_DGRAM, "10.9.0.2", 7001);
	pid_t peer, child;

	if (!check(attach_all(fd, cgroup), "attach all programs"))
		return;
	fflush(stdout);
	peer = fork();
	if (!peer)
		run_peer(stream, datagram, stranger);
	close(stream);
	close(datagram);
	close(stranger);
	child = fork();
	if (!child)
		_exit(in_cgroup(c, cgroup));
	check(!wait_for(child), "all checks inside the cgroup");
	check(!wait_for(peer), "the peer was served");
}

static void test_policy(const char *text, const char *cgroup)
{
	int fd[CAVE_HOOK_COUNT];
	struct compile c;

	compile_init(&c);
	compile_read(&c, text);
	if (check(compile_generate(&c), "generate") && load_all(&c, fd)) {
		test_packets_agree(&c, fd, CAVE_HOOK_INGRESS);
		test_packets_agree(&c, fd, CAVE_HOOK_EGRESS);
		test_in_cgroup(&c, fd, cgroup);
	}
	compile_free(&c);
}

/* The same, with so many more addresses that all cells are tables; no call goes to any of these. */
static void test_tables(const char *cgroup)
{
	char text[16384];
	size_t n = (size_t)snprintf(text, sizeof text, "%s", POLICY);

	for (unsigned i = 0; i < 3 * TREE_INTERVALS; i++)
		n += (size_t)snprintf(text + n, sizeof text - n,
				      "allow %s 10.77.%u.0/25,2001:db8:77:%x::/%u port %u,8004\n",
				      i % 3 ? "tcp,udp" : "tcp", i, i, 64 + i % 64, 9000 + i % 50);
	test_policy(text, cgroup);
}

int main(void)
{
	char cgroup[4096];

	if (geteuid() || !find_cgroup(cgroup, sizeof cgroup)) {
		puts("skip egress in the kernel: needs root and a cgroup v2 that can be written");
		return 0;
	}
	if (!make_network()) {
		rmdir(cgroup);
		puts("skip egress in the kernel: needs network namespaces and iproute2");
		return 0;
	}
	test_loading();
	test_policy(POLICY, cgroup);
	test_tables(cgroup);
	rmdir(cgroup);
	return unit_done();
}
