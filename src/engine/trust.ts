// Who is trusted: the shared secret, and the proofs that both ends give each other from it.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { SecretBytes } from '../base/secret-bytes.js';
import type { SettingValues } from '../base/settings.js';
import { PROTOCOL_VERSION } from '../wire/control-frame.js';

/** Proofs of another version of the protocol prove nothing. */
export const PROOF_LABEL = `nixl-tcpx/${PROTOCOL_VERSION}`;
const SECRET_BYTES_MIN = 16;
const SECRET_FILE_BYTES_MAX = 4096;
const { O_NOCTTY, O_NONBLOCK, O_RDONLY, S_IFMT, S_IFREG } = constants;

export interface Trust {
  /** Empty without a secret. */
  readonly secret: SecretBytes;
  /** Whether peers beyond loopback may come. */
  readonly acceptsNetwork: boolean;
  /** For receipts and logs. */
  readonly name: 'secret' | 'loopback' | 'network';
}

export function loadTrust(values: SettingValues): Trust {
  const secret = readSecret(values);
  if (secret !== undefined) {
    return { secret: new SecretBytes(secret), acceptsNetwork: true, name: 'secret' };
  }
  const acceptsNetwork = values['trust.mode'] === 'network';
  return {
    secret: new SecretBytes(new Uint8Array(0)),
    acceptsNetwork,
    name: acceptsNetwork ? 'network' : 'loopback',
  };
}

/** Said at every start, whether this end listens or calls. */
export function warnOfTrust(trust: Trust, log: Log): void {
  if (trust.name !== 'network') return;
  log.warn('trust.mode is network: whoever is reached or reaches us is a peer, unproved');
}

function readSecret(values: SettingValues): Uint8Array | undefined {
  const path = values['trust.secretFile'];
  const text = path === '' ? values['trust.secret'] : readSecretFile(path);
  // An empty file is not "no secret": whoever names one wants proofs.
  if (path === '' && text === '') return undefined;
  const secret = new TextEncoder().encode(text);
  if (secret.length < SECRET_BYTES_MIN) {
    throw new TcpxError(
      'ERR_CONFIG_VALUE',
      `${path === '' ? 'trust.secret' : path}: a secret has at least ${SECRET_BYTES_MIN} bytes`,
    );
  }
  return secret;
}

function readSecretFile(path: string): string {
  let fd = -1;
  try {
    // One descriptor for the checks and the bytes: the file cannot be exchanged between them.
    // Without waiting: a pipe that nobody writes to would hold us before it can be refused.
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    checkSecretFile(path, fd);
    return readFileSync(fd, 'utf8').trim();
  } catch (error) {
    if (error instanceof TcpxError) throw error;
    throw new TcpxError('ERR_CONFIG_VALUE', `trust.secretFile ${path}: not readable`, {
      cause: error,
    });
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

function checkSecretFile(path: string, fd: number): void {
  const { mode, uid, size } = fstatSync(fd);
  const refuse = (rule: string): never => {
    throw new TcpxError('ERR_CONFIG_VALUE', `trust.secretFile ${path}: ${rule}`);
  };
  if ((mode & S_IFMT) !== S_IFREG) refuse('not a regular file');
  if ((mode & 0o077) !== 0) refuse(`others may read it; run chmod 600 ${path}`);
  if (uid !== 0 && uid !== process.getuid?.()) refuse(`it belongs to user ${uid}, not to us`);
  if (size > SECRET_FILE_BYTES_MAX) refuse(`${size} bytes, at most ${SECRET_FILE_BYTES_MAX}`);
}

/** The last two of a channel over shared memory: in the mail, and in the memory. */
export type AttachRole = 'attach' | 'attached' | 'shared' | 'mapped';

export function attachProof(
  sessionKey: Uint8Array,
  role: AttachRole,
  attach: { sessionId: number; channelIndex: number; epoch: number; nonce: Uint8Array },
): Uint8Array {
  return createHmac('sha256', sessionKey)
    .update(`${PROOF_LABEL} ${role} ${attach.sessionId} ${attach.channelIndex} ${attach.epoch} `)
    .update(attach.nonce)
    .digest();
}

export function isSameProof(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
