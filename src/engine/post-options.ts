// What goes with a post beside its blocks: checked, encoded, applied.

import { checkNames, checkRecord, checkSignal, checkTime } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { DataOperation, SourceEvent } from '../provider/contract.js';
import { NOTIFICATION_BYTES_MAX } from '../wire/data-frame.js';
import type { PostOptions } from './session.js';
import type { Transfer } from './transfer.js';

/** As it travels. */
export function encodeMessage(message: Uint8Array | string): Uint8Array {
  const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : viewOf(message);
  if (bytes.length <= NOTIFICATION_BYTES_MAX) return bytes;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `notification of ${bytes.length} bytes: at most ${NOTIFICATION_BYTES_MAX}`,
  );
}

// Programs without types pass anything.
function viewOf(message: unknown): Uint8Array {
  if (message instanceof Uint8Array) return message;
  if (ArrayBuffer.isView(message)) {
    return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
  }
  const given = message === null ? 'null' : typeof message;
  const text = `a message is a text or bytes (Buffer, Uint8Array), not ${given}`;
  throw new TcpxError('ERR_USAGE_ARGUMENT', text);
}

const OPTIONS = ['notify', 'deadlineMs', 'sourceReady', 'signal'];

/** Before anything is posted. */
export function checkOptions(options: PostOptions): void {
  checkRecord('post: options', options);
  checkNames('post', options, OPTIONS);
  checkTime('post: deadlineMs', options.deadlineMs);
  checkSignal('post', options.signal);
}

/** Only a write has a source of its own that may not be ready. */
export function checkSource(operation: DataOperation, event: SourceEvent | undefined) {
  if (event === undefined) return undefined;
  if (operation === 'read') {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'post: sourceReady goes with a write');
  }
  if (Number.isSafeInteger(event.handle) && event.handle > 0) return event;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `post: ${event.handle} is not the handle of an event`);
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
