// Metadata by direct socket: NIXL's messages on a real port, and what hostile peers achieve.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { KeptLog } from '../../test/support/engine-pair.js';
import { openMockAgent, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import type { AgentOptions } from './agent-parts.js';
import { encodeListenerFrame } from './listener-message.js';
import { MemType } from './memory-type.js';
import { decodeMetadata, encodeMetadata } from './metadata.js';
import { NixlStatus } from './status.js';

const S = NixlStatus;
const LOCAL = '127.0.0.1';
const LIMIT_MS = 5000;

function listening(options: AgentOptions = {}): AgentOptions {
  return { ...options, useListenThread: true, settings: { 'nixl.listenPort': 0 } };
}

async function openPair(t: TestContext, options: AgentOptions = {}) {
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a', listening(options));
  const b = await openMockAgent(t, network, 'b', listening(options));
  const toA = { ipAddr: LOCAL, port: a.agent.listenPort! };
  const toB = { ipAddr: LOCAL, port: b.agent.listenPort! };
  return { network, a, b, toA, toB };
}

async function rejectsCode(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => isTcpxError(error, code));
}

/** A peer that writes what it likes. */
async function rawPeer(t: TestContext, port: number, localAddress = LOCAL): Promise<Socket> {
  const socket = connect({ host: LOCAL, port, localAddress });
  socket.on('error', () => undefined);
  t.after(() => socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

test('socket: push, fetch and invalidate between two agents', async (t) => {
  const { a, b, toA, toB } = await openPair(t);
  await a.agent.sendLocalMD(toB);
  await until('b loads what a pushed', LIMIT_MS, () => b.agent.checkRemoteMD('a') === S.SUCCESS);
  await a.agent.fetchRemoteMD('b', toB);
  assert.equal(a.agent.checkRemoteMD('b', piecesOf(b.memory, [0, 8])), S.SUCCESS);
  await b.agent.invalidateLocalMD(toA);
  await until('a forgets b', LIMIT_MS, () => a.agent.checkRemoteMD('b') === S.ERR_NOT_FOUND);
});

test('socket: partial metadata adds up; no listener is needed to send and fetch', async (t) => {
  const { network, b, toB } = await openPair(t);
  const quiet = await openMockAgent(t, network, 'quiet');
  await quiet.agent.sendLocalPartialMD({ memType: MemType.DRAM, descs: [] }, toB);
  await until('connection info came', LIMIT_MS, () => b.agent.checkRemoteMD('quiet') === S.SUCCESS);
  const piece = piecesOf(quiet.memory, [0, 8]);
  assert.equal(b.agent.checkRemoteMD('quiet', piece), S.ERR_NOT_FOUND);
  await quiet.agent.sendLocalPartialMD(regionOf(quiet.memory), toB);
  await until(
    'the region came',
    LIMIT_MS,
    () => b.agent.checkRemoteMD('quiet', piece) === S.SUCCESS,
  );
  await quiet.agent.fetchRemoteMD('b', toB);
  assert.equal(quiet.agent.checkRemoteMD('b'), S.SUCCESS);
});

test('socket: 10,000 registered regions arrive', async (t) => {
  const { network, a, b, toA } = await openPair(t);
  const block = network.allocate(10_000 * 64);
  const descs = Array.from({ length: 10_000 }, (_, i) => ({
    addr: block.addr + i * 64,
    len: 64,
    devId: 0,
  }));
  await a.agent.registerMem({ memType: MemType.DRAM, descs });
  await b.agent.fetchRemoteMD('a', toA);
  const last = piecesOf(block, [9999 * 64, 64]);
  assert.equal(b.agent.checkRemoteMD('a', last), S.SUCCESS);
});

test('socket: the bytes on the wire are NIXL’s', async (t) => {
  const { a } = await openPair(t);
  const peer = await rawPeer(t, a.agent.listenPort!);
  const seen: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => seen.push(chunk));
  peer.write(Buffer.concat([Buffer.from('0d00000000000000', 'hex'), Buffer.from('NIXLCOMM:SEND')]));
  const blob = a.agent.getLocalMD();
  const size = () => seen.reduce((sum, chunk) => sum + chunk.length, 0);
  await until('the answer comes', LIMIT_MS, () => size() >= blob.length + 21);
  const answer = Buffer.concat(seen);
  assert.equal(Number(answer.readBigUInt64LE()), 13 + blob.length);
  assert.equal(answer.toString('latin1', 8, 21), 'NIXLCOMM:LOAD');
  assert.equal(decodeMetadata(answer.subarray(21)).agent, 'a');
});

test('socket: a frame in single bytes and two frames at once are both understood', async (t) => {
  const { network, a, b } = await openPair(t);
  const c = await openMockAgent(t, network, 'c');
  const peer = await rawPeer(t, a.agent.listenPort!);
  peer.setNoDelay(true);
  for (const byte of encodeListenerFrame({ verb: 'LOAD', blob: c.agent.getLocalMD() })) {
    peer.write(Buffer.from([byte]));
    if (byte % 16 === 0) await sleepMs(0);
  }
  await until('c is known', LIMIT_MS, () => a.agent.checkRemoteMD('c') === S.SUCCESS);
  const load = encodeListenerFrame({ verb: 'LOAD', blob: b.agent.getLocalMD() });
  const invalidate = encodeListenerFrame({ verb: 'INVL', agent: 'c' });
  peer.write(Buffer.concat([load, invalidate]));
  await until('b is known', LIMIT_MS, () => a.agent.checkRemoteMD('b') === S.SUCCESS);
  await until('c is forgotten', LIMIT_MS, () => a.agent.checkRemoteMD('c') === S.ERR_NOT_FOUND);
});

test('socket: whoever breaks the format is cut off; others are served on', async (t) => {
  const warnings: string[] = [];
  const log = {
    error: () => undefined,
    warn: (event: string) => void warnings.push(event),
    info: () => undefined,
    debug: () => undefined,
    trace: () => undefined,
  };
  const { a, b, toA } = await openPair(t, { log });
  const hostile = [
    Buffer.alloc(8, 0xff),
    Buffer.concat([Buffer.from('0400000000000000', 'hex'), Buffer.from('evil')]),
    Buffer.concat([Buffer.from('0d00000000000000', 'hex'), Buffer.from('NIXLCOMM:EVIL')]),
    Buffer.concat([Buffer.from('1000000000000000', 'hex'), Buffer.from('NIXLCOMM:LOADabc')]),
  ];
  for (const bytes of hostile) {
    const peer = await rawPeer(t, a.agent.listenPort!);
    const closed = new Promise((resolve) => peer.once('close', resolve));
    peer.resume();
    peer.write(bytes);
    await closed;
  }
  assert.deepEqual(warnings, new Array(hostile.length).fill('metadata peer cut off'));
  await b.agent.fetchRemoteMD('a', toA);
});

test('socket: another host cannot change or invalidate what a peer said of itself', async (t) => {
  const { network, a, b, toB } = await openPair(t);
  await a.agent.fetchRemoteMD('b', toB);
  // Another loopback address stands for another host.
  const stranger = await rawPeer(t, a.agent.listenPort!, '127.0.0.2');
  stranger.write(encodeListenerFrame({ verb: 'INVL', agent: 'b' }));
  const extra = network.allocate(64);
  await b.agent.registerMem(regionOf(extra));
  stranger.write(encodeListenerFrame({ verb: 'LOAD', blob: b.agent.getLocalMD() }));
  const c = await openMockAgent(t, network, 'c');
  stranger.write(encodeListenerFrame({ verb: 'LOAD', blob: c.agent.getLocalMD() }));
  await until('messages were read', LIMIT_MS, () => a.agent.checkRemoteMD('c') === S.SUCCESS);
  assert.equal(a.agent.checkRemoteMD('b'), S.SUCCESS);
  assert.equal(a.agent.checkRemoteMD('b', piecesOf(extra, [0, 8])), S.ERR_NOT_FOUND);
});

test('socket: fetch refuses metadata of another name, silence and absence', async (t) => {
  const { a, toA, b } = await openPair(t);
  await rejectsCode(b.agent.fetchRemoteMD('somebody', toA), 'ERR_WIRE_METADATA');
  assert.equal(b.agent.checkRemoteMD('a'), S.ERR_NOT_FOUND);
  const port = a.agent.listenPort!;
  await a.agent.close();
  const gone = { ipAddr: LOCAL, port };
  await rejectsCode(b.agent.fetchRemoteMD('a', gone), 'ERR_PEER_UNREACHABLE');
  const rude = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => rude.listen(0, LOCAL, () => resolve()));
  t.after(() => rude.close());
  const { port: rudePort } = rude.address() as { port: number };
  const toRude = { ipAddr: LOCAL, port: rudePort };
  await rejectsCode(b.agent.fetchRemoteMD('a', toRude), 'ERR_PEER_LOST');
});

