// A copy whose stores go to memory and leave nothing in this core's caches. libc's memcpy has such
// stores for copies of tens of MiB alone, and JavaScript has none, so the few instructions are
// carried here, assembled from native/copy, and mapped on first use. Where that cannot be, memcpy.

import type { Address, ByteCount } from '../base/quantity.js';
import { bindCode } from './libc/library.js';
import { copyMemory, type Mapping, tryMapCode, unmapMemory } from './libc/mapping.js';

/** The ranges must not overlap. When it returns, all of it can be seen by every core. */
export type Copy = (targetAddr: Address, sourceAddr: Address, bytes: ByteCount) => void;

/** native/copy/past-cache-x64.S; a test holds both against each other. */
export const PAST_CACHE_X64 =
  'f30f1efa4883fa40724889f9f7d983e13f4829caf3a44889d148c1e9067433f3' +
  '0f6f06f30f6f4e10f30f6f5620f30f6f5e30660fe707660fe74f10660fe75720' +
  '660fe75f304883c6404883c74048ffc975cd89d183e13ff3a40faef8c3';

interface PastCache {
  readonly copy: Copy;
  readonly code: Mapping | undefined;
}

/** Of this thread. */
let opened: PastCache | undefined;

/** The copy of this thread; nobody may use it after unmapPastCache. */
export function pastCacheCopy(): Copy {
  opened ??= open();
  return opened.copy;
}

/** Where its instructions are mapped; undefined where the same bytes go through the cache. */
export function pastCacheCode(): Mapping | undefined {
  opened ??= open();
  return opened.code;
}

/** At the end of a thread. */
export function unmapPastCache(): void {
  if (opened?.code !== undefined) unmapMemory(opened.code);
  opened = undefined;
}

function open(): PastCache {
  const code = process.arch === 'x64' ? tryMapCode(Buffer.from(PAST_CACHE_X64, 'hex')) : undefined;
  if (code === undefined) return { copy: copyMemory, code };
  return { copy: bindCode<Copy>(code.addr, 'void', ['uintptr_t', 'uintptr_t', 'size_t']), code };
}
