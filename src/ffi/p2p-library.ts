// The C library for programs, `libtcpx_p2p.so`: built in a checkout and in a bundle, or compiled
// from the sources that the package carries.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, processEnvironment } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { compileOnce, type LibrarySources } from './compiled-library.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** In a checkout; or in a bundle, where the package lies in `app`. */
const BUILT = ['build/native/libtcpx_p2p.so', '../lib/libtcpx_p2p.so'];
const HEADER = 'include/tcpx_p2p.h';
const MODULE = 'python/tcpx_p2p.py';
const FOLDER = 'native/p2p';
/** What programs that were linked with it look for. */
export const P2P_SONAME = 'libtcpx_p2p.so.1';
/** What it keeps out of the programs that load it, and that it stays loaded once it is. */
export const P2P_LINK: readonly string[] = [
  `-Wl,-soname,${P2P_SONAME}`,
  '-Wl,-z,nodelete,-z,defs,-z,text',
];

export interface P2pPlaces {
  /** Of the package or checkout. */
  readonly root: string;
  readonly version: string;
  readonly environment: Environment;
  /** It has to be compiled first. */
  onCompile?(): void;
}

export interface P2pFiles {
  readonly library: string;
  readonly header: string;
  /** For Python. */
  readonly module: string;
}

export function p2pDefines(version: string): string[] {
  return ['-DTCPX_P2P_BUILDING', `-DTCPX_P2P_VERSION="${version}"`];
}

/** Where its files are, compiled now where it must be. `version`: of the package. */
export function p2pFiles(given: Partial<P2pPlaces> & Pick<P2pPlaces, 'version'>): P2pFiles {
  const places = { root: ROOT, environment: processEnvironment(), ...given };
  const { root } = places;
  // A bundle has what is for other programs beside the app.
  const first = (paths: readonly string[]) =>
    paths.map((path) => join(root, path)).find((path) => existsSync(path));
  const besides = (path: string) => first([path, `../${path}`]) ?? join(root, path);
  const beside = { header: besides(HEADER), module: besides(MODULE) };
  const built = first(BUILT);
  if (built !== undefined) return { library: built, ...beside };
  try {
    return { library: compileOnce(sourcesOf(places)), ...beside };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TcpxError('ERR_CAP_MISSING_TOOL', `libtcpx_p2p.so cannot be built: ${reason}`, {
      cause: error,
    });
  }
}

function sourcesOf({ root, version, ...rest }: P2pPlaces): LibrarySources {
  const folder = join(root, FOLDER);
  const files = readdirSync(folder).sort();
  const paths = (end: string) =>
    files.filter((file) => file.endsWith(end)).map((file) => join(folder, file));
  return {
    name: 'libtcpx_p2p',
    sources: paths('.c'),
    headers: [...paths('.h'), join(root, HEADER)],
    flags: ['-pthread', ...p2pDefines(version), ...P2P_LINK],
    libraries: ['-ldl'],
    ...rest,
  };
}
