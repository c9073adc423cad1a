// What a client of the node service and the service share: the mapping with its two rings and its
// tables, and the messages of the socket beside it. TypeScript takes its offsets from here, and
// native/p2p/layout.h, which the C library is compiled with, is generated from the same tables.
//
//   ┌─────────────┬───────────────────┬──────────────────┬───────────────┬─────────────┐
//   │ client 4 K  │ commands: client  │ events: service  │ requests × 64 │ peers × 64  │
//   │             │ → service         │ → client         │               │             │
//   └─────────────┴───────────────────┴──────────────────┴───────────────┴─────────────┘
//
// Both rings are of the kind in os/record-ring.ts. Everything that the client writes is hostile.

import { declareBlock, type SharedField } from './shared-block.js';
import { RING_BLOCK } from './shared-layout.js';

/** Changes with every change of this file that an older library or service would not survive. */
export const SERVICE_VERSION = 3;

function field(type: SharedField['type']) {
  return (offset: number, writer: string, meaning: string, count = 1): SharedField => ({
    type,
    offset,
    count,
    writer,
    meaning,
  });
}

const int32 = field('int32');
const uint64 = field('uint64');
const uint8 = field('uint8');

export const CLIENT_BLOCK = declareBlock(
  { title: 'Client block', bytes: 4096, isSpread: true },
  {
    serviceSleeps: int32(
      0,
      'service, and the client that rings (atomic exchange)',
      '1 while the service wants its bell rung',
    ),
    events: int32(
      128,
      'service (atomic add)',
      'counts what has happened: finished requests, connections, notifications; a futex',
    ),
    waiters: int32(256, 'client threads (atomic add)', 'threads that sleep on `events`'),
    ended: int32(384, 'service', '0 while attached; then the status for which it was let go'),
  },
);

export const REQUEST_BLOCK = declareBlock(
  { title: 'Request entry', bytes: 64 },
  {
    finished: int32(0, 'service', 'number of the last post that has finished'),
    status: int32(4, 'service', 'how it finished; written before `finished`'),
  },
);

export const PEER_BLOCK = declareBlock(
  { title: 'Peer entry', bytes: 64 },
  {
    connects: int32(0, 'service', 'number of the last connect that has finished'),
    status: int32(4, 'service', 'how it finished; written before `connects`'),
  },
);

/** Records of the rings: kind, then these words, then bytes. */
export const COMMAND_POST = 1;
export const COMMAND_CANCEL = 2;
export const COMMAND_NOTIFY = 3;
export const EVENT_NOTIFICATION = 1;

const CLIENT = 'client';
const SERVICE = 'service';

export const POST_RECORD = declareBlock(
  { title: 'Record POST', bytes: 16 },
  {
    request: int32(0, CLIENT, 'which request'),
    number: int32(4, CLIENT, 'counts its posts, from 1'),
    deadlineMs: int32(8, CLIENT, '0 without a deadline'),
    notifyBytes: int32(12, CLIENT, 'length of the notification behind, −1 without one'),
  },
);

export const CANCEL_RECORD = declareBlock(
  { title: 'Record CANCEL', bytes: 8 },
  {
    request: int32(0, CLIENT, 'which request'),
    number: int32(4, CLIENT, 'which post of it'),
  },
);

export const NOTIFY_RECORD = declareBlock(
  { title: 'Record NOTIFY', bytes: 8 },
  {
    peer: int32(0, CLIENT, 'to whom'),
    bytes: int32(4, CLIENT, 'length of the message behind'),
  },
);

export const NOTIFICATION_RECORD = declareBlock(
  { title: 'Record NOTIFICATION', bytes: 8 },
  {
    nameBytes: int32(0, SERVICE, 'length of the sender’s name behind'),
    bytes: int32(4, SERVICE, 'length of the message behind the name'),
  },
);

/** A notification fits into either ring several times. */
export const SERVICE_NOTIFICATION_BYTES_MAX = 256 * 1024;
export const COMMAND_RING_DATA_BYTES = 1024 * 1024;
export const EVENT_RING_DATA_BYTES = 1024 * 1024;

export interface ClientShape {
  readonly requestCount: number;
  readonly peerCount: number;
}

/** Where everything lies in a mapping for so many requests and peers. */
export function clientLayout({ requestCount, peerCount }: ClientShape) {
  const commandsAt = CLIENT_BLOCK.bytes;
  const eventsAt = commandsAt + RING_BLOCK.bytes + COMMAND_RING_DATA_BYTES;
  const requestsAt = eventsAt + RING_BLOCK.bytes + EVENT_RING_DATA_BYTES;
  const peersAt = requestsAt + requestCount * REQUEST_BLOCK.bytes;
  const bytes = peersAt + peerCount * PEER_BLOCK.bytes;
  return { commandsAt, eventsAt, requestsAt, peersAt, bytes: Math.ceil(bytes / 4096) * 4096 };
}

