// An engine with plugin processes that was told to hold nothing lets its process end.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { runChild } from '../e2e/child.js';
import { cleanEnvironment, emulatorVariables, requireNative } from './plugin-environment.js';
import { pluginVariables } from './plugin-params.js';

before(requireNative);

const SCRIPT = `
  import { Engine } from './dist/src/index.js';
  const settings = { 'log.level': 'error' };
  const [server, client] = [await Engine.open({ settings }), await Engine.open({ settings })];
  server.register(server.allocate(1_000_000).buffer, { name: 'inbox' });
  const session = await client.connect('127.0.0.1:' + server.listen('127.0.0.1:0'));
  server.unref(); client.unref();
  const local = client.register(client.allocate(1_000_000).buffer);
  const { provider } = await session.write({ local, remote: await session.lookup('inbox') });
  console.log(provider);
`;

for (const [name, last, code] of [
  ['ends', '', 0],
  ['is closed in order', 'await Promise.all([client.close(), server.close()]);', 0],
] as const) {
  test(`tcpx: a process with nothing left but unref’d engines ${name}`, async () => {
    const words = ['--input-type=module', '-e', SCRIPT + last];
    const env = { ...cleanEnvironment(), ...emulatorVariables, ...pluginVariables({}) };
    const result = await runChild(process.execPath, words, { env, timeoutMs: 15_000 });
    assert.equal(result.exitCode, code, result.stderr);
    assert.equal(result.stdout, 'tcpx\n');
  });
}

/** Far less than a match connection waits for last words. */
const END_MS_MAX = 2000;

test('tcpx: closed engines do not keep the process, whatever clocks of theirs ran', async () => {
  const last = 'await Promise.all([client.close(), server.close()]); console.log(Date.now());';
  const script = SCRIPT.replace('server.unref(); client.unref();', '') + last;
  const env = { ...cleanEnvironment(), ...emulatorVariables, ...pluginVariables({}) };
  const words = ['--input-type=module', '-e', script];
  const { exitCode, stdout, stderr } = await runChild(process.execPath, words, { env });
  assert.equal(exitCode, 0, stderr);
  const heldMs = Date.now() - Number(stdout.split('\n')[1]);
  assert.ok(heldMs < END_MS_MAX, `${heldMs} ms`);
});
