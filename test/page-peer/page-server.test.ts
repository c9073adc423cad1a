// An engine as the client of a server that was written from docs/protocol.md alone, and what only
// an initiator can see of the rules: answers, their reasons, and positions in shared memory.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { fstatSync, readFileSync, readSync, writeSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import type { Engine } from '../../src/engine/engine.js';
import { liveSession } from '../../src/engine/session-face.js';
import { closeFd } from '../../src/ffi/libc/file-descriptor.js';
import { bindMailbox, receiveUnix } from '../../src/ffi/libc/unix-socket.js';
import { closeEngines, openEngine, type Settings } from '../support/engine-pair.js';
import { until } from '../support/until.js';
import {
  type DataFrame,
  dataFrame,
  FEATURE,
  KIND,
  type PageConnection,
  PagePeer,
} from './page-peer.js';
import { PageServer, type ServerOptions } from './page-server.js';

after(closeEngines);

const PAGE = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');
const ONE_CHANNEL = { 'flow.channels': 1 };
const REMOTE = { slot: 5, generation: 9, bytes: 1000, key: '0123456789abcdef0123456789abcdef' };
const SHARED_BYTES = 528_384;
const RING_BYTES = 256 * 1024;

let client: Promise<Engine> | undefined;
const engineOf = (): Promise<Engine> => (client ??= openEngine(ONE_CHANNEL));

async function join(t: TestContext, options: ServerOptions = {}, settings?: Settings) {
  const server = await PageServer.open(options);
  t.after(() => server.close());
  const engine = settings === undefined ? await engineOf() : await openEngine(settings);
  const session = liveSession(await engine.connect('127.0.0.1', server.port));
  return { engine, session, data: server.channel(0) };
}

async function frameOf(data: PageConnection, kind: number): Promise<DataFrame> {
  for (;;) {
    const frame = await data.frame();
    assert.ok(frame !== undefined, 'the channel lives');
    if (frame.get('kind') === kind) return frame;
  }
}

const frame = (values: Parameters<typeof dataFrame>[1], payload?: Uint8Array): Buffer =>
  dataFrame(false, values, [], payload);

test('page server: an engine writes, notifies and reads as the page says', async (t) => {
  const { engine, session, data } = await join(t);
  const memory = Buffer.from('written by an engine');
  const local = engine.register(memory);
  const place = { local, localOffset: 0, remote: REMOTE, remoteOffset: 30 };
  const written = session.write([{ ...place, bytes: 7 }], { notify: 'told' }).done;
  const write = await frameOf(data, KIND.WRITE);
  assert.deepEqual(
    ['regionSlot', 'regionGeneration', 'operationBytes', 'offset', 'sequence'].map((name) =>
      write.get(name),
    ),
    [REMOTE.slot, REMOTE.generation, 7, 30, 0],
  );
  assert.equal(write.head.subarray(36, 52).toString('hex'), REMOTE.key);
  assert.equal(write.payload.toString(), 'written');
  data.send(frame({ kind: KIND.ACK, acknowledged: 1 }));
  const notify = await frameOf(data, KIND.NOTIFY);
  assert.deepEqual([notify.payload.toString(), notify.get('sequence')], ['told', 1]);
  data.send(frame({ kind: KIND.ACK, acknowledged: 2 }));
  assert.equal((await written).bytesConfirmed, 7);
  const read = session.read([{ ...place, localOffset: 8, bytes: 5 }]).done;
  const request = await frameOf(data, KIND.READ_REQUEST);
  assert.deepEqual([request.get('operationBytes'), request.get('offset')], [5, 30]);
  const answer = { kind: KIND.READ_DATA, sequence: request.get('sequence'), operationBytes: 5 };
  data.send(frame({ ...answer, acknowledged: 2 }, Buffer.from('HELLO')));
  assert.equal((await read).bytesConfirmed, 5);
  assert.equal(memory.toString(), 'written HELLO engine');
  await engine.deregister(local);
});

