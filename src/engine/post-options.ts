// What goes with a post beside its blocks: checked, encoded, applied.

import { TcpxError } from '../base/errors.js';
import type { DataOperation, SourceEvent } from '../provider/contract.js';
import { NOTIFICATION_BYTES_MAX } from '../wire/data-frame.js';
import type { PostOptions } from './session.js';
import type { Transfer } from './transfer.js';

export function encodeNotification(message: Uint8Array | string): Uint8Array;
export function encodeNotification(
  message: Uint8Array | string | undefined,
): Uint8Array | undefined;
export function encodeNotification(
  message: Uint8Array | string | undefined,
): Uint8Array | undefined {
  if (message === undefined) return undefined;
  const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message;
  if (bytes.length <= NOTIFICATION_BYTES_MAX) return bytes;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `notification of ${bytes.length} bytes: at most ${NOTIFICATION_BYTES_MAX}`,
  );
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
