// Data over shared memory as users meet it: what is refused, what a receipt says, what a hostile
// or killed peer does, that nothing stays mapped, and when it is chosen without being asked for.
// Bytes and kills are in two-processes, NIXL's contract in test/contract/backend-tcpx.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { sleepMs } from '../../src/base/clock.js';
import type { TcpxError } from '../../src/base/errors.js';
import type { SettingValues } from '../../src/base/settings.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { Engine } from '../../src/engine/engine.js';
import { liveSession } from '../../src/engine/session-face.js';
import { mailUnix } from '../../src/ffi/libc/unix-socket.js';
import { PAST_CACHE_X64 } from '../../src/ffi/past-cache.js';
import { openFixedMemory, pastCacheCode } from '../../src/os/fixed-memory.js';
import { directionOf, HEAD, HEADER_BYTES, TAIL } from '../../src/provider/tcp/shm/shm-layout.js';
import { SHM_BYTES } from '../../src/provider/tcp/shm/shm-layout.js';
import { closeEngines, KeptLog, openEngine, openPair } from '../support/engine-pair.js';
import { withCode } from '../support/expect-error.js';
import { until } from '../support/until.js';
import { runTcpx } from './child.js';
import { EnginePeer } from './engine-peer.js';

const SHM: Partial<SettingValues> = { 'session.local': 'shm' };
const TCP: Partial<SettingValues> = { 'session.local': 'tcp' };
const AUTO: Partial<SettingValues> = { 'session.local': 'auto' };
const MODES: Record<string, Partial<SettingValues>> = {
  lanes: { ...SHM, 'flow.channels': 2, 'lane.count': 2 },
  caller: { ...SHM, 'lane.progress': 'caller', 'flow.channels': 2 },
};

/** The whole code of it. */
const CODE = Buffer.from(PAST_CACHE_X64, 'hex');

after(closeEngines);

/** Mappings of channels that this process has. */
function mappedChannels(): string[] {
  const lines = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return lines.filter((line) => line.includes('/memfd:tcpx-channel'));
}

/** Pages with the code that copies past the cache. */
function mappedCopies(): number {
  const lines = readFileSync('/proc/self/maps', 'utf8').split('\n');
  let pages = 0;
  for (const line of lines.filter((text) => / r-xp 00000000 00:00 0\s*$/.test(text))) {
    const [start = 0, end = 0] = (line.split(' ')[0] ?? '')
      .split('-')
      .map((hex) => parseInt(hex, 16));
    const { uint8 } = openFixedMemory(start, end - start);
    for (let at = 0; at < uint8.length; at += 4096) {
      if (Buffer.from(uint8.subarray(at, at + CODE.length)).equals(CODE)) pages++;
    }
  }
  return pages;
}

