// The edge of the handshake: drives its machines over a connection. What is said, in which order
// and what it proves is in greeting.ts and attaching.ts.

import { isTcpxError, TcpxError, toTcpxError } from '../base/errors.js';
import { ControlKind, type ControlMessage, type MessageOf } from '../wire/control-frame.js';
import { type Answer, type AttachName, ClientAttach, toldError } from './attaching.js';
import type { DialPlan } from './dial-plan.js';
import type { Exchange, Move } from './exchange.js';
import type { Heard, PeerConnection, PeerNetwork } from './peer-network.js';

/** Runs one end of a conversation until it has a result. The connection stays open either way. */
export async function converse<T>(
  network: PeerNetwork,
  connection: PeerConnection,
  machine: Exchange<T>,
): Promise<T> {
  let move = machine.start(network.nowUs());
  for (;;) {
    const lost = sendAll(connection, move.send);
    if (lost !== undefined && move.next.kind === 'wait') move = machine.onLost(lost);
    const { next } = move;
    if (next.kind === 'done') return next.result;
    if (next.kind === 'failed') throw next.error;
    const heard = await connection.hear(next.untilUs);
    move = moveOf(machine, heard, network.nowUs());
  }
}

function moveOf<T>(machine: Exchange<T>, heard: Heard, nowUs: number): Move<T> {
  switch (heard.kind) {
    case 'message':
      return machine.onMessage(heard.message, nowUs);
    case 'lost':
      return machine.onLost(heard.error);
    case 'time':
      return machine.onTime(nowUs);
  }
}

function sendAll(
  connection: PeerConnection,
  messages: readonly ControlMessage[],
): TcpxError | undefined {
  try {
    for (const message of messages) connection.send(message);
    return undefined;
  } catch (error) {
    return toTcpxError(error, 'ERR_PEER_LOST', connection.where);
  }
}

/** Client's half of a connection that joins a session, by any index; what the server said. */
export async function attachChannel(
  network: PeerNetwork,
  connection: PeerConnection,
  sessionKey: Uint8Array,
  attach: AttachName,
  timeoutMs: number,
): Promise<Answer> {
  const machine = new ClientAttach(connection.where, sessionKey, attach, timeoutMs);
  const answer = await converse(network, connection, machine);
  // A reset right behind the answer has closed the socket: its number may be another's by now.
  if (!connection.isOpen) {
    throw new TcpxError('ERR_PEER_LOST', `${connection.where}: lost as it was attached`);
  }
  return answer;
}

/** Tries way after way as the plan has it. */
export async function dialBy(
  network: PeerNetwork,
  plan: DialPlan,
  port: number,
): Promise<PeerConnection> {
  for (;;) {
    const step = plan.next(network.nowUs());
    if (step.kind === 'give up') throw step.error;
    if (step.kind === 'rest') {
      await network.sleepUntil(step.untilUs);
      continue;
    }
    try {
      return await network.dial(step.way, port, step.timeoutMs);
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      plan.onFailed(error, network.nowUs());
    }
  }
}

/** Tells the peer why, then closes. The peer may be gone already: that is not another error. */
export function refusePeer(connection: PeerConnection, error: unknown): void {
  try {
    if (connection.isOpen) connection.send(refusalOf(error));
  } catch {
    // Nothing to add: the connection is closed below.
  }
  connection.close();
}

function refusalOf(error: unknown): MessageOf<typeof ControlKind.Refuse> {
  const kind = ControlKind.Refuse;
  if (!isTcpxError(error)) return { kind, code: 'ERR_SYS_CALL', reason: 'internal error' };
  const { code, message } = toldError(error);
  return { kind, code, reason: message };
}
