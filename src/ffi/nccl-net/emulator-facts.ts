// What our plugin emulator tells about itself beyond the table; a real plugin has none of it.

import koffi from 'koffi';
import type { PluginLibrary } from './plugin-library.js';

export interface EmulatorFacts {
  readonly version: string;
  /** Pages of the bounce buffer of a GPU, and those that are free now; 0 before its first use. */
  pages(gpu: number): number;
  freePages(gpu: number): number;
}

export function emulatorFacts(library: PluginLibrary): EmulatorFacts | undefined {
  const versionAddr = library.symbolAddress('tcpx_emu_version');
  if (versionAddr === 0) return undefined;
  return {
    version: String(koffi.decode(BigInt(versionAddr), 'char', -1)),
    pages: counter(library, 'tcpx_emu_pages'),
    freePages: counter(library, 'tcpx_emu_free_pages'),
  };
}

let prototype: ReturnType<typeof koffi.proto> | undefined;

function counter(library: PluginLibrary, name: string): (gpu: number) => number {
  const addr = library.symbolAddress(name);
  if (addr === 0) return () => 0;
  prototype ??= koffi.proto('tcpxEmulatorCounter', 'long', ['int']);
  const call = koffi.decode(BigInt(addr), prototype) as (gpu: number) => number;
  return (gpu) => call(gpu);
}
