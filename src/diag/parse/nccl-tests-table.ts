// The table that nccl-tests print: size, time, algorithm and bus bandwidth, out of place and in
// place. Units there are 10^9 bytes. Pure.

import { logLines } from './log-line.js';

export interface TestResult {
  readonly timeUs: number;
  readonly algorithmGBps: number;
  readonly busGBps: number;
  /** undefined where nobody checked. */
  readonly wrongCount: number | undefined;
}

export interface TestRow {
  readonly sizeBytes: number;
  readonly count: number;
  readonly type: string;
  readonly outOfPlace: TestResult;
  readonly inPlace: TestResult | undefined;
}

export interface NcclTests {
  readonly rows: readonly TestRow[];
  /** As the program says it at its end. */
  readonly averageBusGBps: number | undefined;
  readonly wrongValues: 'ok' | 'failed' | undefined;
  readonly ranks: readonly { readonly rank: number; readonly host: string; readonly gpu: string }[];
}

const ROWS_MAX = 10_000;
/** mpirun may put its mark before each line. */
const MARK = /^\[\d+,\d+\]<std(?:out|err)>:\s?/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]\d+)?$/;
const RANK = /^# +Rank +(\d+) .* on +(\S+) device +(\d+)/;

export function parseNcclTests(text: string): NcclTests {
  const rows: TestRow[] = [];
  const ranks: { rank: number; host: string; gpu: string }[] = [];
  let averageBusGBps: number | undefined;
  let wrongValues: NcclTests['wrongValues'];
  for (const marked of logLines(text)) {
    const line = marked.replace(MARK, '').trim();
    if (!line.startsWith('#')) {
      const row = parseRow(line);
      if (row !== undefined && rows.length < ROWS_MAX) rows.push(row);
      continue;
    }
    const average = /^# *Avg bus bandwidth *: *(\S+)/.exec(line)?.[1];
    if (average !== undefined && NUMBER.test(average)) averageBusGBps = Number(average);
    const bounds = /^# *Out of bounds values *: *\d+ *(OK|FAILED)/.exec(line)?.[1];
    if (bounds !== undefined) wrongValues = bounds === 'OK' ? 'ok' : 'failed';
    const rank = RANK.exec(line);
    if (rank !== null && ranks.length < ROWS_MAX) {
      ranks.push({ rank: Number(rank[1]), host: rank[2] ?? '', gpu: rank[3] ?? '' });
    }
  }
  return { rows, averageBusGBps, wrongValues, ranks };
}

/** size count type [redop] [root] then four columns out of place and four in place. */
function parseRow(line: string): TestRow | undefined {
  const words = line.split(/\s+/);
  const [size = '', count = '', type = ''] = words;
  if (!/^\d+$/.test(size) || !/^\d+$/.test(count) || !/^[a-z]\w*$/.test(type)) return undefined;
  const cells = words.slice(3).filter((word, index) => index > 1 || isFigure(word, words.length));
  const outOfPlace = parseResult(cells.slice(0, 4));
  if (outOfPlace === undefined) return undefined;
  const inPlace = parseResult(cells.slice(4, 8));
  return { sizeBytes: Number(size), count: Number(count), type, outOfPlace, inPlace };
}

// Behind the type stand operation and root, in some versions one of them or none: what is over.
function isFigure(word: string, wordCount: number): boolean {
  return NUMBER.test(word) && wordCount < 13;
}

function parseResult(cells: readonly string[]): TestResult | undefined {
  const [time = '', algorithm = '', bus = '', wrong = ''] = cells;
  if (![time, algorithm, bus].every((cell) => NUMBER.test(cell))) return undefined;
  return {
    timeUs: Number(time),
    algorithmGBps: Number(algorithm),
    busGBps: Number(bus),
    wrongCount: NUMBER.test(wrong) ? Number(wrong) : undefined,
  };
}

/** The best of both columns over all sizes, with the size it was reached at. */
export function bestBus(tests: NcclTests): { sizeBytes: number; busGBps: number } | undefined {
  let best: { sizeBytes: number; busGBps: number } | undefined;
  for (const { sizeBytes, outOfPlace, inPlace } of tests.rows) {
    const busGBps = Math.max(outOfPlace.busGBps, inPlace?.busGBps ?? 0);
    if (best === undefined || busGBps > best.busGBps) best = { sizeBytes, busGBps };
  }
  return best;
}
