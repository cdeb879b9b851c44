// SPDX-License-Identifier: MIT
// What the seed system's own probe asks, from Node: read a file that was not granted, spawn a child, fetch, resolve,
// send a datagram.  Arguments: the file, and the port of a server on 127.0.0.1.  Prints one line for each.
import { spawn } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import { readFileSync } from 'node:fs';

const [file, port] = process.argv.slice(2);

async function ask(what, attempt) {
	try {
		await attempt();
		console.log(`${what} allowed`);
	} catch {
		console.log(`${what} refused`);
	}
}

await ask('read', () => readFileSync(file));
await ask('spawn', () => new Promise((done, failed) => {
	spawn('/bin/true').on('error', failed).on('exit', (code) => (code === 0 ? done() : failed(new Error())));
}));
await ask('fetch', () => fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(3000) }));
const resolver = new dns.Resolver({ timeout: 1000, tries: 1 });
resolver.setServers([`127.0.0.1:${port}`]);
await ask('resolve', () => resolver.resolve4('probe.example'));
await ask('send', () => new Promise((done, failed) => {
	const socket = dgram.createSocket('udp4');
	const end = (error) => {
		socket.close(() => {});
		if (error) failed(error);
		else done();
	};
	socket.on('error', failed);
	socket.send('x', Number(port), '127.0.0.1', end);
}));
console.log('end');
