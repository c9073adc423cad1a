// What sessions and engines take from the kernel comes back: descriptors, mappings, timers.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { closeEngines, openEngine, openPair } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { mappedBytes, openDescriptors } from '../../test/support/process-resources.js';
import { answerRaw } from '../../test/support/raw-handshake.js';
import { listenRaw, RawPeer } from '../../test/support/raw-peer.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import {
  connectSocket,
  openStreamSocket,
  SO_LINGER,
  SOL_SOCKET,
  setSocketText,
  shutdownSocket,
} from '../ffi/libc/socket.js';
import { ControlChannel } from './control-channel.js';
import type { Session } from './session.js';

after(closeEngines);

/** Mapped, but not by the heap of JavaScript, which grows by leaps of its own. */
function foreignBytes(): number {
  return mappedBytes() - process.memoryUsage().heapTotal;
}

for (const progress of ['caller', 'lanes'] as const) {
  test(`resources, ${progress}: 60 sessions come and go, nothing stays`, async () => {
    const server = await openEngine({ 'lane.progress': progress, 'flow.channels': 2 });
    const client = await openEngine({ 'lane.progress': progress });
    const drive = <T>(promise: Promise<T>): Promise<T> => client.drive(server.drive(promise));
    const port = server.listen({ host: '127.0.0.1', port: 0 });
    const local = client.register(new Uint8Array(100_000));
    const remote = server.register(new Uint8Array(100_000)).descriptor;
    const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: 100_000 }];
    const once = async (): Promise<void> => {
      const session = await drive(client.connect('127.0.0.1', port));
      await drive(session.write(blocks, { notify: 'x' }).done);
      await drive(session.close());
      while (server.sessions.length > 0) await drive(sleepMs(1));
    };
    for (let round = 0; round < 5; round++) await once();
    const before = { fds: openDescriptors(), bytes: foreignBytes() };
    for (let round = 0; round < 60; round++) await once();
    assert.equal(openDescriptors(), before.fds, 'descriptors');
    // A channel maps more than half a MiB: four a session would be 120. Heaps of lanes grow too.
    const grown = foreignBytes() - before.bytes;
    assert.ok(grown < 48 * 1024 * 1024, `${grown} bytes stayed mapped`);
    await drive(Promise.all([client.close(), server.close()]));
  });

  test(`resources, ${progress}: 12 pairs of engines come and go, nothing stays`, async () => {
    const settings = { 'lane.progress': progress };
    for (let round = 0; round < 2; round++) await (await openPair(settings)).close();
    const before = { fds: openDescriptors(), bytes: foreignBytes() };
    for (let round = 0; round < 12; round++) await (await openPair(settings)).close();
    await sleepMs(20);
    assert.equal(openDescriptors(), before.fds, 'descriptors');
    // Threads leave stacks and heaps to their successors: only without them does the sum tell.
    if (progress === 'lanes') return;
    const perPair = (foreignBytes() - before.bytes) / 12;
    assert.ok(perPair < 300 * 1024, `${perPair} bytes per pair stayed mapped`);
  });
}

test('resources: a session that has ended is not held until its handshake would have', async () => {
  const seen: WeakRef<Session>[] = [];
  const onSession = (session: Session): void => void seen.push(new WeakRef(session));
  const server = await openEngine({ 'session.handshakeTimeoutMs': 60_000 }, { onSession });
  const client = await openEngine();
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  for (let round = 0; round < 20; round++) await (await client.connect('127.0.0.1', port)).close();
  while (server.sessions.length > 0) await sleepMs(1);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => seen.filter((one) => one.deref() !== undefined).length;
  for (let tries = 0; tries < 100 && held() > 2; tries++) {
    // Whoever looks at a weak reference holds it for the rest of the turn.
    await sleepMs(10);
    collect();
  }
  // The last ones may still be named somewhere on the way.
  assert.ok(seen.length === 20 && held() <= 2, `${held()} of ${seen.length} sessions are held`);
  await Promise.all([client.close(), server.close()]);
});

test('resources: 1,000 registrations, and again in the same slots', async () => {
  const engine = await openEngine({ 'lane.progress': 'caller', 'memory.regionsMax': 1000 });
  const memory = new Uint8Array(1000);
  const keys = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const regions = Array.from(memory, (_, index) => engine.register(memory.subarray(index)));
    for (const { descriptor } of regions) keys.add(descriptor.key);
    assert.throws(() => engine.register(memory), withCode('ERR_CONFIG_VALUE', /regionsMax/));
    for (const region of regions) await engine.deregister(region);
  }
  assert.equal(keys.size, 3000);
  await engine.close();
});

