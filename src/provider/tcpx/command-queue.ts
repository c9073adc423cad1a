// Commands to a plugin host, in order. What does not fit into the ring now waits here.

import { RECORD_CHUNK } from './host-layout.js';
import { type HostLink, publishRecords, putText, reserveRecord } from './host-link.js';

const RETRY_MS = 1;

export class CommandQueue {
  readonly #link: HostLink;
  readonly #backlog: (string | Float64Array)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(link: HostLink) {
    this.#link = link;
  }

  putText(text: string): void {
    if (this.#isClosed) return;
    if (this.#backlog.length > 0 || !putText(this.#link.commands, text)) this.#later(text);
    this.#link.ring();
  }

  /** A chunk, as CHUNK_FIELDS numbers and the rows of its pieces; `flush` makes a batch visible. */
  putChunk(fields: Float64Array): void {
    if (this.#isClosed) return;
    if (this.#backlog.length > 0 || !this.#tryChunk(fields)) this.#later(fields.slice());
  }

  flush(): void {
    if (this.#isClosed) return;
    publishRecords(this.#link.commands);
    this.#link.ring();
  }

  /** The host is gone: nothing is sent any more. */
  close(): void {
    this.#isClosed = true;
    this.#backlog.length = 0;
    clearTimeout(this.#timer);
  }

  #tryChunk(fields: Float64Array): boolean {
    const { commands, memory } = this.#link;
    const at = reserveRecord(commands, RECORD_CHUNK, fields.length * 8);
    if (at < 0) return false;
    memory.float64.set(fields, at / 8);
    return true;
  }

  #later(command: string | Float64Array): void {
    if (this.#isClosed) return;
    this.#backlog.push(command);
    this.#timer ??= setTimeout(() => this.#retry(), RETRY_MS);
  }

  #retry(): void {
    this.#timer = undefined;
    let taken = 0;
    for (const command of this.#backlog) {
      const isPut =
        typeof command === 'string'
          ? putText(this.#link.commands, command)
          : this.#tryChunk(command);
      if (!isPut) break;
      taken++;
    }
    this.#backlog.splice(0, taken);
    this.flush();
    if (this.#backlog.length > 0) this.#timer = setTimeout(() => this.#retry(), RETRY_MS);
  }
}
