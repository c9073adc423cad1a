// Sessions that come back by themselves: after a loss, a bounded number of times, with the names of
// the peer as they were.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { packageRoot } from '../../test/e2e/child.js';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { until } from '../../test/support/until.js';
import type { TcpxError } from '../base/errors.js';
import type { Engine } from './engine.js';
import type { Session } from './session.js';

const servers: ChildProcess[] = [];
after(closeEngines);
after(() => {
  for (const server of servers) server.kill('SIGKILL');
});

const SERVER = `
  import { Engine } from './dist/src/index.js';
  const engine = await Engine.open({ settings: { 'log.level': 'error' } });
  engine.register(new Uint8Array(8_000_000), { name: 'inbox' });
  console.log(engine.listen('127.0.0.1:' + process.argv[1]));
`;

async function startServer(port = 0): Promise<{ port: number; kill(): Promise<void> }> {
  const words = ['--input-type=module', '-e', SERVER, String(port)];
  const child = spawn(process.execPath, words, {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  servers.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { port: Number(line.toString()), kill };
}

test('reconnect: a killed server that is back has the same names, what flew failed', async () => {
  const first = await startServer();
  const client = await openEngine();
  const reconnect = { delayMs: 20, delayMsMax: 200, attempts: 200 };
  const session = await client.connect(`127.0.0.1:${first.port}`, { reconnect });
  const heard: string[] = [];
  let current = session;
  session.on('close', (error) => heard.push(`close ${error?.code}`));
  session.on('reopen', (next) => {
    heard.push('reopen');
    current = next;
  });
  for (const round of [1, 2]) {
    const lost = current;
    const transfer = current.write({
      local: new Uint8Array(8_000_000),
      remote: await current.lookup('inbox'),
    });
    const failed = assert.rejects(async () => await transfer, withCode('ERR_XFER_FAILED'));
    await (round === 1 ? first.kill() : killLast());
    await failed;
    await startServer(first.port);
    await until('the next session', 20_000, () => current !== lost);
    assert.ok(current.isReady && !lost.isReady);
    await current.write({ local: Buffer.from('again'), remote: await current.lookup('inbox') });
  }
  const expected = ['close ERR_PEER_LOST', 'reopen', 'close ERR_PEER_LOST', 'reopen'];
  assert.deepEqual(heard, expected, 'listeners stay, each in its turn');
  await client.close();
});

async function killLast(): Promise<void> {
  const last = servers.at(-1);
  last?.kill('SIGKILL');
  if (last !== undefined) await once(last, 'exit');
}

test('reconnect: attempts are bounded, and the last failure is told', async () => {
  const server = await startServer();
  const client = await openEngine();
  const reconnect = { delayMs: 5, delayMsMax: 20, attempts: 3 };
  const session = await client.connect(`127.0.0.1:${server.port}`, { reconnect });
  const failures: TcpxError[] = [];
  session.on('reopenFailed', (error) => failures.push(error));
  session.on('reopen', () => assert.fail('nobody is there'));
  await server.kill();
  await until('the end of the attempts', 10_000, () => failures.length > 0);
  assert.equal(failures[0]?.code, 'ERR_PEER_UNREACHABLE');
  assert.match(String(failures[0]), /3 attempts/);
  await client.close();
});

async function goodbyePair(reconnect: object | boolean) {
  const port = { value: 0 };
  const open = async (): Promise<Engine> => {
    const server = await openEngine();
    port.value = server.listen(`127.0.0.1:${port.value}`);
    return server;
  };
  const server = await open();
  const client = await openEngine();
  const session = await client.connect(`127.0.0.1:${port.value}`, { reconnect });
  const next: Session[] = [];
  session.on('reopen', (one) => next.push(one));
  return { server, open, client, session, next };
}

test('reconnect: an orderly end stays an end, unless it is asked for', async () => {
  const stays = await goodbyePair(true);
  await stays.server.close();
  await stays.session.closed;
  await stays.open();
  const returns = await goodbyePair({ afterGoodbye: true, delayMs: 10 });
  await returns.server.close();
  await returns.open();
  await until('the next session', 10_000, () => returns.next.length === 1);
  assert.deepEqual(stays.next, []);
  assert.equal(stays.session.error?.code, 'ERR_PEER_GOODBYE');
  const own = returns.next[0];
  await own?.close();
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(returns.next.length, 1, 'one that this end has closed stays closed');
});

test('reconnect: close of the lost session and of the engine end the attempts', async () => {
  const { server, open, session, client, next } = await goodbyePair({
    afterGoodbye: true,
    delayMs: 100,
  });
  await server.close();
  await session.closed;
  await session.close();
  await open();
  await new Promise((resolve) => setTimeout(resolve, 250));
  assert.deepEqual(next, []);
  const by = await session.reopen();
  assert.ok(by.isReady, 'one call does it still');
  await client.close();
  const other = await goodbyePair({ afterGoodbye: true, delayMs: 10 });
  await other.server.close();
  await other.session.closed;
  await other.client.close();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(other.next, []);
});

test('reconnect: options of a wrong kind are named', async () => {
  const client = await openEngine();
  for (const wrong of [
    5,
    'yes',
    { attempts: 0 },
    { delayMs: -1 },
    { tries: 3 },
    { attempts: 1.5 },
  ]) {
    const connect = client.connect('127.0.0.1:1', { reconnect: wrong as never });
    await assert.rejects(connect, withCode('ERR_USAGE_ARGUMENT', /reconnect/));
  }
  const misspelt = client.connect('127.0.0.1:1', { timoutMs: 5 } as never);
  await assert.rejects(misspelt, withCode('ERR_USAGE_ARGUMENT', /did you mean timeoutMs/));
});