test('socket: a taken port, and neither address nor store, are typed errors', async (t) => {
  const { network, a } = await openPair(t);
  const settings = { 'nixl.listenPort': a.agent.listenPort! };
  await rejectsCode(
    openMockAgent(t, network, 'late', { useListenThread: true, settings }),
    'ERR_SYS_ADDRESS_IN_USE',
  );
  await rejectsCode(a.agent.sendLocalMD(), 'ERR_USAGE_ARGUMENT');
  await rejectsCode(a.agent.fetchRemoteMD('b'), 'ERR_USAGE_ARGUMENT');
});

test('socket: a connection broken by the peer is replaced at the next use', async (t) => {
  const { network, a, b, toA } = await openPair(t);
  await b.agent.fetchRemoteMD('a', toA);
  const port = a.agent.listenPort!;
  await a.agent.close();
  b.agent.invalidateRemoteMD('a');
  await sleepMs(20);
  const options = { useListenThread: true, settings: { 'nixl.listenPort': port } };
  await openMockAgent(t, network, 'a', options);
  await b.agent.fetchRemoteMD('a', toA);
  assert.equal(b.agent.checkRemoteMD('a'), S.SUCCESS);
});

test('socket: IPv6 and host names work', async (t) => {
  const network = new MockNetwork();
  const settings = { 'nixl.listenPort': 0, 'nixl.listenHost': '::1' } as const;
  const options = { useListenThread: true, settings };
  const a = await openMockAgent(t, network, 'a', options).catch(() => undefined);
  if (a === undefined) {
    t.skip('needs IPv6 on loopback');
    return;
  }
  const b = await openMockAgent(t, network, 'b');
  await b.agent.fetchRemoteMD('a', { ipAddr: '::1', port: a.agent.listenPort! });
  assert.equal(b.agent.checkRemoteMD('a'), S.SUCCESS);
  const c = await openMockAgent(t, network, 'c', listening());
  await b.agent.fetchRemoteMD('c', { ipAddr: 'localhost', port: c.agent.listenPort! });
  assert.equal(b.agent.checkRemoteMD('c'), S.SUCCESS);
});

