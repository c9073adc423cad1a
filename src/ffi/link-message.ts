// What the kernel tells of network interfaces (rtnetlink), as bytes. Pure: no socket.
//
//   0      1   2    4     8     12     16
//   | family | 0 | type | index | flags | change | attributes, the name among them

import { decodeAttributes, splitMessages } from './netlink-message.js';

const NEW_LINK = 16;
const DELETED_LINK = 17;
const INFO_BYTES = 16;
const FLAGS_AT = 8;
const FLAG_UP = 1;
/** There is a carrier, and whatever else the driver waits for. */
const FLAG_RUNNING = 0x40;
const ATTRIBUTE_NAME = 3;

export interface LinkNews {
  readonly nic: string;
  /** Whether it carries anything. */
  readonly isUp: boolean;
}

export function decodeLinkNews(datagram: Buffer): LinkNews[] {
  return splitMessages(datagram).flatMap(({ type, body }) => {
    if ((type !== NEW_LINK && type !== DELETED_LINK) || body.length < INFO_BYTES) return [];
    const attributes = decodeAttributes(body.subarray(INFO_BYTES));
    const name = attributes.find((attribute) => attribute.type === ATTRIBUTE_NAME)?.value;
    if (name === undefined) return [];
    const flags = body.readUInt32LE(FLAGS_AT);
    const carries = (flags & FLAG_UP) !== 0 && (flags & FLAG_RUNNING) !== 0;
    const nic = name.toString('latin1').replace(/\0.*$/s, '');
    return [{ nic, isUp: type === NEW_LINK && carries }];
  });
}