test('page server: every reason of the page is the error of the page', async (t) => {
  const { engine, session, data } = await join(t);
  const local = engine.register(new Uint8Array(100));
  const place = { local, localOffset: 0, remote: REMOTE, remoteOffset: 0, bytes: 10 };
  const table = PAGE.slice(PAGE.indexOf('<!-- generated:refusals -->'));
  const rows = [...table.matchAll(/^\| (\d+) \| .* \| `(ERR_\w+)` \|$/gm)];
  assert.equal(rows.length, 7);
  let count = 0;
  // Reason 5 belongs to sessions with checks, and is no error before the sixteenth time.
  for (const [, reason, code] of rows.filter(([, number]) => number !== '5')) {
    for (const kind of [KIND.WRITE, KIND.READ_REQUEST]) {
      const isWrite = kind === KIND.WRITE;
      const { done } = isWrite ? session.write([place]) : session.read([place]);
      const failed = assert.rejects(done, ({ code: own, cause }: NodeJS.ErrnoException) => {
        const causes = [own, (cause as NodeJS.ErrnoException | undefined)?.code];
        assert.ok(causes.includes(code), `${reason}: ${causes.join()}`);
        return true;
      });
      const asked = await frameOf(data, kind);
      if (isWrite) count++;
      const words = BigInt(Number(reason)) | (BigInt(kind) << 32n);
      const refusal = { kind: KIND.REFUSE, sequence: asked.get('sequence'), transfer: words };
      data.send(frame({ ...refusal, acknowledged: count - (isWrite ? 1 : 0) }));
      if (isWrite) data.send(frame({ kind: KIND.ACK, acknowledged: count }));
      await failed;
    }
  }
  await engine.deregister(local);
});

test('page server: who calls every chunk damaged gets it 17 times', async (t) => {
  const checked = { 'flow.checksum': true, ...ONE_CHANNEL };
  const { engine, session, data } = await join(t, { features: FEATURE.checks }, checked);
  const local = engine.register(new Uint8Array(100));
  const place = { local, localOffset: 0, remote: REMOTE, remoteOffset: 0, bytes: 10 };
  const failed = assert.rejects(session.write([place]).done, { code: 'ERR_XFER_CHECKSUM' });
  const over = failed.then(() => undefined);
  let sent = 0;
  for (;;) {
    const write = await Promise.race([data.frame(), over]);
    if (write === undefined) break;
    if (write.get('kind') !== KIND.WRITE) continue;
    const [sequence, acknowledged] = [write.get('sequence'), sent];
    const transfer = 5n | (BigInt(KIND.WRITE) << 32n);
    data.send(dataFrame(true, { kind: KIND.REFUSE, sequence, transfer, acknowledged }));
    data.send(dataFrame(true, { kind: KIND.ACK, acknowledged: ++sent }));
  }
  await over;
  assert.equal(sent, 17);
  assert.ok(!session.isEnding(), 'the session goes on');
});

test('page server: an answer of another length breaks rule 11', async (t) => {
  const { engine, session, data } = await join(t);
  const memory = new Uint8Array(100);
  const local = engine.register(memory);
  const place = { local, localOffset: 0, remote: REMOTE, remoteOffset: 0, bytes: 10 };
  const failed = assert.rejects(session.read([place]).done);
  const request = await frameOf(data, KIND.READ_REQUEST);
  const answer = { kind: KIND.READ_DATA, sequence: request.get('sequence'), operationBytes: 9 };
  data.send(frame(answer, Buffer.alloc(9, 1)));
  await failed;
  assert.equal(session.error?.code, 'ERR_WIRE_FRAME');
  assert.equal(session.error.facts['rule'], ruleText(11));
  assert.ok(memory.every((byte) => byte === 0));
});

function ruleText(number: number): string {
  const rules = PAGE.slice(PAGE.indexOf('### Rules of data frames'));
  return new RegExp(`^\\| ${number} \\| (.*) \\|$`, 'm').exec(rules)?.[1] ?? '';
}

test('page server: a proof of nothing, another secret, other settings and a refusal', async (t) => {
  const secret = 'a secret of the page server';
  const rejects = async (code: string, options: ServerOptions, settings?: Settings) => {
    await assert.rejects(join(t, options, settings), { code }, code);
  };
  await rejects('ERR_WIRE_AUTH', { isUnproved: true });
  await rejects('ERR_WIRE_AUTH', { secret: `${secret}?` }, { 'trust.secret': secret });
  await rejects('ERR_CONFIG_MISMATCH', { accept: { channels: 4 } });
  await rejects('ERR_WIRE_LIMIT', { accept: { windowChunks: 100_000 } });
  const refuse = ['ERR_WIRE_LIMIT', 'no room'] as const;
  await assert.rejects(join(t, { refuse }), /refused: ERR_WIRE_LIMIT: no room/);
  const { session } = await join(t, { secret }, { ...ONE_CHANNEL, 'trust.secret': secret });
  assert.ok(!session.isEnding());
});

