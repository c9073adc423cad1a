// Where NIXL's headers for backends lie below a folder that somebody names: the prefix that NIXL
// was installed to, or a checkout of its sources.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface NixlHeaders {
  /** Folders for -I, in order. */
  readonly includes: readonly string[];
  /** As NIXL names it; undefined where nothing says so. */
  readonly version: string | undefined;
}

const PLUGIN_HEADER = 'backend/backend_plugin.h';

/** Undefined where there are none. */
export function findNixlHeaders(folder: string): NixlHeaders | undefined {
  for (const include of ['include', '.']) {
    const installed = join(folder, include);
    if (existsSync(join(installed, PLUGIN_HEADER))) {
      return { includes: [installed, join(installed, 'utils')], version: versionOf(folder) };
    }
  }
  if (!existsSync(join(folder, 'src/api/cpp', PLUGIN_HEADER))) return undefined;
  const parts = ['src/api/cpp', 'src/utils', 'src/core/telemetry', 'src/core'];
  return { includes: parts.map((part) => join(folder, part)), version: versionOf(folder) };
}

function versionOf(folder: string): string | undefined {
  for (const [file, pattern] of [
    ['meson.build', /project\('nixl'.*?version:\s*'([^']+)'/s],
    ['lib/pkgconfig/nixl.pc', /^Version:\s*(\S+)/m],
    ['lib/x86_64-linux-gnu/pkgconfig/nixl.pc', /^Version:\s*(\S+)/m],
    ['lib/aarch64-linux-gnu/pkgconfig/nixl.pc', /^Version:\s*(\S+)/m],
  ] as const) {
    const path = join(folder, file);
    if (!existsSync(path)) continue;
    const found = pattern.exec(readFileSync(path, 'utf8'))?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}
