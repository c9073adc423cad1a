// The files of a diagnostics bundle, found by the names that the collector and other tools give
// them, and what they say of host and time. A bundle is a folder.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { TcpxError } from '../../base/errors.js';

// Names as the collector writes them, and the plain copies of other tools: flat, or one folder per
// phase.
const PARTS = {
  interruptsBefore:
    /(^|\/)(irq_(snapshot_)?before[^/]*|interrupts[_-]before[^/]*|before\/.*interrupts)$/,
  interruptsAfter:
    /(^|\/)(irq_(snapshot_)?after[^/]*|interrupts[_-]after[^/]*|after\/.*interrupts)$/,
  cpuUse: /(^|\/)(cpu_usage|mpstat)[^/]*$/,
  nicBefore: /(^|\/)nic_(stats|info)_before[^/]*$/,
  nicAfter: /(^|\/)nic_(stats|info)_after[^/]*$/,
  hostname: /(^|\/)hostname(\.txt)?$/,
} as const;
export type BundlePart = keyof typeof PARTS;

export interface BundleFile {
  readonly name: string;
  readonly text: string;
  /** When it was written, as far as the file system still knows. */
  readonly modifiedMs: number;
}

export type BundleFiles = ReadonlyMap<BundlePart, BundleFile>;

export function readBundleFiles(folder: string): BundleFiles {
  const names = listBundle(folder);
  const files = new Map<BundlePart, BundleFile>();
  for (const [part, pattern] of Object.entries(PARTS) as [BundlePart, RegExp][]) {
    const name = names.find((candidate) => pattern.test(candidate));
    if (name === undefined) continue;
    const path = join(folder, name);
    files.set(part, {
      name,
      text: readFileSync(path, 'utf8'),
      modifiedMs: statSync(path).mtimeMs,
    });
  }
  if (files.size > 0) return files;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `bundle ${folder}: holds none of irq_before.txt, irq_after.txt, nic_stats_before.txt, ` +
      'nic_stats_after.txt, cpu_usage_during.txt: not a diagnostics bundle',
  );
}

function listBundle(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .sort();
  } catch (error) {
    const isFile = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false;
    const reason = isFile ? 'not a folder' : 'no such folder';
    throw new TcpxError('ERR_USAGE_ARGUMENT', `bundle ${folder}: ${reason}`, { cause: error });
  }
}

/** The host's name as a file of its own says it, else as mpstat's first line does. */
export function bundleHostname(files: BundleFiles): string | undefined {
  const own = files.get('hostname')?.text.trim();
  if (own !== undefined && own !== '') return own;
  return /^Linux \S+ \(([^)\s]+)\)/m.exec(files.get('cpuUse')?.text ?? '')?.[1];
}

/** Copies lose the time of writing: files made at once say nothing about the length of a run. */
const SECONDS_MIN = 0.5;
const SECONDS_MAX = 7 * 24 * 3600;

/** Seconds between two snapshots: by stamps in their names, else by the files' own times. */
export function secondsBetween(
  before: BundleFile | undefined,
  after: BundleFile | undefined,
): number | undefined {
  if (before === undefined || after === undefined) return undefined;
  const startMs = nameTimeMs(before.name);
  const endMs = nameTimeMs(after.name);
  const isNamed = startMs !== undefined && endMs !== undefined;
  const seconds = ((isNamed ? endMs - startMs : after.modifiedMs - before.modifiedMs) || 0) / 1000;
  return seconds >= SECONDS_MIN && seconds <= SECONDS_MAX ? seconds : undefined;
}

/** `…_20251007_120000.txt`, UTC. */
function nameTimeMs(name: string): number | undefined {
  const match = /(\d{4})(\d{2})(\d{2})[_-](\d{2})(\d{2})(\d{2})/.exec(name);
  if (match === null) return undefined;
  const [year = 0, month = 1, ...rest] = match.slice(1).map(Number);
  const [day = 1, hour = 0, minute = 0, second = 0] = rest;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
