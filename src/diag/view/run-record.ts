// The first and the last record of a bundle's machine-readable file, as its collector wrote them
// and as a reader believes them: field by field, since a bundle may come from anybody.

export const BUNDLE_SCHEMA = 'tcpx.diag-bundle/1';

export interface BeginRecord {
  readonly record: 'begin';
  readonly schema: typeof BUNDLE_SCHEMA;
  readonly version: string;
  readonly node: string;
  readonly hostname: string | undefined;
  readonly kernelRelease: string | undefined;
  readonly label: string;
  readonly command: readonly string[];
  readonly started: string;
  readonly intervalMs: number;
  readonly isEmulated: boolean;
}

export interface EndRecord {
  readonly record: 'end';
  readonly ended: string;
  readonly seconds: number;
  readonly status: number;
  readonly signal: string | undefined;
  readonly failure: string | undefined;
  readonly isTimedOut: boolean;
  readonly samples: number;
  readonly overheadPercent: number;
  readonly softnet: Readonly<Record<string, number>>;
  readonly tcp: Readonly<Record<string, number>>;
  readonly threads: readonly ThreadRecord[];
  /** Why the collection stopped before the run did. */
  readonly problem: string | undefined;
}

export interface ThreadRecord {
  readonly tid: number;
  readonly name: string;
  readonly seconds: number;
  readonly allowed: string;
  /** Samples in which it was seen on each CPU. */
  readonly cpus: Readonly<Record<string, number>>;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  const isFields = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isFields ? (value as Fields) : {};
}

const TEXT_CHARS_MAX = 4096;
const ENTRIES_MAX = 4096;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX) : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function numbersOf(value: unknown): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [name, one] of Object.entries(fieldsOf(value)).slice(0, ENTRIES_MAX)) {
    const number = numberOf(one);
    if (number !== undefined && name !== '__proto__') numbers[name] = number;
  }
  return numbers;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, ENTRIES_MAX) : [];
}

/** What the first record says; each undefined where it does not. */
export interface RunBegin {
  readonly hostname: string | undefined;
  readonly label: string | undefined;
  readonly version: string | undefined;
  readonly started: string | undefined;
  readonly command: readonly string[];
  readonly isEmulated: boolean;
}

export function readBegin(value: unknown): RunBegin {
  const fields = fieldsOf(value);
  const isOurs = fields['schema'] === BUNDLE_SCHEMA;
  const text = (name: string) => (isOurs ? textOf(fields[name]) : undefined);
  return {
    hostname: text('hostname'),
    label: text('label'),
    version: text('version'),
    started: text('started'),
    command: isOurs ? listOf(fields['command']).flatMap((word) => textOf(word) ?? []) : [],
    isEmulated: isOurs && fields['isEmulated'] === true,
  };
}

export interface RunEnd {
  readonly seconds: number | undefined;
  readonly status: number | undefined;
  readonly signal: string | undefined;
  readonly failure: string | undefined;
  readonly isTimedOut: boolean;
  readonly samples: number | undefined;
  readonly overheadPercent: number | undefined;
  readonly softnet: Readonly<Record<string, number>>;
  readonly tcp: Readonly<Record<string, number>>;
  readonly threads: readonly ThreadRecord[];
  readonly problem: string | undefined;
}

export function readEnd(value: unknown): RunEnd {
  const all = fieldsOf(value);
  const fields = all['record'] === 'end' ? all : {};
  return {
    seconds: numberOf(fields['seconds']),
    status: numberOf(fields['status']),
    signal: textOf(fields['signal']),
    failure: textOf(fields['failure']),
    isTimedOut: fields['isTimedOut'] === true,
    samples: numberOf(fields['samples']),
    overheadPercent: numberOf(fields['overheadPercent']),
    softnet: numbersOf(fields['softnet']),
    tcp: numbersOf(fields['tcp']),
    threads: listOf(fields['threads']).map(threadOf),
    problem: textOf(fields['problem']),
  };
}

function threadOf(value: unknown): ThreadRecord {
  const fields = fieldsOf(value);
  return {
    tid: numberOf(fields['tid']) ?? -1,
    name: textOf(fields['name']) ?? '?',
    seconds: numberOf(fields['seconds']) ?? Number.NaN,
    allowed: textOf(fields['allowed']) ?? 'N/A',
    cpus: numbersOf(fields['cpus']),
  };
}