/** A frame that pushes what `agent` offers under another name. */
function pushAs(name: string, blob: Uint8Array): Uint8Array {
  const metadata = { ...decodeMetadata(blob), agent: name };
  return encodeListenerFrame({ verb: 'LOAD', blob: encodeMetadata(metadata) });
}

test('socket: names pushed by one host keep out neither others nor what is wanted', async (t) => {
  const kept = new KeptLog();
  const network = new MockNetwork();
  const settings = { 'nixl.listenPort': 0, 'nixl.pushedPerHostMax': 20, 'nixl.peersMax': 21 };
  const options = { useListenThread: true, settings, log: kept.log };
  const b = await openMockAgent(t, network, 'b', options);
  const a = await openMockAgent(t, network, 'a', { useListenThread: true, settings });
  const port = b.agent.listenPort!;
  const hostile = await rawPeer(t, port, '127.0.0.2');
  const blob = a.agent.getLocalMD();
  for (let count = 0; count < 30; count++) hostile.write(pushAs(`pushed-${count}`, blob));
  const isRefused = /metadata refused .*127\.0\.0\.2.*pushed-20.*nixl\.pushedPerHostMax/;
  await until('a refusal by name', LIMIT_MS, () => kept.has(isRefused));
  const other = await rawPeer(t, port, '127.0.0.3');
  other.write(pushAs('honest', blob));
  await until('the honest push', LIMIT_MS, () => b.agent.checkRemoteMD('honest') === S.SUCCESS);
  await b.agent.fetchRemoteMD('a', { ipAddr: LOCAL, port: a.agent.listenPort! });
  assert.equal(b.agent.checkRemoteMD('a'), S.SUCCESS, 'the table was full');
  assert.ok(kept.has(/pushed agent forgotten agent=pushed-0.*nixl\.peersMax/));
  assert.equal(b.agent.checkRemoteMD('pushed-0'), S.ERR_NOT_FOUND);
  assert.equal(b.agent.checkRemoteMD('honest'), S.SUCCESS);
});

