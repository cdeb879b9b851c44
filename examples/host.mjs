// SPDX-License-Identifier: MIT
// A host in Node that starts its tools by caverun, where it would have called
//
//   unshare --user --map-root-user --net -- node --permission --allow-fs-read=… tool.mjs
//
// node host.mjs CAVERUN POLICY.bpf TOOL.mjs [ARG…]: prints what the tool prints, and a line of JSON about its end.
import { spawn } from 'node:child_process';

const STATUS_LIMIT = 124, STATUS_REFUSED = 125;

// The tool's environment is the policy's affair: what it passes is taken from ours, nothing else arrives.
export function startTool({ caverun, policy, tool, args = [], input = '' }) {
	const child = spawn(caverun, ['--script', tool, policy, '--', process.execPath, ...args], {
		stdio: ['pipe', 'pipe', 'pipe'],
	});
	const collect = (stream) => {
		const parts = [];
		stream.on('data', (part) => parts.push(part));
		return () => Buffer.concat(parts).toString();
	};
	const output = collect(child.stdout), errors = collect(child.stderr);

	child.stdin.on('error', () => {}); // a tool need not read
	child.stdin.end(input);
	return new Promise((resolve, reject) => {
		child.on('error', reject);
		// 'close' comes when the pipes have ended: nothing of the tool is left then.
		child.on('close', (status, signal) => resolve({
			status, signal, output: output(), errors: errors(),
			// Only caverun's own refusals print such a line; the code is for programs, the sentence for people.
			code: /^caverun: error: .* \[(\w+)\]$/m.exec(errors())?.[1] ?? null,
			refused: status === STATUS_REFUSED,
			limited: status === STATUS_LIMIT,
		}));
	});
}

const [caverun, policy, tool, ...args] = process.argv.slice(2);
if (tool) {
	const result = await startTool({ caverun, policy, tool, args });

	process.stdout.write(result.output);
	delete result.output;
	console.log(JSON.stringify(result));
	process.exitCode = result.signal ? 1 : result.status;
}
