// What both ends of a handshake have said so far, byte by byte. Each proof covers all of it: nobody
// between them can change a name, an offer, a setting or an address unseen. Pure.

import { createHmac } from 'node:crypto';
import { ControlKind, encodeControl, type MessageOf, PROOF_BYTES } from '../wire/control-frame.js';
import { isSameProof, PROOF_LABEL } from './trust.js';

/** The steps that carry a proof, and the words that tell their proofs apart. */
const ROLES = {
  [ControlKind.Challenge]: 'server',
  [ControlKind.Propose]: 'client',
  [ControlKind.Accept]: 'accept',
} as const;
type ProvedKind = keyof typeof ROLES;

export class Transcript {
  readonly #secret: Uint8Array;
  readonly #frames: Uint8Array[] = [];

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** HELLO, which opens the conversation and proves nothing. */
  add(hello: MessageOf<typeof ControlKind.Hello>): void {
    this.#frames.push(encodeControl(hello));
  }

  /** The message with its proof, as it is to be sent. */
  sign<K extends ProvedKind>(message: Omit<MessageOf<K>, 'proof'> & { kind: K }): MessageOf<K> {
    const proof = this.#proofOf({ ...message, proof: NO_PROOF } as unknown as MessageOf<K>);
    const signed = { ...message, proof } as unknown as MessageOf<K>;
    this.#frames.push(encodeControl(signed));
    return signed;
  }

  /** Whether the sender knows the secret, and has heard and said the same as this end. */
  isProved(message: MessageOf<ProvedKind>): boolean {
    const expected = this.#proofOf(message);
    this.#frames.push(encodeControl(message));
    return isSameProof(message.proof, expected);
  }

  /** The key of the session, once everything was said. It is never sent. */
  sessionKey(): Uint8Array {
    return this.#hmac('session');
  }

  // Its own proof counts as zeros: it cannot cover itself.
  #proofOf(message: MessageOf<ProvedKind>): Uint8Array {
    return this.#hmac(ROLES[message.kind], encodeControl({ ...message, proof: NO_PROOF }));
  }

  #hmac(role: string, last: Uint8Array = new Uint8Array(0)): Uint8Array {
    const hmac = createHmac('sha256', this.#secret).update(`${PROOF_LABEL} ${role}`);
    for (const frame of this.#frames) hmac.update(frame);
    return hmac.update(last).digest();
  }
}

const NO_PROOF = new Uint8Array(PROOF_BYTES);
