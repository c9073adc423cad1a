// A connection that joins a session which exists, one machine for each end: a channel, a control
// connection that follows a lost one, or any other index that both ends know.
//
//   client                                      server
//   ATTACH (session, index, epoch, proof)   →
//                                           ←   ATTACHED (proof)  or REFUSE
//
// Pure: the nonce is given, and the owner of the sessions says whose key it is.

import { assert } from '../base/assert.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import { ControlKind, type ControlMessage, type MessageOf } from '../wire/control-frame.js';
import { Exchange, type Outcome } from './exchange.js';
import type { RedialOutcome } from './recovery-host.js';
import { type AttachRole, attachProof, isSameProof } from './trust.js';

type Attach = MessageOf<typeof ControlKind.Attach>;
type Attached = MessageOf<typeof ControlKind.Attached>;

export interface AttachName {
  readonly sessionId: number;
  readonly channelIndex: ChannelIndex;
  readonly epoch: Epoch;
  readonly nonce: Uint8Array;
}

/** What the server has said: whether its end runs over shared memory. */
export interface Answer {
  readonly isShared: boolean;
}

/** The client's half. */
export class ClientAttach extends Exchange<Answer> {
  readonly #name: AttachName;
  readonly #key: Uint8Array;

  constructor(where: string, key: Uint8Array, name: AttachName, timeoutMs: number) {
    super(where, timeoutMs);
    this.#key = key;
    this.#name = name;
  }

  protected override begin(): Outcome<Answer> {
    const proof = attachProof(this.#key, 'attach', this.#name);
    const attach = { kind: ControlKind.Attach, ...this.#name, proof } as const;
    return { send: [attach], due: [ControlKind.Attached] };
  }

  protected override hear(message: ControlMessage): Outcome<Answer> {
    assert(message.kind === ControlKind.Attached, 'ATTACHED is due');
    for (const role of ['attached', 'shared'] as const) {
      const proof = attachProof(this.#key, role, this.#name);
      if (!isSameProof(message.proof, proof)) continue;
      return { send: [], result: { isShared: role === 'shared' } };
    }
    throw new TcpxError('ERR_WIRE_AUTH', `${this.where}: the server does not know the session`, {
      facts: { peer: this.where },
    });
  }
}

/** The server's half: asked, proved, admitted, in this order. */
export class ServerAttach {
  readonly attach: Attach;
  readonly #where: string;
  #key: Uint8Array | undefined;
  #isAdmitted = false;

  constructor(where: string, attach: Attach) {
    this.#where = where;
    this.attach = attach;
  }

  /**
   * The key of the session that it names, or none. A stranger is told the same whether the session
   * lives or not, after the same work; the log says which it was.
   */
  prove(key: Uint8Array | undefined): void {
    assert(this.#key === undefined, 'an ATTACH is proved once');
    const expected = attachProof(key ?? NO_KEY, 'attach', this.attach);
    const isRight = isSameProof(this.attach.proof, expected);
    const text = `${this.#where}: ATTACH to no open session`;
    if (key === undefined) throw new TcpxError('ERR_PEER_STALE_SESSION', text);
    if (!isRight) {
      throw new TcpxError('ERR_WIRE_AUTH', `${this.#where}: ATTACH without the session's key`, {
        cause: new TcpxError('ERR_PEER_STALE_SESSION', text),
        facts: { peer: this.#where, isHidden: true },
      });
    }
    this.#key = key;
  }

  /** What stands in ATTACHED, in the mail with shared memory (`shared`), and in it (`mapped`). */
  answer(role: Exclude<AttachRole, 'attach'>): Uint8Array {
    assert(this.#key !== undefined, 'an answer is for one that has proved itself');
    return attachProof(this.#key, role, this.attach);
  }

  /** There is room for it: what the client is told. */
  admit(role: 'attached' | 'shared' = 'attached'): Attached {
    assert(!this.#isAdmitted, 'a connection is admitted once');
    const proof = this.answer(role);
    this.#isAdmitted = true;
    return { kind: ControlKind.Attached, proof };
  }
}

const NO_KEY = new Uint8Array(32);

/** What the peer is told of a failure: not what only a holder of the key may know. */
export function toldError(error: TcpxError): TcpxError {
  return error.facts['isHidden'] === true && isTcpxError(error.cause) ? error.cause : error;
}

/** How an attempt to attach that failed looks to the recovery of the session. */
export function attachOutcome(error: TcpxError): RedialOutcome {
  if (error.facts['isRefused'] === true) return 'refused';
  return error.facts['code'] === 'ERR_PEER_STALE_SESSION' ? 'unknown' : 'failed';
}
