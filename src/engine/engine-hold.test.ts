// A process whose only thing left is an engine that holds nothing ends; awaited work and sessions
// that were told to keep it alive until they are over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../../test/e2e/child.js';

const HEAD = `
  import { Engine } from './dist/src/index.js';
  const settings = { 'log.level': 'error' };
  const server = await Engine.open({ settings });
  server.register(new Uint8Array(4_000_000), { name: 'inbox' });
  const port = server.listen('127.0.0.1:0');
  const client = await Engine.open({ settings });
  const session = await client.connect('127.0.0.1:' + port);
`;
/** On a machine with other things to do, starting takes seconds. */
const ENDS_MS = 30_000;
const STAYS_MS = 8000;

async function run(body: string, timeoutMs = ENDS_MS) {
  const words = ['--input-type=module', '-e', HEAD + body];
  return await runChild(process.execPath, words, { timeoutMs });
}

test('hold: unref of the engines lets the process end, with a session open', async () => {
  const { exitCode, stderr } = await run('server.unref(); client.unref();');
  assert.equal(exitCode, 0, stderr);
});

test('hold: without unref, and after ref, the process stays', async () => {
  const [plain, again] = await Promise.all([
    run("console.log('up'); client.unref();", STAYS_MS),
    run("console.log('up'); server.unref(); client.unref(); client.ref();", STAYS_MS),
  ]);
  for (const { exitCode, stdout } of [plain, again]) {
    assert.equal(stdout, 'up\n');
    assert.equal(exitCode, null, 'ended by the time limit');
  }
});

test('hold: what is awaited is waited for', async () => {
  const { exitCode, stdout, stderr } = await run(`
    server.unref(); client.unref();
    const remote = await session.lookup('inbox');
    const receipt = await session.write({ local: new Uint8Array(4_000_000), remote });
    const other = await client.connect('127.0.0.1:' + port);
    console.log(receipt.bytesConfirmed, other.isReady);
    await client.close();
    console.log('closed');
  `);
  assert.equal(exitCode, 0, stderr);
  assert.equal(stdout, '4000000 true\nclosed\n');
});

test('hold: a session that was told to holds the process until it has ended', async () => {
  const { exitCode, stdout, stderr } = await run(`
    server.unref(); client.unref();
    session.ref();
    setTimeout(() => console.log('later'), 200).unref();
    setTimeout(() => void server.close(), 400).unref();
    session.on('close', () => console.log('closed'));
  `);
  assert.equal(exitCode, 0, stderr);
  assert.equal(stdout, 'later\nclosed\n');
  const let_ = await run(`
    server.unref(); client.unref();
    session.ref().unref();
    setTimeout(() => console.log('later'), 400).unref();
  `);
  assert.equal(let_.exitCode, 0, let_.stderr);
  assert.equal(let_.stdout, '');
});
