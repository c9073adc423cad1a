// Every program of the README and of examples/, as a reader runs it: copied out of the installed
// package into a project of his own.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { transform } from 'esbuild';
import { runChild } from './child.js';
import { AGENT_EXAMPLES } from './example-output.js';
import { compileStrict, openPackedProject, type PackedProject } from './packed-project.js';

const TIMEOUT_MS = 30_000;
/** Plain JavaScript: run as they are. The others have types. */
const PLAIN = [
  'ten-lines',
  'receive',
  'send',
  'copy-file',
  'many-clients',
  'acting-on-errors',
] as const;

let project: PackedProject;
const started: ChildProcess[] = [];
before(async () => {
  project = await openPackedProject();
  for (const name of PLAIN) copyFileSync(example(name), join(project.folder, `${name}.mjs`));
  for (const name of Object.keys(AGENT_EXAMPLES)) {
    const { code } = await transform(readFileSync(example(name), 'utf8'), { loader: 'ts' });
    writeFileSync(join(project.folder, `${name}.mjs`), code);
  }
});
after(() => {
  for (const child of started) child.kill('SIGKILL');
  project.remove();
});

function example(name: string): string {
  return join(project.installed, 'examples', `${name}.ts`);
}

function environment(secret?: string) {
  const own = Object.entries(process.env).filter(([name]) => !/^(NIXL_|UCCL_|NCCL_)/.test(name));
  const trust = secret === undefined ? {} : { NIXL_TCPX_TRUST_SECRET: secret };
  return { ...Object.fromEntries(own), ...trust };
}

async function run(name: string, words: readonly string[] = [], secret?: string): Promise<string> {
  const result = await runChild(process.execPath, [`${name}.mjs`, ...words], {
    cwd: project.folder,
    env: environment(secret),
    timeoutMs: TIMEOUT_MS,
  });
  assert.equal(result.exitCode, 0, result.stderr);
  return result.stdout;
}

/** One that listens: the port that it prints, and what it has printed when it ends. */
async function serve(name: string, words: readonly string[], secret?: string) {
  const child = spawn(process.execPath, [`${name}.mjs`, ...words], {
    cwd: project.folder,
    env: environment(secret),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: TIMEOUT_MS,
  });
  started.push(child);
  let stdout = '';
  const ended = new Promise<string>((resolve) => child.on('close', () => resolve(stdout)));
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      const found = /on port (\d+)/.exec(stdout)?.[1];
      if (found !== undefined) resolve(found);
    });
    void ended.then(() => reject(new Error(`ended before it listened: ${stdout}`)));
  });
  return { port, ended };
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('documented programs, from the package', () => {
  test('every example of the package is run here', () => {
    const shipped = readdirSync(join(project.installed, 'examples')).filter((file) =>
      file.endsWith('.ts'),
    );
    const known = [...PLAIN, ...Object.keys(AGENT_EXAMPLES)].map((name) => `${name}.ts`);
    assert.deepEqual(shipped.sort(), known.sort());
  });

  test('examples, and what the README shows, compile against the types', async () => {
    const readme = readFileSync(join(project.installed, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code ?? '');
    assert.equal(blocks.length, 2);
    const given = 'declare const cache: Buffer, block: Uint8Array, big: Float32Array;\n';
    const shown = join(project.folder, 'readme.mts');
    writeFileSync(shown, `import { Engine } from 'nixl-tcpx';\n${given}${blocks[1]}`);
    const files = [...PLAIN, ...Object.keys(AGENT_EXAMPLES)].map((name) => {
      const file = join(project.folder, `${name}.mts`);
      copyFileSync(example(name), file);
      return file;
    });
    assert.equal(await compileStrict(project, [shown, ...files]), '');
  });

  test('ten-lines: the bytes land and the program ends by itself', async () => {
    assert.equal(await run('ten-lines'), '5 bytes landed: hello\n');
  });

  test('receive and send: a line crosses from one process to the other', async () => {
    const receiver = await serve('receive', ['0']);
    const sent = await run('send', [`127.0.0.1:${receiver.port}`, 'a line of text']);
    assert.match(sent, /^14 bytes confirmed in \d+ µs\n$/);
    assert.match(await receiver.ended, /^from sender \(127\.0\.0\.1:\d+\): a line of text$/m);
  });

  test('copy-file: at most 30 lines, a file arrives whole', async () => {
    assert.ok(readFileSync(example('copy-file'), 'utf8').split('\n').length <= 31);
    const source = join(project.folder, 'source.bin');
    const copy = join(project.folder, 'copy.bin');
    const bytes = Buffer.alloc(20_000_001, 'a file that is not all the same ');
    writeFileSync(source, bytes);
    const server = await serve('copy-file', ['offer', source, '127.0.0.1:0']);
    const told = await run('copy-file', ['fetch', copy, `127.0.0.1:${server.port}`]);
    assert.match(told, /^20000001 bytes in \d+ ms\n$/);
    assert.ok(readFileSync(copy).equals(bytes));
  });

  test('many-clients: each has its own memory; a wrong secret is refused by name', async () => {
    const secret = 'a secret of many clients';
    const server = await serve('many-clients', ['serve', '0', '4'], secret);
    const where = `127.0.0.1:${server.port}`;
    const stranger = await runChild(
      process.execPath,
      ['many-clients.mjs', 'client', where, 'mallory'],
      { cwd: project.folder, env: environment('another secret altogether'), timeoutMs: TIMEOUT_MS },
    );
    assert.notEqual(stranger.exitCode, 0);
    assert.match(stranger.stderr, /ERR_WIRE_AUTH/);
    const names = ['anna', 'ben', 'clara', 'dora'];
    await Promise.all(names.map((name) => run('many-clients', ['client', where, name], secret)));
    const lines = (await server.ended).split('\n');
    for (const name of names) assert.ok(lines.includes(`${name}: greetings from ${name}, done`));
  });

  test('acting-on-errors: five kinds, each with its code', async () => {
    assert.deepEqual((await run('acting-on-errors')).trimEnd().split('\n'), [
      'ERR_USAGE_ARGUMENT: a mistake of this program',
      'ERR_PEER_NO_REGION: ask again later, or for another name',
      'ERR_PEER_RIGHTS: the peer does not want this',
      'ERR_USAGE_ABORTED: we gave it up ourselves',
      'ERR_PEER_UNREACHABLE: connect again, perhaps elsewhere',
    ]);
  });

  for (const [name, expected] of Object.entries(AGENT_EXAMPLES)) {
    test(`${name}: prints what it should and ends by itself`, async () => {
      assert.equal(await run(name), expected.map((line) => `${line}\n`).join(''));
    });
  }
});
