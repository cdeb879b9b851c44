/* SPDX-License-Identifier: MIT */
/* Attempts on sockets that need no route: unix sockets, other families, binding and listening. */
#include <linux/vm_sockets.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/probe/probe.h"

/* A path, or with a leading '@' an abstract name. */
static struct sockaddr_un unix_name(const char *text, socklen_t *size)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t n = strlen(text);

	if (n >= sizeof un.sun_path)
		n = sizeof un.sun_path - 1;
	memcpy(un.sun_path, text, n);
	if (text[0] == '@')
		un.sun_path[0] = '\0';
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (text[0] != '@'));
	return un;
}

static int unix_connect_by(int type, const char *name)
{
	socklen_t size;
	struct sockaddr_un un = unix_name(name, &size);
	int fd = socket(AF_UNIX, type, 0);
	int error = fd < 0 ? errno : result(connect(fd, (struct sockaddr *)&un, size));

	close(fd);
	return error;
}

static int unix_stream(char *const *arg)
{
	return unix_connect_by(SOCK_STREAM, arg[0]);
}

static int unix_seqpacket(char *const *arg)
{
	return unix_connect_by(SOCK_SEQPACKET, arg[0]);
}

static int unix_dgram(char *const *arg)
{
	return unix_connect_by(SOCK_DGRAM, arg[0]);
}

static int unix_send(char *const *arg)
{
	socklen_t size;
	struct sockaddr_un un = unix_name(arg[0], &size);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno :
			     result(sendto(fd, "x", 1, 0, (struct sockaddr *)&un, size));

	close(fd);
	return error;
}

static int unix_listen(char *const *arg)
{
	socklen_t size;
	struct sockaddr_un un = unix_name(arg[0], &size);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : result(bind(fd, (struct sockaddr *)&un, size));

	if (!error)
		error = result(listen(fd, 1));
	close(fd);
	return error;
}

/* A pair that carries a byte. */
static int pair(int type)
{
	int fd[2], error;
	char byte;

	if (socketpair(AF_UNIX, type, 0, fd) < 0)
		return errno;
	error = result(sendto(fd[0], "x", 1, 0, NULL, 0));
	if (!error)
		error = result(recv(fd[1], &byte, 1, MSG_DONTWAIT));
	close(fd[0]);
	close(fd[1]);
	return error;
}

static int pair_stream(char *const *arg)
{
	(void)arg;
	return pair(SOCK_STREAM);
}

static int pair_seqpacket(char *const *arg)
{
	(void)arg;
	return pair(SOCK_SEQPACKET);
}

/* A pair's end aimed at another socket, by connect and by send. */
static int pair_reaim(int type, const char *name)
{
	socklen_t size;
	struct sockaddr_un un = unix_name(name, &size);
	int fd[2], error;

	if (socketpair(AF_UNIX, type, 0, fd) < 0)
		return errno;
	error = result(sendto(fd[0], "x", 1, 0, (struct sockaddr *)&un, size));
	if (error)
		error = result(connect(fd[0], (struct sockaddr *)&un, size));
	close(fd[0]);
	close(fd[1]);
	return error;
}

static int pair_dgram_reaim(char *const *arg)
{
	return pair_reaim(SOCK_DGRAM, arg[0]);
}

static int pair_raw_reaim(char *const *arg)
{
	return pair_reaim(SOCK_RAW, arg[0]);
}

static int pair_stream_reaim(char *const *arg)
{
	return pair_reaim(SOCK_STREAM, arg[0]);
}

/* The type's upper bits are flags: SOCK_DGRAM with them is still SOCK_DGRAM. */
static int pair_flags_reaim(char *const *arg)
{
	return pair_reaim(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, arg[0]);
}

/* family, type, protocol, by number */
static int any_socket(char *const *arg)
{
	int fd = socket(number(arg[0]), number(arg[1]), number(arg[2]));
	int error = result(fd);

	close(fd);
	return error;
}

/* The same with bits above the 32 that the kernel looks at. */
static int any_socket_high(char *const *arg)
{
	unsigned long high = 0x100000000ul;
	long fd = syscall(SYS_socket, high | (unsigned)number(arg[0]), high | (unsigned)number(arg[1]),
			  high | (unsigned)number(arg[2]));
	int error = result(fd);

	close((int)fd);
	return error;
}

static int any_pair(char *const *arg)
{
	int fd[2];

	if (socketpair(number(arg[0]), number(arg[1]), number(arg[2]), fd) < 0)
		return errno;
	close(fd[0]);
	close(fd[1]);
	return 0;
}

