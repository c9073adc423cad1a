// Memory that the engine allocates for regions: mapped, page-aligned, on huge pages where asked.

import { checkOneOf, checkWhole } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import { errnoName } from '../ffi/libc/errno.js';
import {
  adviseHugePages,
  type Mapping,
  mapMemory,
  tryMapMemory,
  unmapMemory,
  viewMapping,
} from '../ffi/libc/mapping.js';

/** Which pages memory gets: 4 KiB ones, huge ones if there are any, or huge ones or an error. */
export type PageKind = 'normal' | 'prefer-huge' | 'huge';

/** Memory that was mapped for a region. */
export interface RegionMemory {
  /** Its bytes. */
  readonly buffer: ArrayBuffer;
  /** Address of the first one. */
  readonly addr: number;
  /** What the memory really lies on; `prefer-huge` may end as `transparent` or `normal`. */
  readonly pages: 'normal' | 'transparent' | 'huge';
}

const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
const PAGE_BYTES = 4096;

// Unmapped when the last view is gone: unmapping under a live view would crash the process.
const unmapWhenUnused = new FinalizationRegistry<Mapping>((mapping) => unmapMemory(mapping));

/** Maps memory for a region. Throws `ERR_CAP_HUGE_PAGES` where huge pages are lacking. */
export function allocateRegionMemory(bytes: number, pages: PageKind = 'normal'): RegionMemory {
  checkWhole('allocate: bytes', bytes, 1);
  checkOneOf('allocate: pages', pages, ['normal', 'prefer-huge', 'huge']);
  if (pages === 'normal') return wrap(mapMemory(roundUp(bytes, PAGE_BYTES)), bytes, 'normal');
  const hugeBytes = roundUp(bytes, HUGE_PAGE_BYTES);
  const huge = tryMapMemory(hugeBytes, { isHuge: true, isPopulated: true });
  if (typeof huge !== 'number') return wrap(huge, bytes, 'huge');
  if (pages === 'huge') {
    throw new TcpxError(
      'ERR_CAP_HUGE_PAGES',
      `allocate ${bytes} bytes on huge pages: mmap: ${errnoName(-huge)}`,
    );
  }
  const mapping = mapMemory(hugeBytes);
  return wrap(mapping, bytes, adviseHugePages(mapping) ? 'transparent' : 'normal');
}

function wrap(mapping: Mapping, bytes: number, pages: RegionMemory['pages']): RegionMemory {
  const buffer = viewMapping({ addr: mapping.addr, bytes });
  unmapWhenUnused.register(buffer, mapping);
  return { buffer, addr: mapping.addr, pages };
}

function roundUp(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit;
}
