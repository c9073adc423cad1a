// The metadata listener of an agent, and an agent that asks a hostile one, over sockets: a peer
// that says anything is answered or cut off, and an honest one is served all the same.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import fc from 'fast-check';
import { fuzzTarget } from '../../test/support/fuzz-target.js';
import { METADATA_EXAMPLES } from '../../test/support/metadata-examples.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import { withinMs } from '../base/clock.js';
import { isTcpxError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { encodeListenerFrame } from './listener-message.js';
import { decodeMetadata } from './metadata.js';
import { MetadataEndpoint } from './metadata-endpoint.js';

const FRAME_BYTES_MAX = 4096;
const BYTES = { frameBytesMax: FRAME_BYTES_MAX, bytesMax: 64 * FRAME_BYTES_MAX };
const LIMITS = { ...BYTES, connectionsMax: 256 };
const LIMIT_MS = 8000;
const { blob } = METADATA_EXAMPLES;

const messages = [
  encodeListenerFrame({ verb: 'LOAD', blob }),
  encodeListenerFrame({ verb: 'SEND' }),
  encodeListenerFrame({ verb: 'INVL', agent: 'peer' }),
];

function openEndpoint(): MetadataEndpoint {
  const handlers = {
    ownBlob: () => blob,
    // As an agent does: what cannot be decoded is refused by an error.
    onLoad: (bytes: Uint8Array) => void decodeMetadata(bytes),
    onInvalidate: () => undefined,
  };
  return new MetadataEndpoint({ handlers, ...LIMITS, log: silentLog });
}

/** One listener for all runs of a batch, and an honest agent that asks it. */
let shared: Promise<{ listener: MetadataEndpoint; honest: MetadataEndpoint }> | undefined;

async function open() {
  const listener = openEndpoint();
  await listener.listen('127.0.0.1', 0);
  return { listener, honest: openEndpoint() };
}

async function close(): Promise<void> {
  if (shared === undefined) return;
  const { listener, honest } = await shared;
  shared = undefined;
  await withinMs(Promise.all([honest.close(), listener.close()]), LIMIT_MS);
}

async function attackListener(said: readonly Uint8Array[]): Promise<void> {
  const { listener, honest } = await (shared ??= open());
  const port = listener.port ?? 0;
  const ended = new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      for (const bytes of said) socket.write(bytes);
      socket.end();
    });
    socket.on('error', () => undefined).on('close', () => resolve());
    socket.resume();
  });
  await withinMs(ended, LIMIT_MS);
  const answer = await withinMs(honest.pull('127.0.0.1', port), LIMIT_MS);
  assert.deepEqual(answer && Uint8Array.from(answer.blob), Uint8Array.from(blob));
}

// Asks a listener that answers with anything: metadata that can be read, or a typed error.
async function askHostile(said: readonly Uint8Array[]): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume();
    socket.once('data', () => {
      for (const bytes of said) socket.write(bytes);
      socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const asking = openEndpoint();
  try {
    const answer = await withinMs(asking.pull('127.0.0.1', port), LIMIT_MS);
    assert.ok(answer !== undefined, 'in time');
    assert.ok(answer.blob.length <= FRAME_BYTES_MAX);
  } catch (error) {
    if (!isTcpxError(error) || !/^ERR_(WIRE|PEER)_/.test(error.code)) throw error;
  } finally {
    await asking.close();
    server.close();
  }
}

const script = fc.array(mutatedBytes(messages), { minLength: 1, maxLength: 6 });

export const FUZZ_TARGETS = [
  fuzzTarget(
    'metadata listener: whatever one peer says, the next is served',
    { runs: 60, close },
    script,
    attackListener,
  ),
  fuzzTarget(
    'metadata pull: a hostile listener gives metadata, or a typed error, in time',
    { runs: 60 },
    script,
    askHostile,
  ),
];
