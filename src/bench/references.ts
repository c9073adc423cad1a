// Figures of others on the machines that this is for, to hold a run against: files of the folder
// `references` of the package, one each. None was measured here: evidence class `reference`.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../base/assert.js';

const FOLDER = fileURLToPath(new URL('../../../references', import.meta.url));
const SCHEMA = 'tcpx.bench-reference/1';
/** Some tools divide by 2^30 and print GB/s. */
const UNITS: Readonly<Record<string, number>> = { 'GB/s': 1, 'GiB/s': 2 ** 30 / 1e9 };

export interface Reference {
  readonly name: string;
  readonly evidence: 'reference';
  /** 10^9 bytes per second; a single figure has both alike. */
  readonly lowGBps: number;
  readonly highGBps: number;
  readonly what: string;
  readonly source: string;
  readonly isSuspect: boolean;
  readonly remark: string;
}

interface ReferenceFile extends Omit<Reference, 'lowGBps' | 'highGBps'> {
  readonly schema: string;
  /** As they were printed. */
  readonly low: number;
  readonly high: number;
  readonly unit: string;
}

export interface Goal {
  readonly gbps: number;
  readonly what: string;
}

/** In the order of the names of their files. */
export function readReferences(folder: string = FOLDER): Reference[] {
  const files = readdirSync(folder).filter((name) => /^\d+-.*\.json$/.test(name));
  return files.sort(byNumber).map((file) => {
    // checked: the files are ours, and a test reads every field of all
    const read = JSON.parse(readFileSync(join(folder, file), 'utf8')) as ReferenceFile;
    const { schema, low, high, unit, ...rest } = read;
    const scale = UNITS[unit];
    assert(schema === SCHEMA && scale !== undefined, `${file} is a reference with a unit`);
    return { ...rest, lowGBps: low * scale, highGBps: high * scale };
  });
}

function byNumber(a: string, b: string): number {
  return Number.parseInt(a) - Number.parseInt(b);
}

export function readGoal(folder: string = FOLDER): Goal {
  const text = readFileSync(join(folder, 'goal.json'), 'utf8');
  const { gbps, what } = JSON.parse(text) as Goal; // checked: as above
  return { gbps, what };
}

export interface Standing {
  /** Of ours to the reference; 1 within its range. */
  readonly ratio: number;
  /** What is missing; negative where ours is more. */
  readonly gapGBps: number;
}

/** Pure. */
export function standTo(
  rateGBps: number,
  { lowGBps, highGBps }: Pick<Reference, 'lowGBps' | 'highGBps'>,
): Standing {
  const nearest = Math.min(Math.max(rateGBps, lowGBps), highGBps);
  return { ratio: rateGBps / nearest, gapGBps: nearest - rateGBps };
}
