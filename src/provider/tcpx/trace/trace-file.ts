// Reading call traces of plugin hosts: lines, what each chunk went through, and where two traces
// differ first. Pure.

export interface TraceLine {
  /** Number of the line as it was written, from 1. */
  readonly index: number;
  readonly timeUs: number;
  readonly call: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Lines of a trace; with the mark in front where they were taken from a log. */
export function parseTrace(text: string): TraceLine[] {
  return text.split('\n').flatMap((line) => {
    const match = /^(?:.*?\btrace )?(\d+) (\d+(?:\.\d+)?) (\w+)((?: \w+=\S*)*)$/.exec(line.trim());
    if (match === null) return [];
    const pairs = (match[4] ?? '').trim().split(' ');
    const fields: Record<string, string> = {};
    for (const pair of pairs.filter((one) => one.includes('='))) {
      const at = pair.indexOf('=');
      fields[pair.slice(0, at)] = pair.slice(at + 1);
    }
    return [{ index: Number(match[1]), timeUs: Number(match[2]), call: match[3] ?? '', fields }];
  });
}

/** What differs between runs and NICs by nature: time, polls, fragments, names, identity. */
const UNLIKE_FIELDS: readonly string[] = ['polls', 'fragments', 'name', 'pciPath', 'guid'];

export interface TraceDifference {
  /** Line number in each trace; 0 where that trace has no such line. */
  readonly indexA: number;
  readonly indexB: number;
  readonly call: string;
  readonly channel: string;
  readonly field: string;
  readonly a: string;
  readonly b: string;
}

/**
 * The first divergence, or undefined. Calls of one kind on one channel are compared in their order;
 * how posts and completions interleave is timing and not compared.
 */
export function diffTraces(
  a: readonly TraceLine[],
  b: readonly TraceLine[],
): TraceDifference | undefined {
  const seriesA = seriesOf(a);
  const seriesB = seriesOf(b);
  const keys = new Set([...seriesA.keys(), ...seriesB.keys()]);
  const found = [...keys].flatMap((key) => {
    const difference = diffSeries(seriesA.get(key) ?? [], seriesB.get(key) ?? []);
    return difference === undefined ? [] : [difference];
  });
  const position = ({ indexA, indexB }: TraceDifference): number =>
    Math.min(indexA || Number.POSITIVE_INFINITY, indexB || Number.POSITIVE_INFINITY);
  return found.sort((one, other) => position(one) - position(other))[0];
}

function seriesOf(lines: readonly TraceLine[]): Map<string, TraceLine[]> {
  const series = new Map<string, TraceLine[]>();
  for (const line of lines) {
    const { channel = '', role = '' } = line.fields;
    const key = `${line.call} ${channel} ${role}`;
    const known = series.get(key);
    if (known === undefined) series.set(key, [line]);
    else known.push(line);
  }
  return series;
}

function diffSeries(a: readonly TraceLine[], b: readonly TraceLine[]): TraceDifference | undefined {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = diffLines(a[index], b[index]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function diffLines(a: TraceLine | undefined, b: TraceLine | undefined) {
  const known = a ?? b;
  if (known === undefined) return undefined;
  const place = {
    indexA: a?.index ?? 0,
    indexB: b?.index ?? 0,
    call: known.call,
    channel: known.fields['channel'] ?? '',
  };
  if (a === undefined || b === undefined) {
    const text = (line: TraceLine | undefined): string => (line === undefined ? 'absent' : 'there');
    return { ...place, field: 'call', a: text(a), b: text(b) };
  }
  const names = new Set([...Object.keys(a.fields), ...Object.keys(b.fields)]);
  for (const field of names) {
    if (UNLIKE_FIELDS.includes(field) || a.fields[field] === b.fields[field]) continue;
    return { ...place, field, a: a.fields[field] ?? '', b: b.fields[field] ?? '' };
  }
  return undefined;
}
