// The native unpack of one message: one call instead of one for every fragment of 4 KiB. Where it
// was not built, the fragments are copied one by one.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';

const LIBRARY_PATH = fileURLToPath(
  new URL('../../../build/native/libtcpx-unpack.so', import.meta.url),
);

/** Entries as the plugin's unpack queue has them; checked before, for nobody checks them here. */
export type UnpackCall = (
  entriesAddr: number,
  count: number,
  bounceAddr: number,
  targetAddr: number,
) => void;

export function openUnpackLibrary(path: string = LIBRARY_PATH): UnpackCall | undefined {
  if (!existsSync(path)) return undefined;
  const prototype =
    'void tcpx_unpack(uintptr_t entries, uint32_t count, uintptr_t bounce, uintptr_t target)';
  return koffi.load(path).func(prototype) as UnpackCall;
}
