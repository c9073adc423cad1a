// The plugin's unpack queue of one receive comm: where the scatter list of the j-th finished
// receive lies, found the public way: device handle → unpack handle → slot j mod 16.

import { TcpxError } from '../../../base/errors.js';
import type { RequestHandle } from '../../../base/quantity.js';
import { viewMemory } from '../../../ffi/libc/library.js';
import { DEVICE_HANDLE_BYTES } from '../../../ffi/nccl-net/net-plugin.js';
import { CHUNKS_MAX, ENTRY_BYTES, FRAGMENTS_MAX } from '../../../gpu/scatter-entry.js';
import type { ScatterEntries } from '../../../gpu/scatter-list.js';
import { readableBytes } from '../../../os/mapped-range.js';

const UNPACK_HANDLE_BYTES = 24;
/** The struct that accept fills: type, version, address and size of the handle. */
const DEVICE_TYPE = 0;
const DEVICE_VERSION = 4;
const DEVICE_HANDLE = 8;
const DEVICE_SIZE = 16;
const UNPACK_TYPE = 1;
const UNPACK_VERSION = 7;
/** Offsets of fragments have 32 bits. */
const BOUNCE_BYTES_MAX = 2 ** 32;
const SLOT_BYTES = FRAGMENTS_MAX * ENTRY_BYTES;
const COUNTS_AT = CHUNKS_MAX * SLOT_BYTES;
const META_BYTES = COUNTS_AT + CHUNKS_MAX * 8;
const REQUEST_BYTES = 128;
const REQUEST_OP = 16;
const REQUEST_SIZE = 36;
const OP_RECEIVE = 1;

/** Reaches what the plugin keeps in device memory; the processor where there is no GPU. */
export interface HandleReader {
  /** Bytes of the device's memory from the address on, as its driver knows it; 0 for none. */
  extent(addr: number): number;
  /** A copy of these bytes. */
  read(addr: number, bytes: number): Uint8Array;
  /** Where the CPU reaches pinned memory that the device sees at `deviceAddr`. */
  hostAddressOf(deviceAddr: number): number;
}

export const cpuReader: HandleReader = {
  extent: (addr) => readableBytes(addr),
  read: (addr, bytes) => new Uint8Array(viewMemory(addr, bytes)).slice(),
  hostAddressOf: (deviceAddr) => deviceAddr,
};

/** The list of one receive, as both sides see it. */
export interface UnpackSlot {
  readonly entries: ScatterEntries;
  readonly entriesAddr: number;
  readonly bounceAddr: number;
}

export class UnpackQueue {
  readonly slots: readonly UnpackSlot[];
  /** No fragment lies beyond. */
  readonly bounceBytes: number;
  /** The driver does not know the bounce buffer, and nobody told its size. */
  readonly isExtentGuessed: boolean;
  readonly #counts: Uint32Array;

  /**
   * `deviceAddr` is the struct that accept filled; the handle in it is the device's. `toldBytes` is
   * the size of the bounce buffer where somebody knows it, else 0. Nothing is believed: the plugin
   * leaves null pointers where it has no bounce buffer for a GPU, and may be of another version.
   */
  constructor(deviceAddr: number, reader: HandleReader, toldBytes: number) {
    const { metaAddr, bounceAddr } = readUnpackHandle(deviceAddr, reader);
    const hostAddr = reader.hostAddressOf(metaAddr);
    const metaBytes = readableBytes(hostAddr);
    if (metaBytes < META_BYTES) {
      throw deviceError(
        `its lists at 0x${hostAddr.toString(16)} have ${metaBytes} bytes in memory`,
      );
    }
    const known = [toldBytes, reader.extent(bounceAddr)].filter((bytes) => bytes > 0);
    this.isExtentGuessed = known.length === 0;
    this.bounceBytes = Math.min(BOUNCE_BYTES_MAX, ...known);
    const meta = viewMemory(hostAddr, META_BYTES);
    this.slots = Array.from({ length: CHUNKS_MAX }, (_, slot) => ({
      entries: new Uint32Array(meta, slot * SLOT_BYTES, SLOT_BYTES / 4),
      entriesAddr: metaAddr + slot * SLOT_BYTES,
      bounceAddr,
    }));
    this.#counts = new Uint32Array(meta, COUNTS_AT, CHUNKS_MAX * 2);
  }

  /** Fragments of a slot; more than 32 bits of them is as wrong as too many. */
  count(slot: number): number {
    const high = this.#counts[slot * 2 + 1] ?? 0;
    return high === 0 ? (this.#counts[slot * 2] ?? 0) : Number.MAX_SAFE_INTEGER;
  }
}

function readUnpackHandle(deviceAddr: number, reader: HandleReader) {
  const device = new DataView(viewMemory(deviceAddr, DEVICE_HANDLE_BYTES));
  const type = device.getInt32(DEVICE_TYPE, true);
  const version = device.getInt32(DEVICE_VERSION, true);
  if (type !== UNPACK_TYPE || version !== UNPACK_VERSION) {
    throw deviceError(
      `device type ${type}, version ${version}: known is ${UNPACK_TYPE} (unpack), version ` +
        `${UNPACK_VERSION}; --host-recv does without`,
    );
  }
  const size = Number(device.getBigUint64(DEVICE_SIZE, true));
  if (size !== UNPACK_HANDLE_BYTES) {
    throw deviceError(`a handle of ${size} bytes, not ${UNPACK_HANDLE_BYTES}`);
  }
  const handleAddr = Number(device.getBigUint64(DEVICE_HANDLE, true));
  if (handleAddr === 0) throw deviceError('no handle');
  if (reader.extent(handleAddr) < UNPACK_HANDLE_BYTES) {
    throw deviceError(`its handle at 0x${handleAddr.toString(16)} is no memory of the device`);
  }
  const bytes = reader.read(handleAddr, UNPACK_HANDLE_BYTES);
  const handle = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const metaAddr = Number(handle.getBigUint64(0, true));
  const bounceAddr = Number(handle.getBigUint64(8, true));
  if (metaAddr === 0) throw deviceError('no lists of fragments');
  if (bounceAddr === 0) {
    throw deviceError(
      'no bounce buffer: the receive datapath manager does not serve this GPU, or the plugin was ' +
        'told to skip it (NCCL_TCPX_RXMEM_IMPORT_…)',
    );
  }
  return { metaAddr, bounceAddr };
}

function deviceError(what: string): TcpxError {
  return new TcpxError('ERR_NCCLNET_SCATTER_LIST', `the plugin’s unpack queue: ${what}`);
}

/** The plugin's private request struct, where it is laid out as known. */
export class RequestSizes {
  readonly #requests = new Map<number, DataView>();

  /**
   * Length of a finished receive as the request has it, or −1 where the private struct is not laid
   * out as known. Only ever compared: the scatter list and our own protocol say what is true.
   */
  privateBytes(request: RequestHandle): number {
    let view = this.#requests.get(request);
    if (view === undefined) {
      view = new DataView(viewMemory(request, REQUEST_BYTES));
      this.#requests.set(request, view);
    }
    if (view.getInt32(REQUEST_OP, true) !== OP_RECEIVE) return -1;
    return view.getInt32(REQUEST_SIZE, true);
  }
}
