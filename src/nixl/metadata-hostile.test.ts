// Hostile metadata: whatever arrives, decoding ends in a value or in a TcpxError, and a count in
// the input never makes it allocate more than the input could hold.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodesOrRefuses } from '../../test/support/fuzz-target.js';
import { METADATA_EXAMPLES } from '../../test/support/metadata-examples.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { decodeRegDlist, decodeXferDlist, encodeRegDlist } from './descriptor-codec.js';
import { decodeFrameHead, decodeListenerBody, encodeListenerFrame } from './listener-message.js';
import { MemType } from './memory-type.js';
import { type AgentMetadata, decodeMetadata, encodeMetadata } from './metadata.js';
import { decodeNotification } from './notif-codec.js';
import { SerdesWriter } from './serdes.js';

/** Pieces shorter than a verb are skipped by rule; a body with nothing else counts as refused. */
function decodeSomeMessage(bytes: Uint8Array): unknown {
  const messages = decodeListenerBody(bytes);
  if (messages.length === 0) throw new TcpxError('ERR_WIRE_METADATA', 'no message');
  return messages;
}

const { blob, xferDlist, regDlist, notification, listenerBodies } = METADATA_EXAMPLES;
const DECODERS: Record<string, readonly [(bytes: Uint8Array) => unknown, Uint8Array]> = {
  decodeMetadata: [decodeMetadata, blob],
  decodeXferDlist: [decodeXferDlist, xferDlist],
  decodeRegDlist: [decodeRegDlist, regDlist],
  decodeNotification: [decodeNotification, notification],
  decodeListenerBody: [decodeSomeMessage, listenerBodies[0]],
};

/** Whether it decodes; what it throws must be a wire error. */
function decodes(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): boolean {
  return decodesOrRefuses(decode, bytes, /^ERR_WIRE_/) !== undefined;
}

for (const [name, [decode, valid]] of Object.entries(DECODERS)) {
  const goodStart = Math.floor(valid.length / 2);

  test(`${name}: random bytes are refused with a wire error`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        decodes(decode, bytes);
        // Behind a good beginning the reader gets further than the first comparison.
        decodes(decode, Buffer.concat([valid.subarray(0, goodStart), bytes]));
      }),
      { numRuns: 500 },
    );
  });

  test(`${name}: every truncation is refused`, () => {
    for (let bytes = 0; bytes < valid.length; bytes++) {
      assert.equal(decodes(decode, valid.subarray(0, bytes)), false, `${bytes} bytes`);
    }
    assert.equal(decodes(decode, valid), true);
  });

  test(`${name}: mutations end in a value or a wire error`, () => {
    const mutation = fc.tuple(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 8 }), (mutations) => {
        const mutated = Uint8Array.from(valid);
        for (const [at, value] of mutations) mutated[at] = value;
        decodes(decode, mutated);
      }),
      { numRuns: 2000 },
    );
  });

  test(`${name}: bytes after the end are refused`, () => {
    if (name === 'decodeListenerBody') return; // the blob in it is checked when it is loaded
    assert.equal(decodes(decode, Buffer.concat([valid, Buffer.from([0])])), false);
  });
}

function refusedFor(bytes: Uint8Array, decode = decodeMetadata as (b: Uint8Array) => unknown) {
  assert.throws(
    () => decode(bytes),
    (error) => isTcpxError(error, 'ERR_WIRE_METADATA'),
  );
}

test('metadata: counts beyond the input are refused before anything is allocated', () => {
  const huge = 2 ** 52;
  refusedFor(new SerdesWriter().addText('Agent', 'a').addU64('Conns', huge).finish());
  const sections = new SerdesWriter().addText('Agent', 'a').addU64('Conns', 0);
  refusedFor(sections.addText('', 'MemSection').addU64('nixlSecElms', huge).finish());
  const list = (kind: string) =>
    new SerdesWriter().addText('nixlDList', kind).addU32('t', 0).addU64('n', huge).finish();
  refusedFor(list('nixlSDList'), decodeRegDlist);
  refusedFor(list('nixlBDList'), decodeXferDlist);
});

