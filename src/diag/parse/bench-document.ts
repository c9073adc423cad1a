// The result document of our benchmark inside a log: found by its schema, checked field by field,
// since a log may come from anybody.

export interface BenchFacts {
  readonly provider: string;
  readonly path: string;
  readonly op: string;
  readonly sizeBytes: number;
  readonly chunkBytes: number;
  readonly iterations: number;
  readonly busGBps: number;
  /** Iterations that were wrong; undefined where none was checked. */
  readonly mismatches: number | undefined;
  readonly windowBytes: number | undefined;
  readonly evidence: string;
  readonly memory: string;
  readonly latencyP50Us: number | undefined;
  /** In flight at most: transfers, blocks, chunks; undefined in documents of earlier versions. */
  readonly requestDepth: Readonly<Record<string, number>> | undefined;
  /** TCP_INFO of the data sockets, where the document has it. */
  readonly channels: readonly BenchChannel[];
  readonly retransmits: number | undefined;
  /** What each interface counted in the measured iterations. */
  readonly nics: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Of the collector of memory in lanes, by end, as far as the document has them. */
  readonly pauses: readonly BenchPauses[];
  /** From the first measured iteration to the last. */
  readonly seconds: number | undefined;
}

export interface BenchPauses {
  readonly end: string;
  readonly count: number;
  readonly totalMs: number;
  /** Where it is known. */
  readonly longestMs: number | undefined;
}

export interface BenchChannel {
  readonly nic: string;
  readonly bytesAcked: number;
  readonly busyUs: number;
  readonly receiveLimitedUs: number;
  readonly sendBufferLimitedUs: number;
  readonly rttUs: number;
  readonly rttMinUs: number;
}

const SCHEMA = '"schema": "tcpx.bench/1"';
const DOCUMENT_CHARS_MAX = 4 * 1024 * 1024;

export function findBenchDocument(log: string): BenchFacts | undefined {
  return benchFacts(parseBenchDocument(log));
}

/** The last one in the log, whole and unchecked; undefined where there is none. */
export function parseBenchDocument(log: string): unknown {
  const at = log.lastIndexOf(SCHEMA);
  const start = at < 0 ? -1 : log.lastIndexOf('{', at);
  if (start < 0) return undefined;
  // Printed with an indent: the first brace at the left margin ends it.
  const end = log.indexOf('\n}', at);
  if (end < 0 || end - start > DOCUMENT_CHARS_MAX) return undefined;
  try {
    return JSON.parse(log.slice(start, end + 2)) as unknown; // checked: by those who read it
  } catch {
    return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function mismatchesOf(verified: Readonly<Record<string, unknown>>): number | undefined {
  const checked = numberOf(verified['iterations']);
  return checked === undefined || checked === 0 ? undefined : numberOf(verified['mismatches']);
}

function benchFacts(value: unknown): BenchFacts | undefined {
  const document = fieldsOf(value);
  const kernel = fieldsOf(document['kernel']);
  const config = fieldsOf(document['config']);
  const sizeBytes = numberOf(document['sizeBytes']);
  const chunkBytes = numberOf(document['chunkBytes']);
  const iterations = numberOf(document['iterations']);
  const busGBps = numberOf(fieldsOf(document['bandwidthGBps'])['p50']);
  if (sizeBytes === undefined || iterations === undefined || busGBps === undefined) {
    return undefined;
  }
  const windowChunks = numberOf(config['flow.windowChunks']);
  return {
    provider: textOf(document['provider']),
    path: textOf(document['path']),
    op: textOf(document['op']),
    evidence: textOf(document['evidence']),
    memory: textOf(document['memory']),
    latencyP50Us: numberOf(fieldsOf(document['latencyUs'])['p50']),
    requestDepth: depthOf(document['requestDepth']),
    sizeBytes,
    chunkBytes: chunkBytes ?? sizeBytes,
    iterations,
    busGBps,
    mismatches: mismatchesOf(fieldsOf(document['verified'])),
    windowBytes:
      windowChunks === undefined || chunkBytes === undefined
        ? undefined
        : windowChunks * chunkBytes,
    channels: listOf(kernel['channels']).map(channelOf),
    retransmits: numberOf(fieldsOf(kernel['tcp'])['RetransSegs']),
    nics: nicsOf(kernel['nics']),
    pauses: ['initiator', 'target'].flatMap((end) => {
      return pausesOf(end, fieldsOf(document['lanePauses'])[end]);
    }),
    seconds: secondsOf(document['window']),
  };
}

function depthOf(value: unknown): Readonly<Record<string, number>> | undefined {
  const entries = ['transfers', 'blocks', 'chunks'].map((name) => {
    return [name, numberOf(fieldsOf(value)[name])] as const;
  });
  const known = entries.filter((one): one is [string, number] => one[1] !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function pausesOf(end: string, value: unknown): BenchPauses[] {
  const fields = fieldsOf(value);
  const count = numberOf(fields['count']);
  const totalUs = numberOf(fields['totalUs']);
  const longestUs = numberOf(fields['longestUs']);
  if (count === undefined || totalUs === undefined) return [];
  const longestMs = longestUs === undefined ? undefined : longestUs / 1000;
  return [{ end, count, totalMs: totalUs / 1000, longestMs }];
}

function secondsOf(window: unknown): number | undefined {
  const from = numberOf(fieldsOf(window)['fromMs']);
  const to = numberOf(fieldsOf(window)['toMs']);
  return from === undefined || to === undefined || to <= from ? undefined : (to - from) / 1000;
}

const CHANNELS_MAX = 4096;

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, CHANNELS_MAX) : [];
}

function channelOf(value: unknown): BenchChannel {
  const channel = fieldsOf(value);
  // The document has -1 where the kernel did not count.
  const count = (name: string) => numberOf(channel[name]) ?? -1;
  return {
    nic: textOf(channel['nic']),
    bytesAcked: count('bytesAcked'),
    busyUs: count('busyUs'),
    receiveLimitedUs: count('receiveLimitedUs'),
    sendBufferLimitedUs: count('sendBufferLimitedUs'),
    rttUs: count('rttUs'),
    rttMinUs: count('rttMinUs'),
  };
}

function nicsOf(value: unknown): BenchFacts['nics'] {
  const nics: Record<string, Record<string, number>> = {};
  for (const [name, counters] of Object.entries(fieldsOf(value)).slice(0, CHANNELS_MAX)) {
    if (name === '__proto__') continue;
    const known = Object.entries(fieldsOf(counters)).filter(([, n]) => numberOf(n) !== undefined);
    nics[name] = Object.fromEntries(known) as Record<string, number>;
  }
  return nics;
}
