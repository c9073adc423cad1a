// What goes with a post beside its blocks: checked, encoded, applied.

import {
  checkMessage,
  checkOptions,
  checkRecord,
  checkSignal,
  checkTime,
  wrongArgument,
} from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { DataOperation, SourceEvent } from '../provider/contract.js';
import { NOTIFICATION_BYTES_MAX } from '../wire/data-frame.js';
import type { PostOptions } from './session.js';
import type { Transfer } from './transfer.js';

/** As it travels. */
export function encodeMessage(message: Uint8Array | string): Uint8Array {
  const bytes = bytesOf(message);
  if (bytes.length <= NOTIFICATION_BYTES_MAX) return bytes;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `notification of ${bytes.length} bytes: at most ${NOTIFICATION_BYTES_MAX}`,
  );
}

// Programs without types pass anything.
function bytesOf(message: unknown): Uint8Array {
  if (ArrayBuffer.isView(message) && !(message instanceof Uint8Array)) {
    return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
  }
  checkMessage('a message', message);
  return typeof message === 'string' ? new TextEncoder().encode(message) : message;
}

const WAIT = { deadlineMs: checkTime, signal: checkSignal };
const OPTIONS = { ...WAIT, notify: checkNotify, sourceReady: checkRecord };

/** Before anything is posted. */
export function checkPostOptions(options: PostOptions): void {
  checkOptions('post', options, OPTIONS);
}

/** Of a message without data. */
export function checkMessageOptions(options: Pick<PostOptions, 'deadlineMs' | 'signal'>): void {
  checkOptions('notify', options, WAIT);
}

function checkNotify(what: string, message: unknown): void {
  if (!ArrayBuffer.isView(message)) checkMessage(what, message);
}

/** Only a write has a source of its own that may not be ready. */
export function checkSource(operation: DataOperation, event: SourceEvent | undefined) {
  if (event === undefined) return undefined;
  if (operation === 'read') {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'post: sourceReady goes with a write');
  }
  if (Number.isSafeInteger(event.handle) && event.handle > 0) return event;
  throw wrongArgument('post: sourceReady.handle', 'the handle of an event', event.handle);
}

export function applyOptions(
  transfer: Transfer,
  options: PostOptions,
  defaultDeadlineMs: number,
): void {
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  if (options.deadlineMs !== undefined || deadlineMs > 0) transfer.setDeadline(deadlineMs);
  if (options.signal !== undefined) transfer.cancelOn(options.signal);
}
