// SPDX-License-Identifier: MIT
// The tool of `make demo`: it tries what it was given and what it was not, and prints a line for each.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';

const [secret, socket] = process.argv.slice(2);

const connect = (where) => new Promise((done, failed) => {
	const c = net.connect({ ...where, timeout: 3000 }, () => {
		c.destroy();
		done('connected');
	});
	c.on('error', failed);
	c.on('timeout', () => c.destroy(new Error('timeout')));
});

const run = (program) => new Promise((done, failed) => {
	spawn(program).on('error', failed).on('exit', () => done('ran'));
});

const variable = (name) => {
	if (!(name in process.env)) throw new Error('not there');
	return 'there';
};

const tries = [
	['write into the workspace', () => writeFileSync('result.txt', 'done') ?? 'written'],
	['connect to the granted host', () => connect({ host: '127.0.0.1', port: 47801 })],
	['connect to another host', () => connect({ host: '127.0.0.2', port: 47801 })],
	['connect to another port', () => connect({ host: '127.0.0.1', port: 47802 })],
	['start a child process', () => run('/bin/true')],
	['reach a service by its unix socket', () => connect({ path: socket })],
	['read a file that was not granted', () => readFileSync(secret) && 'read'],
	['see the granted credential', () => variable('ANTHROPIC_API_KEY')],
	['see another credential', () => variable('OPENAI_API_KEY')],
];

for (const [what, attempt] of tries) {
	let result;
	try {
		result = await attempt();
	} catch (error) {
		result = `refused (${error.code ?? error.message})`;
	}
	console.log(`${what}|${result}`);
}