for (const [name, settings] of Object.entries(MODES)) {
  test(`shm, ${name}: all lands, and the receipt names the path`, async () => {
    // This thread has one of its own for good.
    pastCacheCode();
    const pagesBefore = mappedCopies();
    assert.equal(pagesBefore, process.arch === 'x64' ? 1 : 0);
    const pair = await openPair(settings);
    const bytes = 6_000_001;
    const source = new Uint8Array(bytes).map((_, index) => index * 31 + (index >> 8));
    const target = new Uint8Array(bytes);
    const local = pair.client.register(source);
    const remote = pair.server.register(target).descriptor;
    const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes }];
    const receipt = await pair.drive(pair.session.write(blocks, { notify: 'landed' }).done);
    assert.ok(Buffer.from(target).equals(source));
    assert.equal(receipt.path, 'shm');
    const copies = receipt.choices.find((choice) => choice.name === 'copies');
    assert.equal(copies?.value === 'past the cache', process.arch === 'x64', copies?.reason);
    assert.deepEqual(
      receipt.channels.map(({ nic }) => nic),
      ['shm', 'shm'],
    );
    for (const stop = Date.now() + 5000; pair.notifications.length === 0; ) {
      assert.ok(Date.now() < stop, 'the notification comes');
      await pair.drive(sleepMs(1));
    }
    target.reverse();
    const read = await pair.drive(pair.session.read(blocks).done);
    assert.equal(read.path, 'shm');
    assert.deepEqual(
      read.choices.find((choice) => choice.name === 'copies'),
      copies,
    );
    if (name === 'lanes' && process.arch === 'x64') assert.equal(mappedCopies(), pagesBefore + 4);
    assert.ok(Buffer.from(source).equals(target));
    await pair.close();
    assert.deepEqual(mappedChannels(), [], 'nothing stays mapped');
    assert.equal(mappedCopies(), pagesBefore);
  });

  // Stored once, while nothing moves: the owner of a word overwrites it as soon as something does.
  test(`shm, ${name}: a tail beyond the ring ends the session, and only that`, async () => {
    const pair = await openPair(settings);
    for (const header of mappedHeaders()) spoil(header, TAIL);
    await pair.drive(Promise.all([pair.session.closed, pair.serverSession.closed]));
    assertRuleBroken(pair.serverSession.error);
    // The engine serves on.
    const again = await pair.drive(pair.client.connect('127.0.0.1', pair.server.port));
    await pair.drive(again.notify('still here').done);
    await pair.close();
  });

  test(`shm, ${name}: a head beyond the ring ends the session, and only that`, async () => {
    // The server moves only when polled, and is not: so the spoiled word stays.
    const pair = await openPair({ ...SHM, 'lane.progress': 'caller' }, settings);
    const bytes = 32 << 20;
    const local = pair.client.register(new Uint8Array(bytes));
    const remote = pair.server.register(new Uint8Array(bytes)).descriptor;
    for (const header of mappedHeaders()) spoil(header, HEAD);
    const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes }];
    const outcome = assert.rejects(pair.session.write(blocks).done, withCode('ERR_XFER_FAILED'));
    await pair.client.drive(pair.session.closed);
    await outcome;
    assertRuleBroken(pair.session.error);
    await pair.close();
  });
}

function spoil(header: Int32Array, word: number): void {
  Atomics.store(header, directionOf('client', true).word + word, 0x12345678);
}

function assertRuleBroken(error: unknown): void {
  assert.ok(withCode('ERR_WIRE_FRAME', /positions in shared memory/)(error));
}

/** The shared memory of this process's own engines, as the other end could write it. */
function mappedHeaders(): Int32Array[] {
  return mappedChannels().map((line) => {
    const addr = Number.parseInt(line.split('-')[0] ?? '', 16);
    return openFixedMemory(addr, HEADER_BYTES).int32;
  });
}

test('shm: asked for by one end alone is refused at both, naming the setting', async () => {
  for (const [server, client] of [
    [SHM, TCP],
    [TCP, SHM],
  ] as const) {
    const listener = await openEngine(server);
    const port = listener.listen({ host: '127.0.0.1', port: 0 });
    const engine = await openEngine(client);
    await assert.rejects(
      engine.connect('127.0.0.1', port),
      withCode('ERR_PEER_REFUSED', /ERR_CONFIG_MISMATCH.*session\.local: (shm|tcp) at the client/),
    );
    assert.equal(listener.sessions.length, 0);
  }
});

test('shm: with zero-copy sends it is a contradiction', async () => {
  const both = openEngine({ ...SHM, 'socket.sendBy': 'zerocopy' });
  await assert.rejects(both, withCode('ERR_CONFIG_CONFLICT', /socket\.sendBy/));
});

