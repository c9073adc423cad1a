// Host memory that plugin hosts can map: an anonymous file of this process, named through /proc.
// Memory of any other kind cannot be reached by them.

import { TcpxError } from '../../base/errors.js';
import { closeFd } from '../../ffi/libc/file-descriptor.js';
import {
  createMemoryFile,
  type Mapping,
  mapMemory,
  unmapMemory,
  viewMapping,
} from '../../ffi/libc/mapping.js';

export interface SharedMemory {
  readonly buffer: ArrayBuffer;
  readonly addr: number;
  readonly bytes: number;
  /** Where a child process of this one opens it. */
  readonly path: string;
}

const PAGE_BYTES = 4096;
// Unmapped when the last view is gone: unmapping under a live view would crash the process.
const closeWhenUnused = new FinalizationRegistry<{ mapping: Mapping; fd: number }>((held) => {
  unmapMemory(held.mapping);
  closeFd(held.fd);
});

export function allocateShared(bytes: number): SharedMemory {
  if (!Number.isSafeInteger(bytes) || bytes <= 0) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `allocate: ${bytes} is not a number of bytes`);
  }
  const mappedBytes = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
  const fd = createMemoryFile('tcpx-region', mappedBytes);
  const mapping = mapMemory(mappedBytes, { fd });
  const buffer = viewMapping({ addr: mapping.addr, bytes });
  closeWhenUnused.register(buffer, { mapping, fd });
  return { buffer, addr: mapping.addr, bytes, path: `/proc/${process.pid}/fd/${fd}` };
}
