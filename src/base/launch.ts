// Where a thread or process of ours begins. Hundreds of small modules take longer to load than all
// that an entry then does, so the build makes few files of them: launch files.

import { statSync } from 'node:fs';
import { basename } from 'node:path';

/** Launch files lie as deep below the sources as this module does. */
const SOURCES = new URL('..', import.meta.url);
const FOLDER = new URL('launch/', SOURCES);
const COMPILED = new URL('../.tsbuildinfo', SOURCES);

/**
 * `entry` is a module by its path below src/, as "bench/bench-worker-main.js". In a tree that was
 * compiled since, its launch file is out of date, and the module itself is taken. Launch files are
 * scripts, `.cjs`; those of which one thread loads several are modules.
 */
export function launchUrl(entry: string, extension: '.cjs' | '.js' = '.cjs'): URL {
  const launch = new URL(basename(entry, '.js') + extension, FOLDER);
  return modifiedMs(launch) > modifiedMs(COMPILED) ? launch : new URL(entry, SOURCES);
}

/** An entry that this thread is to load too: of the same kind, as no module may be there twice. */
export function besideUrl(entry: string): URL {
  return isLaunchUrl(import.meta.url) ? new URL(basename(entry), FOLDER) : new URL(entry, SOURCES);
}

/** Whether the module of this address has parts in common with other launch files. */
export function isLaunchUrl(url: string): boolean {
  return url.startsWith(FOLDER.href);
}

/** −1 for a file that is not there; an installed package has no trace of its compilation. */
function modifiedMs(file: URL): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -1;
}