test('auto: two engines of one host share memory; one that says tcp does not', async () => {
  const outcomes: string[] = [];
  for (const [server, client] of [
    [AUTO, AUTO],
    [AUTO, SHM],
    [AUTO, TCP],
    [TCP, AUTO],
  ] as const) {
    const pair = await openPair(server, client);
    const { path, pathReason } = await pair.drive(pair.session.notify('hello').done);
    outcomes.push(`${path}: ${pathReason}`);
    assert.equal(pair.serverSession.facts.path, path);
    assert.ok(pair.serverLog.has(new RegExp(`session ready.*path="?${path}`)), 'said in the log');
    await pair.close();
  }
  assert.deepEqual(outcomes, [
    'shm: both ends are on one host',
    'shm: session.local is shm',
    'tcp host: session.local is tcp at the client',
    'tcp host: session.local is tcp at the server',
  ]);
});

/** Mails as much as each mailbox takes, again and again, until it is told to stop. */
function mailJunk(): { readonly stop: () => number } {
  const junk = new Uint8Array([1]);
  const hit = new Set<string>();
  let isStopped = false;
  const round = (): void => {
    if (isStopped) return;
    for (const [, name] of readFileSync('/proc/net/unix', 'latin1').matchAll(
      /@(tcpx-[0-9a-f]+)/g,
    )) {
      hit.add(name!);
      for (let count = 0; count < 600 && mailUnix(name!, junk, []) > 0; count++);
    }
    setImmediate(round);
  };
  round();
  return {
    stop: () => {
      isStopped = true;
      return hit.size;
    },
  };
}

test('auto: junk in the mailboxes of all channels keeps none from its memory', async () => {
  const settings = { ...AUTO, 'flow.channels': 8 };
  const server = await openEngine(settings);
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const client = await openEngine(settings);
  const { stop } = mailJunk();
  // A mailbox is there for a moment: some are gone before anybody has seen their name.
  for (let round = 0; round < 10; round++) {
    const session = await client.connect('127.0.0.1', port);
    const receipt = await session.notify('hello').done;
    assert.equal(receipt.path, 'shm');
    const { nics } = liveSession(session).facts;
    assert.ok(nics.slice(0, 8).every((nic) => nic === 'shm'));
    await session.close();
  }
  assert.ok(stop() >= 4, 'some of them were hit');
  await closeEngines();
});

test('auto: beyond memory.sharedBytes sessions go over TCP, and say so', async () => {
  // Of one session: its channel, and one for what each end posts.
  const settings = { ...AUTO, 'flow.channels': 1, 'memory.sharedBytes': 3 * SHM_BYTES };
  const server = await openEngine(settings);
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const first = await openEngine(AUTO).then((engine) => engine.connect('127.0.0.1', port));
  const second = await openEngine(AUTO).then((engine) => engine.connect('127.0.0.1', port));
  assert.deepEqual([first.path, second.path], ['shm', 'tcp host']);
  assert.match(second.pathReason, /no shared memory/);
  assert.ok(server.sessions.some(({ pathReason }) => pathReason.includes('memory.sharedBytes')));
  await first.close();
  await until('its memory is free', 5000, () => server.sessions.length === 1);
  const third = await openEngine(AUTO).then((engine) => engine.connect('127.0.0.1', port));
  assert.equal(third.path, 'shm');
  await closeEngines();
});

/** Takes every descriptor that this process may still open. */
function takeDescriptors(): number[] {
  const held: number[] = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EMFILE');
    return held;
  }
}

async function pathOrCode(client: Engine, port: number): Promise<string> {
  try {
    const session = await client.connect('127.0.0.1', port);
    const { path } = await session.notify('hello').done;
    await session.close();
    return path;
  } catch (error) {
    return (error as TcpxError).code;
  }
}

test('auto: without a descriptor left for the memory TCP does, and the log says so', async () => {
  const target = new EnginePeer('target', { settings: AUTO, host: '127.0.0.1', bytes: 4096 });
  const { port } = await target.fact('port');
  const kept = new KeptLog();
  const client = await openEngine({ ...AUTO, 'flow.channels': 1 }, kept);
  const held = takeDescriptors();
  const outcomes: string[] = [];
  try {
    while (outcomes.at(-1) !== 'shm' && outcomes.length < 20) {
      closeSync(held.pop()!);
      outcomes.push(await pathOrCode(client, port!));
    }
  } finally {
    for (const fd of held) closeSync(fd);
  }
  assert.deepEqual([...new Set(outcomes)].slice(-2), ['tcp host', 'shm'], outcomes.join());
  assert.ok(!outcomes.includes('ERR_CAP_SHARED_MEMORY'), outcomes.join());
  assert.ok(kept.has(/warn no memory to share with a peer of this host: tcp instead/));
  target.kill();
  await closeEngines();
});