/** A page peer, and whoever got the memory that the engine made for its channel. */
async function shareWithPage(t: TestContext) {
  const sessions: ReturnType<typeof liveSession>[] = [];
  const messages: string[] = [];
  const engine = await openEngine(
    { 'session.local': 'shm', ...ONE_CHANNEL },
    {
      onSession: (session) => sessions.push(liveSession(session)),
      onNotification: ({ bytes }) => messages.push(Buffer.from(bytes).toString()),
    },
  );
  const port = engine.listen({ host: '127.0.0.1', port: 0 });
  const peer = await PagePeer.open(port, { features: FEATURE.sharedMemory | FEATURE.mayShare });
  t.after(() => peer.close());
  const nonce = randomBytes(32);
  const mailbox = bindMailbox(`tcpx-${nonce.subarray(0, 16).toString('hex')}`);
  t.after(() => closeFd(mailbox));
  const data = await peer.attach(0, 0, undefined, nonce, 'shared');
  const mail = receiveUnix(mailbox);
  assert.ok(typeof mail !== 'number');
  assert.deepEqual(Buffer.from(mail.bytes), peer.channelProof('shared', 0, 0, nonce));
  const [file = -1] = mail.descriptors;
  t.after(() => closeFd(file));
  await until('the session', 5000, () => sessions.length === 1);
  const session = sessions[0]!;
  return { peer, data, file, messages, session, proof: peer.channelProof('mapped', 0, 0, nonce) };
}

// Through the file rather than a mapping of it: the pages are the same.
function moveTail(data: PageConnection, file: number, bytes: number): void {
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(bytes);
  writeSync(file, tail, 0, 4, 1024);
  data.send(Buffer.alloc(1));
}

test('page peer: a position in shared memory that leaps breaks rule 13', async (t) => {
  const { peer, data, file, messages, session, proof } = await shareWithPage(t);
  assert.equal(fstatSync(file).size, SHARED_BYTES);
  const first = Buffer.alloc(12);
  readSync(file, first, 0, 12, 0);
  assert.equal(first.toString('latin1', 0, 4), 'TXSM');
  assert.deepEqual([first.readUInt32LE(4), first.readUInt32LE(8)], [3, RING_BYTES]);
  writeSync(file, proof, 0, 32, 128);
  const notify = peer.notify(0, 'through memory');
  writeSync(file, notify, 0, notify.length, 4096);
  moveTail(data, file, notify.length);
  await until('the message', 5000, () => messages.includes('through memory'));
  moveTail(data, file, notify.length + RING_BYTES + 1);
  await until('its end', 5000, () => session.isEnding());
  assert.equal(session.error?.code, 'ERR_WIRE_FRAME');
  assert.equal(session.error.facts['rule'], ruleText(13));
});

test('page peer: who took the mailbox over gets the memory, and not a word', async (t) => {
  const { peer, data, file, messages, session, proof } = await shareWithPage(t);
  const told = assert.rejects(session.notify('for the client alone').done);
  const nearly = Buffer.from(proof);
  nearly[31]! ^= 1;
  writeSync(file, nearly, 0, 32, 128);
  const forged = peer.notify(0, 'forged');
  writeSync(file, forged, 0, forged.length, 4096);
  moveTail(data, file, forged.length);
  // The engine looks at the memory once more before it gives the channel up.
  data.socket.destroy();
  await until('the channel is down', 5000, () => session.recovery.book.living.length === 0);
  assert.deepEqual(messages, []);
  const written = Buffer.alloc(64);
  readSync(file, written, 0, 4, 2048);
  readSync(file, written, 4, 60, 4096 + RING_BYTES);
  assert.ok(
    written.every((byte) => byte === 0),
    'nothing was sent either',
  );
  peer.close();
  await told;
});
