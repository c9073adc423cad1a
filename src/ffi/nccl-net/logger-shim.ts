// Where the logger shim lies: built with the other native parts in a checkout, or compiled from the
// source that the package carries.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Environment, processEnvironment } from '../../base/config.js';
import { compileOnce } from '../compiled-library.js';

const BUILT_PATH = fileURLToPath(
  new URL('../../../../build/native/libtcpx-logger.so', import.meta.url),
);
const SOURCE_PATH = fileURLToPath(new URL('../../../../native/logger/logger.c', import.meta.url));

export interface LoggerShim {
  /** Empty when there is none. */
  readonly path: string;
  /** Why there is none, and what to do about it. */
  readonly absence: string;
}

export interface ShimPlaces {
  readonly builtPath: string;
  readonly sourcePath: string;
  readonly environment: Environment;
}

const PLACES: ShimPlaces = {
  builtPath: BUILT_PATH,
  sourcePath: SOURCE_PATH,
  environment: processEnvironment(),
};

export function findLoggerShim(places: ShimPlaces = PLACES): LoggerShim {
  const { builtPath, sourcePath, environment } = places;
  if (existsSync(builtPath)) return { path: builtPath, absence: '' };
  try {
    const path = compileOnce({ name: 'libtcpx-logger', sources: [sourcePath], environment });
    return { path, absence: '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { path: '', absence: `the log shim cannot be built: ${reason}` };
  }
}