test('shm: a peer killed in mid-transfer leaves no memory', async () => {
  for (let round = 0; round < 3; round++) {
    const target = new EnginePeer('target', { settings: SHM, host: '127.0.0.1', bytes: 32 << 20 });
    const { port, descriptor } = await target.fact('descriptor');
    const engine = await openEngine(SHM);
    const session = await engine.connect('127.0.0.1', port);
    const local = engine.register(new Uint8Array(32 << 20));
    const place = { local, localOffset: 0, remote: descriptor!, remoteOffset: 0 };
    const transfers = [1, 2, 3, 4].map(() => session.write([{ ...place, bytes: 32 << 20 }]));
    const outcomes = Promise.allSettled(transfers.map((transfer) => transfer.done));
    target.kill();
    const settled = await outcomes;
    assert.ok(settled.some(({ status }) => status === 'rejected'));
    await session.closed;
    assert.equal(session.error?.code, 'ERR_PEER_LOST');
    await engine.close();
  }
  assert.deepEqual(mappedChannels(), []);
});

/** Connections on their way to `port`, in the order in which they came. */
async function startProxy(t: TestContext, port: number) {
  const accepted: Socket[] = [];
  const proxy = createServer((near) => {
    accepted.push(near);
    const far = connect(port, '127.0.0.1');
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    for (const socket of accepted) socket.destroy();
    proxy.close();
  });
  return { accepted, port: (proxy.address() as AddressInfo).port };
}

test('shm: a channel whose socket is cut is fenced, and attached anew to new memory', async (t) => {
  const settings: Partial<SettingValues> = { ...SHM, 'flow.channels': 2 };
  const server = await openEngine(settings);
  const proxy = await startProxy(t, server.listen({ host: '127.0.0.1', port: 0 }));
  const client = await openEngine(settings);
  const session = await client.connect('127.0.0.1', proxy.port);
  const bytes = 16 << 20;
  const source = new Uint8Array(bytes);
  const target = new Uint8Array(bytes);
  const local = client.register(source);
  const remote = server.register(target).descriptor;
  const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes }];
  for (let round = 1; round <= 3; round++) {
    source.fill(round);
    const transfers = [session.write(blocks), session.write(blocks), session.write(blocks)];
    // The control connection came first; one of the youngest two is a living channel.
    proxy.accepted.at(round === 1 ? 1 : -1)?.destroy();
    for (const { done } of transfers) assert.equal((await done).path, 'shm');
    assert.ok(target.every((byte) => byte === round));
    for (const stop = Date.now() + 5000; proxy.accepted.length < 3 + round; ) {
      assert.ok(Date.now() < stop, 'it is attached anew');
      await sleepMs(5);
    }
  }
  await client.close();
  await server.close();
  assert.deepEqual(mappedChannels(), []);
});

test('bench: --local shm is named in the document and in the text', async () => {
  const flags = ['bench', 'loopback', '--local', 'shm', '--size', '1MiB', '--iters', '3'];
  const { exitCode, stdout } = await runTcpx([...flags, '--json']);
  assert.equal(exitCode, 0);
  const result = JSON.parse(stdout) as BenchResult;
  assert.equal(result.path, 'shm');
  assert.equal((result.receipt as { path?: string }).path, 'shm');
  assert.equal(result.verified.mismatches, 0);
  const text = await runTcpx(flags);
  assert.match(text.stdout, /shared memory, no network/);
});