test('resources: connections that are reset before they are accepted leave nothing', async () => {
  const engine = await openEngine({ 'lane.progress': 'caller' });
  const port = engine.listen({ host: '127.0.0.1', port: 0 });
  const before = openDescriptors();
  for (let round = 0; round < 50; round++) {
    const fd = openStreamSocket('127.0.0.1');
    connectSocket(fd, { host: '127.0.0.1', port });
    // Linger on, for no time: close sends a reset.
    assert.equal(setSocketText(fd, SOL_SOCKET, SO_LINGER, '\x01\0\0\0\0\0\0\0'), 0);
    closeFd(fd);
    for (let polls = 0; polls < 64; polls++) engine.poll();
  }
  await engine.drive(sleepMs(50));
  assert.equal(openDescriptors(), before);
  await engine.close();
});

/** What is unmapped when 100 connections that have said nothing are gone, by spares. */
async function unmappedBytes(spareControls: number): Promise<number> {
  const engine = await openEngine({ 'memory.spareControls': spareControls });
  const port = engine.listen({ host: '127.0.0.1', port: 0 });
  const descriptors = openDescriptors();
  const peers: RawPeer[] = [];
  for (let count = 0; count < 100; count++) peers.push(await RawPeer.connect(port));
  await until('all are accepted', 20_000, () => openDescriptors() >= descriptors + 200);
  const bytes = foreignBytes();
  for (const peer of peers) peer.close();
  await until('all are gone', 20_000, () => openDescriptors() <= descriptors);
  const unmapped = bytes - foreignBytes();
  await engine.close();
  return unmapped;
}

test('resources: buffers of connections are kept up to memory.spareControls, no more', async () => {
  const [without, withAll] = [await unmappedBytes(0), await unmappedBytes(1000)];
  // 72 KiB each.
  assert.ok(without - withAll > 5 << 20, `${without} without spares, ${withAll} with them`);
});

test('resources: a server with a nonsense data address costs no descriptor', async () => {
  const client = await openEngine({ 'session.handshakeTimeoutMs': 500 });
  const server = await listenRaw((peer) => {
    void answerRaw(peer, { addresses: ['not an address'] }).catch(() => peer.close());
  });
  after(() => server.close());
  const attempt = () => assert.rejects(client.connect('127.0.0.1', server.port));
  await attempt();
  await sleepMs(20);
  const before = openDescriptors();
  for (let round = 0; round < 10; round++) await attempt();
  await sleepMs(50);
  const grown = openDescriptors() - before;
  assert.ok(grown <= 1, `${grown} descriptors`);
  await client.close();
});

test('resources: closing with handshakes open does not keep the process', async () => {
  const pair = new URL('../../test/support/engine-pair.js', import.meta.url).href;
  const script = `
    import { openEngine } from '${pair}';
    import { connect } from 'node:net';
    const engine = await openEngine({ 'session.handshakeTimeoutMs': 20000 });
    const port = engine.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await new Promise((resolve) => socket.once('connect', resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await engine.close();
    socket.destroy();
  `;
  const startMs = performance.now();
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  assert.ok(performance.now() - startMs < 8000);
});

test('resources: closing is orderly when the peer has gone a moment ago', async () => {
  for (let round = 0; round < 5; round++) {
    const pair = await openPair({ 'lane.progress': 'caller' });
    // As after a reset that nobody has looked at yet: the goodbye cannot be sent.
    const { control } = pair.session;
    assert.ok(control instanceof ControlChannel);
    shutdownSocket(control.socket.fd);
    await pair.drive(pair.session.close());
    await pair.close();
    assert.equal(pair.session.state, 'closed');
  }
});

test('engine: a name that no peer would take is refused when the engine opens', async () => {
  const open = openEngine({ 'lane.progress': 'caller' }, { name: '€'.repeat(86) });
  await assert.rejects(open, withCode('ERR_USAGE_ARGUMENT', /255/));
});

test('resources: a closed engine leaves no timer that keeps the process alive', async () => {
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const engine = await openEngine({});
  await engine.close();
  assert.equal(timers(), before);
});

test('resources: listening with an absent NIC fails at once and names it', async () => {
  const engine = await openEngine({ 'session.nics': 'absent9' });
  assert.throws(
    () => engine.listen({ host: '127.0.0.1', port: 0 }),
    withCode('ERR_CONFIG_VALUE', /absent9/),
  );
  await engine.close();
});
