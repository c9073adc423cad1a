// A notification as NIXL's UCX engine writes it: `name` = sender, `msg` = bytes, which may be
// empty. Offered to backends that want to speak the same shape.

import { refuseTrailing } from './descriptor-codec.js';
import { AGENT_NAME_BYTES_MAX, agentNameProblem } from './names.js';
import { refuseMetadata, SerdesReader, SerdesWriter } from './serdes.js';

export const NOTIF_BYTES_MAX = 16 * 1024 * 1024;

/** A message from a peer agent. */
export interface NixlNotification {
  /** Name of the peer. */
  readonly agent: string;
  /** Its content. */
  readonly message: Uint8Array;
}

export function encodeNotification(notification: NixlNotification): Uint8Array {
  const writer = new SerdesWriter(64 + notification.message.length);
  return writer.addText('name', notification.agent).addBytes('msg', notification.message).finish();
}

export function decodeNotification(bytes: Uint8Array): NixlNotification {
  const reader = new SerdesReader(bytes);
  const agent = reader.readText('name', AGENT_NAME_BYTES_MAX);
  const problem = agentNameProblem(agent);
  if (problem !== undefined) refuseMetadata(`the sender’s name ${problem}`);
  const message = reader.readBytes('msg', 0, NOTIF_BYTES_MAX).slice();
  refuseTrailing(reader);
  return { agent, message };
}
