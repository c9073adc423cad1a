// Folders of bundles: `diagnostics/<label>_<time>/`, the newest of them, and what a label may be.

import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import { makeFolder } from '../../base/make-folder.js';

export const BUNDLES_FOLDER = 'diagnostics';

const LABEL = /^[A-Za-z0-9][\w.-]{0,63}$/;
const NAME = /^[A-Za-z0-9][\w.-]*_(\d{8}_\d{6})(?:_(\d+))?$/;
const SAME_SECOND_MAX = 100;
/** Its user alone: logs and variables of a run are nobody else's business. */
const FOLDER_MODE = 0o700;

export function requireLabel(label: string): string {
  if (LABEL.test(label)) return label;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `label ${JSON.stringify(label)}: letters, digits, dot, dash and underscore are wanted`,
  );
}

/** A label from a program's name. */
export function labelOf(program: string): string {
  const base = program.slice(program.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_');
  const label = base.replace(/^[^A-Za-z0-9]+/, '').slice(0, 64);
  return label === '' ? 'run' : label;
}

/** Made anew: a bundle never writes into a folder that was there. */
export function makeBundleFolder(parent: string, label: string, stamp: string): string {
  const base = join(parent, `${requireLabel(label)}_${stamp}`);
  try {
    makeFolder(parent);
    for (let count = 1; count <= SAME_SECOND_MAX; count++) {
      const folder = count === 1 ? base : `${base}_${count}`;
      if (tryMakeFolder(folder)) return folder;
    }
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `make bundle folder ${base}`);
  }
  throw new TcpxError('ERR_SYS_CALL', `make bundle folder ${base}: too many of this second`);
}

function tryMakeFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: FOLDER_MODE });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Bundles by the time in their names, newest first. */
export function listBundles(parent: string): readonly string[] {
  const found = listFolder(parent).flatMap((name) => {
    const match = NAME.exec(name);
    if (match === null || !isFolder(join(parent, name))) return [];
    return [{ name, key: `${match[1] ?? ''} ${(match[2] ?? '1').padStart(4, '0')}` }];
  });
  return found.sort((a, b) => (a.key < b.key ? 1 : -1)).map(({ name }) => join(parent, name));
}

/** undefined where there is none. */
export function latestBundle(parent: string): string | undefined {
  return listBundles(parent)[0];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function listFolder(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
