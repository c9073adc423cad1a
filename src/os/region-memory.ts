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

/**
 * Which pages memory gets. `auto`: transparent huge ones from 2 MiB on, where there are.
 * `normal`: of 4 KiB. `huge`: from the pool that the host's owner reserved, or an error.
 * `prefer-huge`: from that pool if it has some, else as `auto`.
 */
export type PageKind = 'auto' | 'normal' | 'prefer-huge' | 'huge';

/** Memory that was mapped for a region. */
export interface RegionMemory {
  /** Its bytes. */
  readonly buffer: ArrayBuffer;
  /** Address of the first one. */
  readonly addr: number;
  /** What the memory really lies on. */
  readonly pages: 'normal' | 'transparent' | 'huge';
}

const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
const PAGE_BYTES = 4096;

// Unmapped when the last view is gone: unmapping under a live view would crash the process.
const unmapWhenUnused = new FinalizationRegistry<Mapping>((mapping) => unmapMemory(mapping));

/** Maps memory for a region. Throws `ERR_CAP_HUGE_PAGES` where huge pages are lacking. */
export function allocateRegionMemory(bytes: number, pages: PageKind = 'auto'): RegionMemory {
  checkWhole('allocate: bytes', bytes, 1);
  checkOneOf('allocate: pages', pages, ['auto', 'normal', 'prefer-huge', 'huge']);
  // What is smaller than a huge page would waste most of it.
  if (pages === 'normal' || (pages === 'auto' && bytes < HUGE_PAGE_BYTES)) {
    return wrap(mapMemory(roundUp(bytes, PAGE_BYTES)), bytes, 'normal');
  }
  const hugeBytes = roundUp(bytes, HUGE_PAGE_BYTES);
  if (pages === 'auto') return transparent(hugeBytes, bytes);
  const huge = tryMapMemory(hugeBytes, { isHuge: true, isPopulated: true });
  if (typeof huge !== 'number') return wrap(huge, bytes, 'huge');
  if (pages === 'huge') {
    throw new TcpxError(
      'ERR_CAP_HUGE_PAGES',
      `allocate ${bytes} bytes on huge pages: mmap: ${errnoName(-huge)}`,
    );
  }
  return transparent(hugeBytes, bytes);
}

function transparent(mappedBytes: number, bytes: number): RegionMemory {
  const mapping = mapMemory(mappedBytes);
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
