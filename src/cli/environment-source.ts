// Where commands take an environment from: this process, a file of NAME=value lines, or the
// `environ` of another process.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { processEnvironment } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { fileReason } from '../base/file-reason.js';
import { type EnvironmentValues, parseEnvironmentText } from '../host/environment/preset.js';
import { FLAT_ENVIRONMENT_PATH, isFlatHost } from '../host/flat/flat-tree.js';
import type { HostFiles } from '../host/read/host-files.js';

export function ownEnvironment(): EnvironmentValues {
  const own = Object.entries(processEnvironment()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(own) as EnvironmentValues;
}

/** Of the run around which a bundle was taken, none where it kept none; else of this process. */
export function environmentOfHost(files: HostFiles): EnvironmentValues {
  if (!isFlatHost(files)) return ownEnvironment();
  return parseEnvironmentText(files.read(FLAT_ENVIRONMENT_PATH) ?? '');
}

/** This shell says nothing about a run that somebody else took notes of. */
export function isEnvironmentKnown(files: HostFiles): boolean {
  return !isFlatHost(files) || files.read(FLAT_ENVIRONMENT_PATH) !== undefined;
}

/** A file with text and no variable is no environment: to compare with it would say nothing. */
export function environmentOfFile(path: string): EnvironmentValues {
  const text = readTextFile(path, `environment ${path}`);
  const values = parseEnvironmentText(text);
  if (Object.keys(values).length > 0 || text.trim() === '') return values;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `environment ${path}: holds no line NAME=value`);
}

export function environmentOfProcess(root: string, pid: string): EnvironmentValues {
  const path = join(root, 'proc', pid, 'environ');
  return parseEnvironmentText(readTextFile(path, `environment of process ${pid}`));
}

export function readTextFile(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${what}: ${fileReason(error)}`, { cause: error });
  }
}
