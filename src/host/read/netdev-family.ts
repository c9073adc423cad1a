// The `netdev` and `ethtool` netlink families: queues, NAPI instances, header split. Numbers are
// the kernel's interface and never change; every attribute may be missing.

import type { NetlinkSocket } from '../../ffi/netlink.js';
import {
  type Attribute,
  attributeNumber,
  CONTROL_FAMILY,
  decodeAnswer,
  decodeAttributes,
  encodeRequest,
  nestedAttribute,
  numberAttribute,
  type Reply,
  stringAttribute,
} from '../../ffi/netlink-message.js';
import type { NetdevNapi, NetdevQueue, NetdevQueues, QueueBytes } from './probes.js';

const CONTROL_GET_FAMILY = 3;
const CONTROL_FAMILY_ID = 1;
const CONTROL_FAMILY_NAME = 2;
const CONTROL_OPERATIONS = 6;
const OPERATION_ID = 1;

const QUEUE_GET = 10;
const NAPI_GET = 11;
const QUEUE_STATS_GET = 12;
const RINGS_GET = 15;
const RINGS_HEADER = 1;
const HEADER_DEVICE_NAME = 2;
const RINGS_TCP_DATA_SPLIT = 11;

export interface NetlinkFamily {
  readonly id: number;
  /** Command numbers that this kernel has. */
  readonly operations: readonly number[];
}

export function findFamily(socket: NetlinkSocket, name: string): NetlinkFamily | undefined {
  const replies = ask(socket, CONTROL_FAMILY, CONTROL_GET_FAMILY, false, [
    stringAttribute(CONTROL_FAMILY_NAME, name),
  ]);
  const attributes = replies?.[0]?.attributes;
  if (attributes === undefined) return undefined;
  const id = attributeNumber(attributes, CONTROL_FAMILY_ID);
  return id === undefined ? undefined : { id, operations: decodeOperations(attributes) };
}

function decodeOperations(attributes: readonly Attribute[]): number[] {
  const list = attributes.find(({ type }) => type === CONTROL_OPERATIONS);
  if (list === undefined) return [];
  return decodeAttributes(list.value)
    .map(({ value }) => attributeNumber(decodeAttributes(value), OPERATION_ID))
    .filter((id) => id !== undefined);
}

export function readNetdevQueues(socket: NetlinkSocket): NetdevQueues | undefined {
  const family = findFamily(socket, 'netdev');
  if (family === undefined) return undefined;
  const queues = ask(socket, family.id, QUEUE_GET, true, []) ?? [];
  const napis = ask(socket, family.id, NAPI_GET, true, []) ?? [];
  return {
    operations: family.operations,
    queues: queues.map(decodeQueue).filter((queue) => queue !== undefined),
    napis: napis.map(decodeNapi).filter((napi) => napi !== undefined),
  };
}

function decodeQueue({ attributes }: Reply): NetdevQueue | undefined {
  const id = attributeNumber(attributes, 1);
  const ifindex = attributeNumber(attributes, 2);
  const type = attributeNumber(attributes, 3);
  if (id === undefined || ifindex === undefined) return undefined;
  return {
    ifindex,
    type: type === 1 ? 'tx' : 'rx',
    id,
    napiId: attributeNumber(attributes, 4),
    dmabufId: attributeNumber(attributes, 5),
  };
}

function decodeNapi({ attributes }: Reply): NetdevNapi | undefined {
  const ifindex = attributeNumber(attributes, 1);
  const id = attributeNumber(attributes, 2);
  if (id === undefined || ifindex === undefined) return undefined;
  const irq = attributeNumber(attributes, 3);
  const pid = attributeNumber(attributes, 4);
  return { ifindex, id, irq, pid };
}

const STATS_SCOPE = 4;
const SCOPE_QUEUE = 1;
const STATS_RX_BYTES = 9;
const STATS_TX_BYTES = 11;

/** Bytes per queue of all interfaces; empty where the kernel or the driver does not count. */
export function readQueueBytes(socket: NetlinkSocket, family: number): QueueBytes[] {
  const scope = numberAttribute(STATS_SCOPE, SCOPE_QUEUE);
  const replies = ask(socket, family, QUEUE_STATS_GET, true, [scope]) ?? [];
  return replies.map(decodeQueueBytes).filter((stats) => stats !== undefined);
}

function decodeQueueBytes({ attributes }: Reply): QueueBytes | undefined {
  const ifindex = attributeNumber(attributes, 1);
  const type = attributeNumber(attributes, 2) === 1 ? 'tx' : 'rx';
  const queue = attributeNumber(attributes, 3);
  const bytes = attributeNumber(attributes, type === 'tx' ? STATS_TX_BYTES : STATS_RX_BYTES);
  if (ifindex === undefined || queue === undefined || bytes === undefined) return undefined;
  return { ifindex, type, queue, bytes };
}

const SPLIT_STATES = ['unknown', 'off', 'on'] as const;

/** Header split of one NIC; the ioctl for rings has no field for it. */
export function readTcpDataSplit(
  socket: NetlinkSocket,
  ethtoolFamily: number,
  nic: string,
): (typeof SPLIT_STATES)[number] | undefined {
  const replies = ask(socket, ethtoolFamily, RINGS_GET, false, [
    nestedAttribute(RINGS_HEADER, [stringAttribute(HEADER_DEVICE_NAME, nic)]),
  ]);
  const state = attributeNumber(replies?.[0]?.attributes ?? [], RINGS_TCP_DATA_SPLIT);
  return state === undefined ? undefined : SPLIT_STATES[state];
}

function ask(
  socket: NetlinkSocket,
  family: number,
  command: number,
  isDump: boolean,
  attributes: readonly Attribute[],
): readonly Reply[] | undefined {
  const answer = socket.request(encodeRequest(family, command, isDump, attributes));
  if (typeof answer === 'number') return undefined;
  const replies = decodeAnswer(answer);
  return typeof replies === 'number' ? undefined : replies;
}
