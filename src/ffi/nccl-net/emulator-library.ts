// The plugin emulator by its word, `emulator`: built with the other native parts in a checkout, or
// compiled from the sources that the package carries. A file of that name is `./emulator`.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { compileOnce, type LibrarySources } from '../compiled-library.js';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const BUILT = 'build/native/libnccl-net-tcpx-emulator.so';
const FOLDER = 'native/emulator';
/** Of the programs that judge the emulator, which lie beside it. */
const PROGRAM = /^(driver|nccl-check)/;

export interface EmulatorPlaces {
  /** Of the package or checkout. */
  readonly root: string;
  readonly environment: Environment;
  /** It has to be compiled first. */
  onCompile?(): void;
}

const PLACES: EmulatorPlaces = { root: ROOT, environment: processEnvironment() };

/** Of the names of files in the emulator's folder. Pure. */
export function isEmulatorSource(file: string): boolean {
  return file.endsWith('.c') && !PROGRAM.test(file);
}

/** Its path, compiled now where it must be. */
export function emulatorLibrary(given: Partial<EmulatorPlaces> = {}): string {
  const places = { ...PLACES, ...given };
  const built = join(places.root, BUILT);
  if (existsSync(built)) return built;
  try {
    return compileOnce(sourcesOf(places));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TcpxError('ERR_CAP_NET_PLUGIN', `the emulator cannot be built: ${reason}`, {
      cause: error,
    });
  }
}

function sourcesOf({ root, ...rest }: EmulatorPlaces): LibrarySources {
  const folder = join(root, FOLDER);
  const files = readdirSync(folder).sort();
  const paths = (isWanted: (file: string) => boolean) =>
    files.filter(isWanted).map((file) => join(folder, file));
  return {
    name: 'libnccl-net-tcpx-emulator',
    sources: paths(isEmulatorSource),
    headers: [
      ...paths((file) => file.endsWith('.h')),
      join(root, 'native/nccl-net-v7.h'),
      join(root, 'native/symbols.h'),
    ],
    flags: ['-pthread'],
    libraries: ['-ldl'],
    ...rest,
  };
}
