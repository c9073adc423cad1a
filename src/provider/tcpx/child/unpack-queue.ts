// The plugin's unpack queue of one receive comm: where the scatter list of the j-th finished
// receive lies, found the public way: device handle → unpack handle → slot j mod 16.

import { viewMemory } from '../../../ffi/libc/library.js';
import { DEVICE_HANDLE_BYTES } from '../../../ffi/nccl-net/net-plugin.js';
import { CHUNKS_MAX, ENTRY_BYTES, FRAGMENTS_MAX } from '../../../gpu/scatter-entry.js';
import type { ScatterEntries } from '../../../gpu/scatter-list.js';

export const UNPACK_HANDLE_BYTES = 24;
const SLOT_BYTES = FRAGMENTS_MAX * ENTRY_BYTES;
const COUNTS_AT = CHUNKS_MAX * SLOT_BYTES;
const META_BYTES = COUNTS_AT + CHUNKS_MAX * 8;
const REQUEST_BYTES = 128;
const REQUEST_OP = 16;
const REQUEST_SIZE = 36;
const OP_RECEIVE = 1;

/** Reaches what the plugin keeps in device memory; the processor where there is no GPU. */
export interface HandleReader {
  /** A copy of these bytes. */
  read(addr: number, bytes: number): Uint8Array;
  /** Where the CPU reaches pinned memory that the device sees at `deviceAddr`. */
  hostAddressOf(deviceAddr: number): number;
}

export const cpuReader: HandleReader = {
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
  readonly #counts: Uint32Array;

  /** `deviceAddr` is the struct that accept filled; the handle in it is the device's. */
  constructor(deviceAddr: number, reader: HandleReader) {
    const device = new DataView(viewMemory(deviceAddr, DEVICE_HANDLE_BYTES));
    const bytes = reader.read(Number(device.getBigUint64(8, true)), UNPACK_HANDLE_BYTES);
    const handle = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const metaAddr = Number(handle.getBigUint64(0, true));
    const bounceAddr = Number(handle.getBigUint64(8, true));
    const hostAddr = reader.hostAddressOf(metaAddr);
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

/** The plugin's private request struct, where it is laid out as known. */
export class RequestSizes {
  readonly #requests = new Map<number, DataView>();

  /**
   * Length of a finished receive as the request has it, or −1 where the private struct is not laid
   * out as known. Only ever compared: the scatter list and our own protocol say what is true.
   */
  privateBytes(request: number): number {
    let view = this.#requests.get(request);
    if (view === undefined) {
      view = new DataView(viewMemory(request, REQUEST_BYTES));
      this.#requests.set(request, view);
    }
    if (view.getInt32(REQUEST_OP, true) !== OP_RECEIVE) return -1;
    return view.getInt32(REQUEST_SIZE, true);
  }
}