static int vsock_connect(char *const *arg)
{
	struct sockaddr_vm to = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = (unsigned)number(arg[0])
	};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = fd < 0 ? errno : result(connect(fd, (struct sockaddr *)&to, sizeof to));

	close(fd);
	return error == EINPROGRESS ? 0 : error;
}

static int listen_on(int type, const struct peer *at)
{
	int fd = socket(at->sa.sa_family, type, 0);
	int error = fd < 0 ? errno : result(bind(fd, &at->sa, at->size));

	if (!error && type == SOCK_STREAM)
		error = result(listen(fd, 1));
	close(fd);
	return error;
}

static int listen_tcp(char *const *arg)
{
	struct peer at = peer_of(arg[0], arg[1]);

	return listen_on(SOCK_STREAM, &at);
}

static int bind_udp(char *const *arg)
{
	struct peer at = peer_of(arg[0], arg[1]);

	return listen_on(SOCK_DGRAM, &at);
}

static int bind_tcp(char *const *arg)
{
	struct peer at = peer_of(arg[0], arg[1]);
	int fd = socket(at.sa.sa_family, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : result(bind(fd, &at.sa, at.size));

	close(fd);
	return error;
}

/* listen() binds by itself: 4 or 6 */
static int listen_unbound(char *const *arg)
{
	int fd = socket(number(arg[0]) == 4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : result(listen(fd, 1));

	close(fd);
	return error;
}

/* Takes one connection within three seconds, from anybody, and sends back what comes first. */
static int serve_one(int fd)
{
	struct timeval three = { .tv_sec = 3 };
	char byte;
	int error = result(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &three, sizeof three)), peer;

	if (error || (error = result(listen(fd, 8))))
		return error;
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		return errno;
	error = recv(peer, &byte, 1, 0) == 1 ? result(send(peer, &byte, 1, MSG_NOSIGNAL)) : ECONNRESET;
	close(peer);
	return error;
}

/* Address and port; port 0 is one that the kernel chooses. */
static int accept_tcp(char *const *arg)
{
	struct peer at = peer_of(arg[0], arg[1]);
	int one = 1, fd = socket(at.sa.sa_family, SOCK_STREAM, 0), error = fd < 0 ? errno : 0;

	if (!error)
		error = result(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
	if (!error)
		error = result(bind(fd, &at.sa, at.size));
	if (!error)
		error = serve_one(fd);
	close(fd);
	return error;
}

/* listen() binds by itself: 4 or 6 */
static int accept_unbound(char *const *arg)
{
	int fd = socket(number(arg[0]) == 4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
	int error = fd < 0 ? errno : serve_one(fd);

	close(fd);
	return error;
}

/* An unconnected datagram socket that waits two seconds for anybody's datagram: address and port. */
static int receive_udp(char *const *arg)
{
	struct peer at = peer_of(arg[0], arg[1]);
	struct timeval two = { .tv_sec = 2 };
	char byte;
	int fd = socket(at.sa.sa_family, SOCK_DGRAM, 0);
	int error = fd < 0 ? errno : result(bind(fd, &at.sa, at.size));

	if (!error)
		error = result(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &two, sizeof two));
	if (!error)
		error = result(recv(fd, &byte, 1, 0));
	close(fd);
	return error;
}

const struct attempt local_attempts[] = {
	{ "unix-stream", 1, unix_stream },
	{ "unix-seqpacket", 1, unix_seqpacket },
	{ "unix-dgram", 1, unix_dgram },
	{ "unix-send", 1, unix_send },
	{ "unix-listen", 1, unix_listen },
	{ "pair-stream", 0, pair_stream },
	{ "pair-seqpacket", 0, pair_seqpacket },
	{ "pair-stream-reaim", 1, pair_stream_reaim },
	{ "pair-dgram-reaim", 1, pair_dgram_reaim },
	{ "pair-raw-reaim", 1, pair_raw_reaim },
	{ "pair-flags-reaim", 1, pair_flags_reaim },
	{ "socket", 3, any_socket },
	{ "socket-high", 3, any_socket_high },
	{ "socketpair", 3, any_pair },
	{ "vsock", 1, vsock_connect },
	{ "listen-tcp", 2, listen_tcp },
	{ "bind-tcp", 2, bind_tcp },
	{ "bind-udp", 2, bind_udp },
	{ "listen-unbound", 1, listen_unbound },
	{ "accept-tcp", 2, accept_tcp },
	{ "accept-unbound", 1, accept_unbound },
	{ "receive-udp", 2, receive_udp },
	{ NULL, 0, NULL },
};
