// The files of a diagnostics bundle, found by the names that the collector and other tools give
// them, and what they say of host and time. A bundle is a folder or a .tgz of one.

import { readFileSync, statSync } from 'node:fs';
import { TcpxError } from '../../base/errors.js';
import {
  type FlatFile,
  listFlatFolder,
  readFlatArchive,
  readFlatFile,
} from '../flat/flat-files.js';
import { type Sample, splitInterruptSeries } from '../flat/sample-series.js';
import { growthOf } from '../nic/counter-growth.js';

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

/** Samples of the interrupt table, taken while the run went on. */
const SERIES = /(^|\/)(irq_during|interrupts[_-]during)[^/]*$/;

export type BundleFile = FlatFile;

export type BundleFiles = ReadonlyMap<BundlePart, BundleFile>;

export function readBundleFiles(path: string): BundleFiles {
  const found = listBundle(path);
  const files = new Map<BundlePart, BundleFile>();
  for (const [part, pattern] of Object.entries(PARTS) as [BundlePart, RegExp][]) {
    const file = found.find(({ name }) => pattern.test(name));
    if (file !== undefined) files.set(part, file);
  }
  addSeries(files, found);
  if (files.size > 0) return files;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `bundle ${path}: holds none of irq_before.txt, irq_after.txt, nic_stats_before.txt, ` +
      'nic_stats_after.txt, cpu_usage_during.txt: not a diagnostics bundle',
  );
}

function listBundle(path: string): readonly FlatFile[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  if (isFolder === true) {
    const names = listFlatFolder(path) ?? [];
    const wanted = names.filter((name) => isWanted(name));
    return wanted.map((name) => readFlatFile(path, name)).filter((file) => file !== undefined);
  }
  const reason = isFolder === undefined ? 'no such folder or .tgz' : 'neither a folder nor a .tgz';
  const files = isFolder === undefined ? undefined : readFlatArchive(readFileSync(path));
  if (files !== undefined) return files;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `bundle ${path}: ${reason}`);
}

function isWanted(name: string): boolean {
  return SERIES.test(name) || Object.values(PARTS).some((pattern) => pattern.test(name));
}

/** An end of the run without a snapshot of its own: the series that was sampled has it. */
function addSeries(files: Map<BundlePart, BundleFile>, found: readonly FlatFile[]): void {
  const series = found.find(({ name }) => SERIES.test(name));
  const samples = splitInterruptSeries(series?.text ?? '');
  if (series === undefined || samples.length < 2) return;
  const add = (part: BundlePart, sample: Sample | undefined) => {
    if (sample === undefined || files.has(part)) return;
    files.set(part, { name: series.name, text: sample.text, modifiedMs: sample.timeMs });
  };
  add('interruptsBefore', samples[0]);
  add('interruptsAfter', samples.at(-1));
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
  // Samples of one series share its name.
  const isNamed = startMs !== undefined && endMs !== undefined && before.name !== after.name;
  const writtenMs = growthOf(before.modifiedMs, after.modifiedMs);
  const seconds = (isNamed ? endMs - startMs : (writtenMs ?? 0)) / 1000;
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
