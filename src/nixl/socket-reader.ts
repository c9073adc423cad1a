// Exact reads from a control-plane socket, in paused mode: bytes that nobody asked for stay in the
// kernel, so a peer cannot fill our memory.

import type { Socket } from 'node:net';
import { afterMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';

/** Beyond this a length is not believed at once. */
const STEP_BYTES = 64 * 1024;

export class SocketReader {
  readonly #socket: Socket;
  readonly #label: string;
  #wake: () => void = () => undefined;

  constructor(socket: Socket, label: string) {
    this.#socket = socket;
    this.#label = label;
    // For life: a stream loses "readable" when listeners come and go between two reads, and an
    // error that nobody listens for ends the process. Reads report what went wrong.
    for (const event of ['readable', 'end', 'close', 'error']) {
      socket.on(event, () => this.#wake());
    }
  }

  /**
   * Exactly `bytes` bytes; 0 ms waits without end. Taken step by step, so that a length costs
   * nothing before its bytes are there; `onHeld` is told how many are.
   */
  async read(
    bytes: number,
    timeoutMs: number,
    onHeld: (bytes: number) => void = () => undefined,
  ): Promise<Buffer> {
    const stopAtMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
    const chunks: Buffer[] = [];
    let held = 0;
    while (held < bytes) {
      const wanted = Math.min(bytes - held, STEP_BYTES);
      const chunk = this.#socket.read(wanted) as Buffer | null;
      if (chunk?.length === wanted) {
        chunks.push(chunk);
        held += wanted;
        onHeld(held);
        continue;
      }
      if (chunk !== null || this.#socket.readableEnded || this.#socket.destroyed)
        throw this.#lost();
      const leftMs = stopAtMs - performance.now();
      if (leftMs <= 0) throw this.#late(bytes, timeoutMs);
      await this.#changed(leftMs);
    }
    const [only] = chunks;
    return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes);
  }

  #changed(leftMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = afterMs(leftMs, resolve);
      this.#wake = () => {
        stopTimer();
        resolve();
      };
    });
  }

  #lost(): TcpxError {
    const cause = this.#socket.errored ?? undefined;
    return new TcpxError('ERR_PEER_LOST', `read from ${this.#label}: the connection ended`, {
      cause,
    });
  }

  #late(bytes: number, timeoutMs: number): TcpxError {
    return new TcpxError(
      'ERR_PEER_TIMEOUT',
      `read ${bytes} bytes from ${this.#label}: not there after ${timeoutMs} ms`,
    );
  }
}

export function writeAll(socket: Socket, bytes: Uint8Array, label: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => {
      if (error == null) resolve();
      else reject(new TcpxError('ERR_PEER_LOST', `write to ${label}: ${error.message}`));
    });
  });
}
