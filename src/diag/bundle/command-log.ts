// The log of the command in a bundle: its beginning as far as the limit goes, and always its end,
// where results and failures stand.

import type { BundleFileWriter } from './bundle-writer.js';

const TAIL_BYTES_MAX = 1024 * 1024;
/** Of what the beginning may take. */
const TAIL_SHARE = 0.25;

export class CommandLog {
  private readonly file: BundleFileWriter | undefined;
  private readonly headBytesMax: number;
  private readonly tailBytesMax: number;
  private headBytes = 0;
  /** Of what came behind the beginning: the last parts, and how much was dropped before them. */
  private tail: Buffer[] = [];
  private tailBytes = 0;
  private leftOutBytes = 0;

  constructor(file: BundleFileWriter | undefined, headBytesMax: number) {
    this.file = file;
    this.headBytesMax = headBytesMax;
    this.tailBytesMax = Math.min(TAIL_BYTES_MAX, headBytesMax * TAIL_SHARE);
  }

  add(bytes: Buffer): void {
    const isHead = this.tail.length === 0 && this.headBytes + bytes.length <= this.headBytesMax;
    if (isHead && this.file?.write(bytes) === true) {
      this.headBytes += bytes.length;
      return;
    }
    this.tail.push(bytes);
    this.tailBytes += bytes.length;
    while (this.tailBytes > this.tailBytesMax && this.tail.length > 1) {
      const dropped = this.tail.shift();
      this.tailBytes -= dropped?.length ?? 0;
      this.leftOutBytes += dropped?.length ?? 0;
    }
  }

  close(): void {
    if (this.file === undefined) return;
    if (this.leftOutBytes > 0) {
      this.file.write(`\n[tcpx: ${this.leftOutBytes} bytes are left out here]\n`);
    }
    for (const bytes of this.tail) this.file.write(bytes);
    this.tail = [];
    this.file.close();
  }
}
