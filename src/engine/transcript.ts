// What both ends of a handshake have said so far, byte by byte. Each proof covers all of it: nobody
// between them can change a name, an offer, a setting or an address unseen. Pure.

import { createHmac } from 'node:crypto';
import {
  ControlKind,
  encodeControl,
  type MessageOf,
  PROOF_BYTES,
  proofOffset,
} from '../wire/control-frame.js';
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
    const bytes = encodeControl({ ...message, proof: NO_PROOF } as unknown as MessageOf<K>);
    const proof = this.#proofOf(message.kind, bytes);
    bytes.set(proof, proofOffset(message.kind, bytes.length));
    this.#frames.push(bytes);
    return { ...message, proof } as unknown as MessageOf<K>;
  }

  /** Whether the sender knows the secret, and has heard and said the same as this end. */
  isProved(message: MessageOf<ProvedKind>): boolean {
    const bytes = encodeControl(message);
    const expected = this.#proofOf(message.kind, bytes);
    this.#frames.push(bytes);
    return isSameProof(message.proof, expected);
  }

  /** The key of the session, once everything was said. It is never sent. */
  sessionKey(): Uint8Array {
    return this.#hmac('session').digest();
  }

  // Its own proof counts as zeros: it cannot cover itself.
  #proofOf(kind: ProvedKind, bytes: Uint8Array): Uint8Array {
    const at = proofOffset(kind, bytes.length);
    return this.#hmac(ROLES[kind])
      .update(bytes.subarray(0, at))
      .update(NO_PROOF)
      .update(bytes.subarray(at + PROOF_BYTES))
      .digest();
  }

  #hmac(role: string): ReturnType<typeof createHmac> {
    const hmac = createHmac('sha256', this.#secret).update(`${PROOF_LABEL} ${role}`);
    for (const frame of this.#frames) hmac.update(frame);
    return hmac;
  }
}

const NO_PROOF = new Uint8Array(PROOF_BYTES);