/** The same with so many regions: pieces of the first, each under its key. */
function pushPieces(name: string, blob: Uint8Array, count: number): Uint8Array {
  const metadata = decodeMetadata(blob);
  const sections = metadata.sections.map((section) => {
    const [first] = section.descs;
    assert.ok(first !== undefined);
    const piece = (_: unknown, at: number) => ({ ...first, addr: first.addr + at, len: 1 });
    return { ...section, descs: Array.from({ length: count }, piece) };
  });
  const pushed = encodeMetadata({ ...metadata, agent: name, sections });
  return encodeListenerFrame({ verb: 'LOAD', blob: pushed });
}

test('socket: regions are bounded by host and in all, each by its setting', async (t) => {
  const kept = new KeptLog();
  const network = new MockNetwork();
  const bounds = { 'nixl.pushedRegionsMax': 20, 'nixl.remoteRegionsMax': 50 };
  const settings = { 'nixl.listenPort': 0, ...bounds };
  const options = { useListenThread: true, settings, log: kept.log };
  const b = await openMockAgent(t, network, 'b', options);
  const a = await openMockAgent(t, network, 'a');
  const blob = a.agent.getLocalMD();
  const push = async (host: string, name: string, count: number): Promise<void> => {
    const peer = await rawPeer(t, b.agent.listenPort!, host);
    peer.write(pushPieces(name, blob, count));
  };
  const isKnown = (name: string): boolean => b.agent.checkRemoteMD(name) === S.SUCCESS;
  await push('127.0.0.2', 'first', 20);
  await until('as many as allowed', LIMIT_MS, () => isKnown('first'));
  await push('127.0.0.2', 'second', 1);
  const byHost = /metadata refused .*second.*21 regions.*nixl\.pushedRegionsMax allows 20/;
  await until('a host has its bound', LIMIT_MS, () => kept.has(byHost));
  await push('127.0.0.3', 'third', 20);
  await until('another host has its own', LIMIT_MS, () => isKnown('third'));
  await push('127.0.0.4', 'fourth', 11);
  const inAll = /metadata refused .*fourth.*nixl\.remoteRegionsMax allows 50/;
  await until('all together have theirs', LIMIT_MS, () => kept.has(inAll));
  assert.ok(!isKnown('second') && !isKnown('fourth'));
  await push('127.0.0.5', 'fifth', 10);
  await until('what fits is taken', LIMIT_MS, () => isKnown('fifth'));
});

test('socket: an agent without a log of its own warns on stderr, as an engine does', async () => {
  const { stderr } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    `const { Agent } = await import(${JSON.stringify(new URL('agent.js', import.meta.url).href)});
     const settings = { 'nixl.listenHost': '0.0.0.0', 'nixl.listenPort': 0 };
     await (await Agent.create('loud', { useListenThread: true, settings })).close();`,
  ]);
  assert.match(stderr, /warn .*metadata listener reachable from the network/);
});
