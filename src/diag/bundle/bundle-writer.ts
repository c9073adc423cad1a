// Writes the files of a bundle: each made anew, for its user alone, all together within a limit. A
// disk that takes no more ends the collection and not the run: from then on writes do nothing, and
// `problem` says why.

import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface WrittenFile {
  readonly name: string;
  readonly bytes: number;
}

const FILE_MODE = 0o600;
/** What is left for the files that sum up, whatever the others took. */
const FINAL_SHARE = 1 / 16;

/** Stands in for the system's call in tests. */
export type WriteBytes = (fd: number, bytes: Uint8Array) => number;

export class BundleWriter {
  readonly folder: string;
  private readonly limitBytes: number;
  private readonly writeBytes: WriteBytes;
  private readonly sizes = new Map<string, number>();
  private totalBytes = 0;
  private fault: string | undefined;
  private isFinal = false;

  constructor(
    folder: string,
    limitBytes: number,
    writeBytes: WriteBytes = (fd, bytes) => writeSync(fd, bytes),
  ) {
    this.folder = folder;
    this.limitBytes = limitBytes;
    this.writeBytes = writeBytes;
  }

  /** Why nothing is written any more; undefined while all is well. */
  get problem(): string | undefined {
    return this.fault;
  }

  get files(): readonly WrittenFile[] {
    return [...this.sizes].map(([name, bytes]) => ({ name, bytes }));
  }

  /** From now on the last part of the limit may be used too. */
  beginFinal(): void {
    this.isFinal = true;
  }

  /** What may still be written. */
  get leftBytes(): number {
    const share = this.isFinal ? 1 : 1 - FINAL_SHARE;
    return Math.max(0, this.limitBytes * share - this.totalBytes);
  }

  write(name: string, text: string): boolean {
    const file = this.open(name);
    const isDone = file?.write(text) === true;
    file?.close();
    return isDone;
  }

  /** A file that grows; undefined once nothing is written any more. */
  open(name: string): BundleFileWriter | undefined {
    if (this.fault !== undefined) return undefined;
    let fd: number;
    try {
      // Never through a link, never over a file that is there.
      fd = openSync(join(this.folder, name), 'wx', FILE_MODE);
    } catch (error) {
      this.fault = `${name}: ${reasonOf(error)}`;
      return undefined;
    }
    this.sizes.set(name, 0);
    return {
      write: (data) => this.append(name, fd, data),
      close: () => closeSync(fd),
    };
  }

  private append(name: string, fd: number, data: string | Uint8Array): boolean {
    if (this.fault !== undefined) return false;
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    if (bytes.length > this.leftBytes) return false;
    try {
      for (let at = 0; at < bytes.length; ) at += this.writeBytes(fd, bytes.subarray(at));
    } catch (error) {
      this.fault = `${name}: ${reasonOf(error)}`;
      return false;
    }
    this.totalBytes += bytes.length;
    this.sizes.set(name, (this.sizes.get(name) ?? 0) + bytes.length);
    return true;
  }
}

export interface BundleFileWriter {
  /** false: not written, the limit is reached or the disk takes no more. */
  write(data: string | Uint8Array): boolean;
  close(): void;
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC') return 'no space left on the disk';
  return code ?? (error instanceof Error ? error.message : String(error));
}
