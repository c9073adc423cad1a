// Body of a match HELLO: what the two ends of an epoch compare before they connect their channels.

import { TcpxError } from '../base/errors.js';
import { ByteReader, ByteWriter } from './byte-cursor.js';

export const HANDLE_BYTES = 128;
const CHANNELS_MAX = 16;
const TEXT_BYTES_MAX = 256;
const HELLO_BYTES_MAX = 16 * 1024;

/** Which plugin an end has. */
export interface PluginIdentity {
  /** As it calls itself. */
  readonly name: string;
  /** Of the plugin, as far as it says so. */
  readonly version: string;
  /** Version of NCCL's net interface that is used. */
  readonly tableVersion: number;
  /** Whether it is the emulator of this project. */
  readonly isEmulated: boolean;
  /** Of its registrations: `host` or `cuda`. */
  readonly pointerType: string;
}

export interface MatchHello {
  readonly plugin: PluginIdentity;
  readonly chunkBytes: number;
  readonly isHostRecv: boolean;
  readonly nics: readonly string[];
  /** One per channel, as hexadecimal digits. */
  readonly handles: readonly string[];
}

export function encodeMatchHello(hello: MatchHello): Uint8Array {
  const { plugin, nics, handles } = hello;
  const body = new ByteWriter(HELLO_BYTES_MAX)
    .text(plugin.name.slice(0, TEXT_BYTES_MAX / 4))
    .text(plugin.version.slice(0, TEXT_BYTES_MAX / 4))
    .uint32(plugin.tableVersion)
    .uint32(plugin.isEmulated ? 1 : 0)
    .text(plugin.pointerType)
    .uint32(hello.chunkBytes)
    .uint32(hello.isHostRecv ? 1 : 0)
    .uint16(nics.length);
  for (const nic of nics) body.text(nic);
  body.uint16(handles.length);
  for (const handle of handles) body.bytes(Buffer.from(handle, 'hex'));
  return body.finish();
}

export function decodeMatchHello(bytes: Uint8Array): MatchHello {
  const reader = new ByteReader(bytes, 'match HELLO');
  const plugin = {
    name: reader.text(TEXT_BYTES_MAX),
    version: reader.text(TEXT_BYTES_MAX),
    tableVersion: reader.uint32(),
    isEmulated: reader.uint32() === 1,
    pointerType: reader.text(TEXT_BYTES_MAX),
  };
  const chunkBytes = reader.uint32();
  const isHostRecv = reader.uint32() === 1;
  const nics = Array.from({ length: count(reader, 'NICs') }, () => reader.text(TEXT_BYTES_MAX));
  const handles = Array.from({ length: count(reader, 'handles') }, () =>
    Buffer.from(reader.bytes(HANDLE_BYTES)).toString('hex'),
  );
  reader.finish();
  return { plugin, chunkBytes, isHostRecv, nics, handles };
}

function count(reader: ByteReader, what: string): number {
  const value = reader.uint16();
  if (value <= CHANNELS_MAX) return value;
  throw new TcpxError('ERR_WIRE_LIMIT', `match HELLO: ${value} ${what}, at most ${CHANNELS_MAX}`);
}
