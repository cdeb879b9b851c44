// SPDX-License-Identifier: MIT
// The world of `make demo`: two hosts on two ports, and a service behind a unix socket.
import net from 'node:net';

const listen = (where) => new Promise((done) => {
	net.createServer((c) => c.end()).listen(where, done);
});
for (const host of ['127.0.0.1', '127.0.0.2']) {
	for (const port of [47801, 47802]) await listen({ host, port });
}
await listen({ path: process.argv[2] });
console.log('ready');
