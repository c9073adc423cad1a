// The version of this package, as its manifest says.

import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  // checked: it is our own manifest, packed beside this file
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
  return manifest.version;
}
