// The files of a bundle that somebody hands in: a folder or a .tgz. Nothing in it is believed: only
// plain files are read, links and pipes are not followed, each file and all together are bounded,
// and names are only compared, never opened elsewhere.

import { readFileSync, statSync } from 'node:fs';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import { listFlatFolder, readFlatArchive, readFlatFile } from '../../host/flat/flat-files.js';

const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;
const LOGS_CHARS_MAX = 64 * 1024 * 1024;

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export interface OpenedBundle {
  readonly path: string;
  readonly names: readonly string[];
  /** Logs of the run, one below the other. */
  readonly log: string;
  /** Of a benchmark of ours whose log has only a table of it; empty otherwise. */
  readonly result: string;
  /** Of the machine-readable file: its first and its last line. */
  readonly records: { readonly begin: unknown; readonly end: unknown };
  /** Sections per NIC, with the GPUs that it is nearest to. */
  readonly numaTopology: string;
  /** Call traces of plugin processes. */
  readonly traces: readonly NamedText[];
}

const LOG = /(^|\/)[^/]*\.log$/i;
/** Beside the log: the document that a benchmark of ours has kept. */
export const RESULT_FILE = 'bench_result.json';
const RESULT = /(^|\/)bench_result\.json$/;
const RECORDS = /(^|\/)bundle\.jsonl$/;
const NUMA = /(^|\/)nic_numa_topology\.txt$/;
const TRACE = /(^|\/)[^/]*\.trace$/;
const RECORD_CHARS_MAX = 8 * 1024 * 1024;
const TRACES_MAX = 64;

export function openBundle(path: string): OpenedBundle {
  const { names, read } = openFiles(path);
  const records = read(names.find((name) => RECORDS.test(name)) ?? '') ?? '';
  const traces = names.filter((name) => TRACE.test(name)).slice(0, TRACES_MAX);
  return {
    path,
    names,
    log: joinLogs(
      names.filter((name) => LOG.test(name)),
      read,
    ),
    result: read(names.find((name) => RESULT.test(name)) ?? '') ?? '',
    records: { begin: parseRecord(firstLine(records)), end: parseRecord(lastLine(records)) },
    numaTopology: read(names.find((name) => NUMA.test(name)) ?? '') ?? '',
    traces: traces.map((name) => ({ name, text: read(name) ?? '' })),
  };
}

interface Files {
  readonly names: readonly string[];
  readonly read: (name: string) => string | undefined;
}

function openFiles(path: string): Files {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (kind?.isDirectory() === true) {
    const names = listFlatFolder(path);
    if (names === undefined) throw bundleError(path, 'too many files for a bundle');
    return { names, read: (name) => (name === '' ? undefined : readFlatFile(path, name)?.text) };
  }
  if (kind?.isFile() !== true) throw bundleError(path, 'no such folder or .tgz');
  if (kind.size > ARCHIVE_BYTES_MAX) throw bundleError(path, 'larger than 256 MiB');
  const files = readFlatArchive(readArchive(path));
  if (files === undefined) throw bundleError(path, 'neither a folder nor a .tgz');
  const texts = new Map(files.map(({ name, text }) => [name, text]));
  return { names: [...texts.keys()], read: (name) => texts.get(name) };
}

function readArchive(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `bundle ${path}`);
  }
}

function bundleError(path: string, reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `bundle ${path}: ${reason}`);
}

function joinLogs(names: readonly string[], read: Files['read']): string {
  let log = '';
  for (const name of names) {
    const text = read(name) ?? '';
    if (log.length + text.length > LOGS_CHARS_MAX) break;
    log += text.endsWith('\n') || text === '' ? text : `${text}\n`;
  }
  return log;
}

function firstLine(text: string): string {
  const end = text.indexOf('\n');
  return text.slice(0, Math.min(end < 0 ? text.length : end, RECORD_CHARS_MAX));
}

function lastLine(text: string): string {
  const end = text.endsWith('\n') ? text.length - 1 : text.length;
  const start = text.lastIndexOf('\n', end - 1) + 1;
  return end - start > RECORD_CHARS_MAX ? '' : text.slice(start, end);
}

function parseRecord(line: string): unknown {
  try {
    return line === '' ? undefined : (JSON.parse(line) as unknown); // checked: run-record.ts
  } catch {
    return undefined;
  }
}
