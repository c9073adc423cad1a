// Samples of `tcpx watch` in a file, one JSON line each, and the same read back.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import type { WatchSample } from './watch-sample.js';

const SAMPLE_SCHEMA = 'tcpx.watch-sample/1';

export interface TimedSample {
  readonly sample: WatchSample;
  readonly time: Date;
}

/** Begins the file anew and returns what adds a sample to it. */
export function openRecord(path: string): (timed: TimedSample) => void {
  try {
    writeFileSync(path, '');
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `record ${path}`);
  }
  return ({ sample, time }) => {
    const line = { schema: SAMPLE_SCHEMA, time: time.toISOString(), sample };
    appendFileSync(path, `${JSON.stringify(line)}\n`);
  };
}

export function readRecord(path: string): readonly TimedSample[] {
  const samples = recordLines(path).map((line, index) => parseSample(line, path, index + 1));
  if (samples.length >= 2) return samples;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `replay ${path}: holds fewer than two samples`);
}

function recordLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `replay ${path}`);
  }
}

function parseSample(line: string, path: string, number: number): TimedSample {
  try {
    // checked: by its schema; written by this module
    const { schema, time, sample } = JSON.parse(line) as Record<string, unknown>;
    if (schema === SAMPLE_SCHEMA && typeof time === 'string') {
      return { sample: sample as WatchSample, time: new Date(time) };
    }
  } catch {
    // Told below, like any other line that is none.
  }
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `replay ${path}: line ${number} is no sample of tcpx watch --record`,
  );
}
