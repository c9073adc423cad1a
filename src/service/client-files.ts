// Files in memory that a client shares, for the plugin's processes: they open a file by a name of
// this process, so a descriptor of it is kept here for as long as one of them may be started anew.

import { fstatSync } from 'node:fs';
import type { RegionShare } from '../engine/internal.js';
import { closeFd, duplicateFd } from '../ffi/libc/file-descriptor.js';

interface KeptFile {
  readonly name: string;
  readonly fd: number;
  readonly bytes: number;
  users: number;
}

export class ClientFiles {
  readonly #files = new Map<string, KeptFile>();

  /** A part of the file; `fd` stays the caller's. */
  share(fd: number, offset: number, bytes: number): RegionShare {
    const file = this.#keep(fd);
    const path = `/proc/${process.pid}/fd/${file.fd}`;
    const shared = { way: 'shared', path, fileBytes: file.bytes, offset, bytes } as const;
    return { way: 'shared', shared, descriptors: [], close: () => this.#release(file) };
  }

  // Once for all its parts: processes map a file whole. One that has grown is another to them.
  #keep(fd: number): KeptFile {
    const { dev, ino, size } = fstatSync(fd);
    const name = `${dev}:${ino}:${size}`;
    const file = this.#files.get(name) ?? { name, fd: duplicateFd(fd), bytes: size, users: 0 };
    file.users++;
    this.#files.set(name, file);
    return file;
  }

  #release(file: KeptFile): void {
    file.users--;
    if (file.users > 0) return;
    this.#files.delete(file.name);
    closeFd(file.fd);
  }
}
