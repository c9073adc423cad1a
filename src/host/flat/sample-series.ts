// Samples that somebody took while a run went on, one below the other in one file, each under a
// line with its time where the collector wrote one. Pure.

export interface Sample {
  /** Milliseconds since 1970; undefined where no line tells. */
  readonly timeMs: number | undefined;
  readonly text: string;
}

/** A table of interrupts begins with the names of its columns. */
const TABLE_HEAD = /^\s+CPU\d+(\s+CPU\d+)*\s*$/;
/** NIC statistics begin with the first NIC; where it comes again, the next sample begins. */
const SECTION_HEAD = /^=+ *(\S+?) *=+$/;

export function splitInterruptSeries(text: string): readonly Sample[] {
  return splitSamples(text, (line) => TABLE_HEAD.test(line));
}

export function splitNicSeries(text: string): readonly Sample[] {
  let first: string | undefined;
  return splitSamples(text, (line) => {
    const name = sectionName(line);
    if (name === undefined) return false;
    first ??= name;
    return name === first;
  });
}

/** The NIC that a `=== eth1 ===` line names; a line of that form may also hold a time. */
export function sectionName(line: string): string | undefined {
  const name = SECTION_HEAD.exec(line.trim())?.[1];
  return name === undefined || parseTime(line) !== undefined ? undefined : name;
}

function splitSamples(text: string, isHead: (line: string) => boolean): readonly Sample[] {
  const samples: { timeMs: number | undefined; lines: string[] }[] = [];
  let timeMs: number | undefined;
  for (const line of text.split('\n')) {
    const stamp = parseTime(line);
    if (stamp !== undefined) {
      timeMs = stamp;
      continue;
    }
    if (isHead(line)) {
      samples.push({ timeMs, lines: [] });
      timeMs = undefined;
    }
    samples.at(-1)?.lines.push(line);
  }
  return samples.map(({ timeMs: at, lines }) => ({ timeMs: at, text: `${lines.join('\n')}\n` }));
}

const ISO_TIME = /(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(Z|[+-]\d{2}:?\d{2})?/;
const EPOCH_TIME = /^\D{0,20}\b(1[5-9]\d{8}|2\d{9})(\.\d+)?\b\D{0,10}$/;
/** As date(1) prints it: Tue Oct  7 12:00:00 UTC 2025. */
const DATE_TIME = /\b([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}:\d{2}:\d{2})(?: (UTC|GMT))? (\d{4})\b/;

/** The time on a line that holds one and nothing else but marks; without a zone it is UTC. */
export function parseTime(line: string): number | undefined {
  if (line.length > 100 || /^\s*\w+:\s/.test(line)) return undefined;
  const iso = ISO_TIME.exec(line);
  if (iso !== null) return known(Date.parse(`${iso[1] ?? ''}T${iso[2] ?? ''}${iso[3] ?? 'Z'}`));
  const date = DATE_TIME.exec(line);
  if (date !== null) {
    const [, month = '', day = '', clock = '', , year = ''] = date;
    return known(Date.parse(`${day} ${month} ${year} ${clock} UTC`));
  }
  const epoch = EPOCH_TIME.exec(line.trim());
  return epoch === null ? undefined : known(Number(`${epoch[1] ?? ''}${epoch[2] ?? ''}`) * 1000);
}

function known(timeMs: number): number | undefined {
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
