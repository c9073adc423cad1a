// Descriptor lists on the wire, alone or inside a metadata blob:
//   nixlDList = "nixlBDList" (transfer list) or "nixlSDList" (regions with keys)
//   t = memory type, 4 bytes · n = count, 8 bytes
//   B: one untagged element of n × 24 bytes · S: n untagged elements of 24 bytes + key
// Each descriptor is addr, len, devId as u64.

import { checkBytes, wrongArgument } from '../base/argument.js';
import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import {
  type BasicDesc,
  type BlobDesc,
  checkDescs,
  type RegDlist,
  UNBOUNDED_LEN,
} from './descriptors.js';
import { isMemType, MemType } from './memory-type.js';
import {
  ELEMENT_OVERHEAD_BYTES,
  readU64,
  refuseMetadata,
  SerdesReader,
  SerdesWriter,
  writeU64,
} from './serdes.js';
import { checkDlist, XferDlist } from './xfer-dlist.js';

const DESC_BYTES = 24;
/** A region's key is a backend's own affair; this bounds what a peer can make us keep. */
const REGION_KEY_BYTES_MAX = 64 * 1024;

const LIST_TAG = 'nixlDList';
const BASIC_LIST = 'nixlBDList';
const BLOB_LIST = 'nixlSDList';
const LIST_KIND_BYTES = BASIC_LIST.length;
const NO_KEY = new Uint8Array(0);

/** Writes NIXL's format. */
export function encodeXferDlist(list: XferDlist): Uint8Array {
  if (!(list instanceof XferDlist)) {
    throw wrongArgument('encodeXferDlist', 'an XferDlist (XferDlist.from makes one)', list);
  }
  const writer = new SerdesWriter(128 + list.count * DESC_BYTES);
  writeListHead(writer, BASIC_LIST, list.memType, list.count);
  if (list.count > 0) {
    writer.addFilled('', list.count * DESC_BYTES, (view, offset) => {
      for (let index = 0; index < list.count; index++) {
        writeDesc(view, offset + index * DESC_BYTES, list.at(index));
      }
    });
  }
  return writer.finish();
}

/** Reads NIXL's format. Throws `ERR_WIRE_METADATA` for anything else. */
export function decodeXferDlist(bytes: Uint8Array): XferDlist {
  checkBytes('decodeXferDlist', bytes);
  const reader = new SerdesReader(bytes);
  const { memType, count } = readListHead(reader, BASIC_LIST);
  if (count > reader.remainingBytes / DESC_BYTES) {
    refuseMetadata(`${count} descriptors do not fit in the input`);
  }
  const list = new XferDlist(memType, count);
  if (count > 0) {
    const body = reader.readBytes('', count * DESC_BYTES, count * DESC_BYTES);
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    for (let index = 0; index < count; index++) {
      const desc = readDesc(view, index * DESC_BYTES, memType);
      if (desc.len === UNBOUNDED_LEN) refuseMetadata('a transfer without an end');
      list.add(desc.addr, desc.len, desc.devId);
    }
  }
  refuseTrailing(reader);
  return list;
}

/** Writes NIXL's format. */
export function encodeRegDlist(list: RegDlist): Uint8Array {
  checkDlist('encodeRegDlist', list);
  checkDescs('encodeRegDlist', list.descs);
  const writer = new SerdesWriter(128 + list.descs.length * 64);
  writeRegDlist(writer, list);
  return writer.finish();
}

/** Reads NIXL's format. Throws `ERR_WIRE_METADATA` for anything else. */
export function decodeRegDlist(bytes: Uint8Array): RegDlist {
  checkBytes('decodeRegDlist', bytes);
  const reader = new SerdesReader(bytes);
  const list = readRegDlist(reader);
  refuseTrailing(reader);
  return list;
}

export function writeRegDlist(writer: SerdesWriter, list: RegDlist): void {
  writeListHead(writer, BLOB_LIST, list.memType, list.descs.length);
  for (const desc of list.descs) {
    const key = desc.metaInfo ?? NO_KEY;
    if (key.length > REGION_KEY_BYTES_MAX) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `encode region: key of ${key.length} bytes`);
    }
    writer.addFilled('', DESC_BYTES + key.length, (view, offset) => {
      writeDesc(view, offset, desc);
      new Uint8Array(view.buffer).set(key, offset + DESC_BYTES);
    });
  }
}

export function readRegDlist(reader: SerdesReader): RegDlist {
  const { memType, count } = readListHead(reader, BLOB_LIST);
  // Checked before anything is allocated: a count is only as good as the bytes behind it.
  if (count > reader.remainingBytes / (DESC_BYTES + ELEMENT_OVERHEAD_BYTES)) {
    refuseMetadata(`${count} regions do not fit in the input`);
  }
  const descs: BlobDesc[] = [];
  for (let index = 0; index < count; index++) {
    const body = reader.readBytes('', DESC_BYTES, DESC_BYTES + REGION_KEY_BYTES_MAX);
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    descs.push({ ...readDesc(view, 0, memType), metaInfo: body.slice(DESC_BYTES) });
  }
  return { memType, descs };
}

export function refuseTrailing(reader: SerdesReader): void {
  if (reader.remainingBytes !== 0) refuseMetadata(`${reader.remainingBytes} bytes follow the end`);
}

function writeListHead(writer: SerdesWriter, kind: string, memType: MemType, count: number): void {
  writer.addText(LIST_TAG, kind).addU32('t', memType).addU64('n', count);
}

function readListHead(reader: SerdesReader, kind: string) {
  const seen = reader.readText(LIST_TAG, LIST_KIND_BYTES);
  if (seen !== kind) refuseMetadata(`list kind ${JSON.stringify(seen)} where ${kind} belongs`);
  const memType = reader.readU32('t');
  if (!isMemType(memType)) refuseMetadata(`memory type ${memType} is unknown`);
  return { memType, count: reader.readU64('n') };
}

function writeDesc(view: DataView, offset: number, desc: BasicDesc): void {
  assert(Number.isSafeInteger(desc.addr) && Number.isSafeInteger(desc.devId), 'whole numbers');
  writeU64(view, offset, desc.addr);
  if (desc.len === UNBOUNDED_LEN) view.setBigUint64(offset + 8, 2n ** 64n - 1n, true);
  else writeU64(view, offset + 8, desc.len);
  writeU64(view, offset + 16, desc.devId);
}

function readDesc(view: DataView, offset: number, memType: MemType): BasicDesc {
  const addr = readU64(view, offset);
  const devId = readU64(view, offset + 16);
  const len = readU64(view, offset + 8) ?? readUnbounded(view, offset + 8, memType);
  if (addr === undefined || devId === undefined || len === undefined) {
    return refuseMetadata('a descriptor holds a number beyond 2^53');
  }
  if (len !== UNBOUNDED_LEN && !Number.isSafeInteger(addr + len)) {
    return refuseMetadata('a range ends beyond 2^53');
  }
  return { addr, len, devId };
}

/** Storage regions without an end are written as the largest u64; memory always has an end. */
function readUnbounded(view: DataView, offset: number, memType: MemType): number | undefined {
  const isAllOnes =
    view.getUint32(offset, true) === 0xffffffff && view.getUint32(offset + 4, true) === 0xffffffff;
  return isAllOnes && memType >= MemType.BLK ? UNBOUNDED_LEN : undefined;
}