test('metadata: decoding a large count of tiny elements stays at the input’s scale', () => {
  const descs = Array.from({ length: 20_000 }, (_, i) => ({ addr: i * 64, len: 64, devId: 0 }));
  const bytes = encodeRegDlist({ memType: MemType.DRAM, descs });
  const before = process.memoryUsage();
  const list = decodeRegDlist(bytes);
  const after = process.memoryUsage();
  assert.equal(list.descs.length, 20_000);
  const grown = after.heapUsed + after.external - before.heapUsed - before.external;
  assert.ok(grown < 64 * bytes.length, `${grown} bytes for ${bytes.length} of input`);
});

test('metadata: unknown memory types, long names and control characters are refused', () => {
  const list = new SerdesWriter().addText('nixlDList', 'nixlSDList').addU32('t', 5).addU64('n', 0);
  refusedFor(list.finish(), decodeRegDlist);
  const named = (agent: string) =>
    new SerdesWriter()
      .addText('Agent', agent)
      .addU64('Conns', 0)
      .addText('', 'MemSection')
      .addU64('nixlSecElms', 0)
      .finish();
  assert.equal(decodeMetadata(named('ok')).agent, 'ok');
  refusedFor(named('x'.repeat(256)));
  refusedFor(named('a\nb'));
  refusedFor(named(''));
});

test('metadata: two connection entries of one backend are refused', () => {
  const connection = { type: 'X', info: Buffer.from('1') };
  refusedFor(encodeMetadata({ agent: 'a', connections: [connection, connection], sections: [] }));
});

test('metadata: ranges that end beyond 2^53 are refused, unbounded storage regions are not', () => {
  const encode = (
    memType: AgentMetadata['sections'][number]['memType'],
    addr: number,
    len: number,
  ) => encodeRegDlist({ memType, descs: [{ addr, len, devId: 0 }] });
  refusedFor(encode(MemType.DRAM, 2 ** 52, 2 ** 52 + 2), decodeRegDlist);
  refusedFor(encode(MemType.DRAM, 0, Number.POSITIVE_INFINITY), decodeRegDlist);
  const file = decodeRegDlist(encode(MemType.FILE, 0, Number.POSITIVE_INFINITY));
  assert.equal(file.descs[0]?.len, Number.POSITIVE_INFINITY);
});

test('listener: marker bytes inside a blob do not cut it, two messages in a frame are two', () => {
  const sly = encodeMetadata({
    agent: 'NIXLCOMM:SEND',
    connections: [],
    sections: [],
  });
  assert.throws(() => encodeListenerFrame({ verb: 'LOAD', blob: sly }), TcpxError);
  const body = Buffer.concat([
    Buffer.from('NIXLCOMM:LOAD'),
    sly,
    Buffer.from('NIXLCOMM:INVLpeer'),
    Buffer.from('NIXLCOMM:abc'),
  ]);
  const messages = decodeListenerBody(body);
  assert.deepEqual(
    messages.map((message) => message.verb),
    ['LOAD', 'INVL'],
  );
});

test('listener: a frame head beyond the limit is refused', () => {
  const head = Buffer.alloc(8, 0xff);
  assert.throws(
    () => decodeFrameHead(head, 1000),
    (error) => isTcpxError(error, 'ERR_WIRE_LIMIT'),
  );
  head.fill(0);
  head[0] = 200;
  assert.equal(decodeFrameHead(head, 1000), 200);
});

test('metadata: any well-formed value survives a round trip', () => {
  const name = fc.stringMatching(/^[!-~]{1,40}$/);
  const desc = fc.record({
    addr: fc.nat({ max: 2 ** 47 }),
    len: fc.integer({ min: 1, max: 2 ** 30 }),
    devId: fc.nat(7),
    metaInfo: fc.uint8Array({ maxLength: 40 }),
  });
  const section = fc.record({
    type: name,
    memType: fc.constantFrom(MemType.DRAM, MemType.VRAM),
    descs: fc.array(desc, { maxLength: 5 }),
  });
  const connection = fc.record({
    type: name,
    info: fc.uint8Array({ minLength: 1, maxLength: 50 }),
  });
  const metadata = fc.record({
    agent: name,
    connections: fc.uniqueArray(connection, { maxLength: 3, selector: (entry) => entry.type }),
    sections: fc.array(section, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(metadata, (value) => {
      const once = encodeMetadata(value);
      assert.deepEqual(Buffer.from(encodeMetadata(decodeMetadata(once))), Buffer.from(once));
    }),
    { numRuns: 200 },
  );
});