/** Every message of the socket begins with it, in either direction. */
export const MESSAGE_HEAD = declareBlock(
  { title: 'Message head', bytes: 16 },
  {
    bytes: int32(0, 'sender', 'of the whole message, head included'),
    kind: int32(4, 'sender', 'see below; an answer has the kind of its question'),
    sequence: int32(8, 'sender', 'chosen by the client, repeated by the answer'),
    status: int32(12, SERVICE, 'of an answer; below 0 a text that explains it follows'),
  },
);

export const MESSAGE_KINDS = {
  ATTACH: 1,
  REGISTER: 2,
  DEREGISTER: 3,
  LOAD_PEER: 4,
  CONNECT: 5,
  DISCONNECT: 6,
  FIND_PEER: 7,
  LOAD_REGION: 8,
  UNLOAD_REGION: 9,
  PREPARE: 10,
  RELEASE: 11,
  EXPLAIN: 12,
  RECEIPT: 13,
  TELEMETRY: 14,
  CLOSE: 15,
} as const;

export const ATTACH_MESSAGE = declareBlock(
  { title: 'ATTACH', bytes: 48 },
  {
    version: int32(0, CLIENT, 'SERVICE_VERSION of the library'),
    nameBytes: int32(4, CLIENT, 'length of the name behind'),
    settingsBytes: int32(8, CLIENT, 'length of the settings behind the name: lines of name=value'),
    reserved: int32(12, CLIENT, '0'),
    probeAddr: uint64(16, CLIENT, 'address in the client at which the probe lies too'),
    probe: uint8(24, CLIENT, 'random bytes: the service compares them with the client’s', 16),
  },
);

export const ATTACHED_MESSAGE = declareBlock(
  { title: 'ATTACH, answer', bytes: 48 },
  {
    version: int32(0, SERVICE, 'SERVICE_VERSION of the service'),
    requestCount: int32(4, SERVICE, 'entries of the request table'),
    peerCount: int32(8, SERVICE, 'entries of the peer table'),
    blocksMax: int32(12, SERVICE, 'blocks of one request at most'),
    canCopy: int32(16, SERVICE, '1 where the probe was read: any host memory can be registered'),
    mappingBytes: int32(
      20,
      SERVICE,
      'length of the mapping; its descriptor and that of the bell come along',
    ),
    commandsAt: int32(24, SERVICE, 'ring of the commands in the mapping'),
    eventsAt: int32(28, SERVICE, 'ring of the events'),
    requestsAt: int32(32, SERVICE, 'request table'),
    peersAt: int32(36, SERVICE, 'peer table'),
    infoBytes: int32(40, SERVICE, 'length of the connection info behind'),
  },
);

/** How the service reaches the memory of a client. */
export const MEMORY_WAYS = { copied: 0, shared: 1, ipc: 2, vmm: 3, pool: 4 } as const;
export type MemoryWay = keyof typeof MEMORY_WAYS;

export const REGISTER_MESSAGE = declareBlock(
  { title: 'REGISTER', bytes: 128 },
  {
    way: int32(0, CLIENT, '0 copied, 1 shared, 2 CUDA IPC, 3 virtual memory, 4 a pool'),
    rights: int32(4, CLIENT, '1 peers may read, 2 they may write'),
    addr: uint64(8, CLIENT, 'address in the client'),
    bytes: uint64(16, CLIENT, 'length'),
    offset: uint64(24, CLIENT, 'place in the file, or in the GPU’s first allocation'),
    handle: uint8(32, CLIENT, 'CUDA IPC handle, or what names an allocation of a pool', 64),
    pciAddress: uint8(96, CLIENT, 'of the GPU, as text, NUL-terminated', 32),
  },
);
/** A descriptor each comes along; of virtual memory their lengths, of 64 bits, follow REGISTER. */
export const REGISTER_DESCRIPTORS_MAX = 128;

export const BLOCK_ROW = declareBlock(
  { title: 'Block of PREPARE', bytes: 32 },
  {
    memory: int32(0, CLIENT, 'number of the local memory'),
    region: int32(4, CLIENT, 'number of the loaded region of the peer'),
    localOffset: uint64(8, CLIENT, 'place in the memory'),
    remoteOffset: uint64(16, CLIENT, 'place in the region'),
    bytes: uint64(24, CLIENT, 'length'),
  },
);
/** PREPARE: operation (1 write, 2 read), peer, number of rows, 0; then the rows. */
export const PREPARE_HEAD_BYTES = 16;

/** Texts in messages: names, connection info, region keys, explanations. */
export const MESSAGE_TEXT_BYTES_MAX = 16 * 1024;
