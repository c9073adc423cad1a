// /proc/interrupts. On a 208-CPU host it is about 700 KB of mostly zeros, so this walks the
// characters once and keeps only what is not zero. Columns are mapped through the header: an
// offline CPU has no column, so the n-th column is not CPU n.

export interface InterruptTable {
  /** CPU of each column. */
  readonly cpus: readonly number[];
  readonly rows: readonly InterruptRow[];
}

export interface InterruptRow {
  /** `128`, or letters such as `LOC` for the architecture's own. */
  readonly label: string;
  /** undefined for the architecture's rows. */
  readonly irq: number | undefined;
  readonly countByCpu: Readonly<Record<number, number>>;
  readonly chip: string;
  readonly hwirq: string;
  /** What drivers registered; for the architecture's rows the explaining text. */
  readonly actions: readonly string[];
  readonly pciAddress: string | undefined;
  readonly vectorIndex: number | undefined;
}

const NEWLINE = 10;
const SPACE = 32;
const ZERO = 48;
const NINE = 57;

export function parseInterrupts(text: string): InterruptTable {
  const headerEnd = endOfLine(text, 0);
  const cpus = [...text.slice(0, headerEnd).matchAll(/CPU(\d+)/g)].map((match) => Number(match[1]));
  const rows: InterruptRow[] = [];
  let start = headerEnd + 1;
  while (start < text.length) {
    const end = endOfLine(text, start);
    const colon = text.indexOf(':', start);
    if (colon > start && colon < end) rows.push(parseRow(text, start, colon, end, cpus));
    start = end + 1;
  }
  return { cpus, rows };
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

function parseRow(
  text: string,
  start: number,
  colon: number,
  end: number,
  cpus: readonly number[],
): InterruptRow {
  const label = text.slice(start, colon).trim();
  const countByCpu: Record<number, number> = {};
  const tailStart = scanCounts(text, colon + 1, end, cpus, countByCpu);
  const tail = text.slice(tailStart, end).trim();
  const irq = /^\d+$/.test(label) ? Number(label) : undefined;
  return { label, irq, countByCpu, ...parseTail(tail, irq === undefined) };
}

/** Fills the counts and returns where the free text begins; rows may have fewer counts. */
function scanCounts(
  text: string,
  from: number,
  end: number,
  cpus: readonly number[],
  countByCpu: Record<number, number>,
): number {
  let at = from;
  for (const cpu of cpus) {
    while (at < end && text.charCodeAt(at) === SPACE) at++;
    const fieldStart = at;
    let value = 0;
    let code = at < end ? text.charCodeAt(at) : NEWLINE;
    while (code >= ZERO && code <= NINE) {
      value = value * 10 + (code - ZERO);
      at++;
      code = at < end ? text.charCodeAt(at) : NEWLINE;
    }
    // Not a number all through: the chip's name has begun.
    if (at === fieldStart || (code !== SPACE && code !== NEWLINE)) return fieldStart;
    if (value > 0) countByCpu[cpu] = value;
  }
  return at;
}

type RowTail = Pick<InterruptRow, 'chip' | 'hwirq' | 'actions' | 'pciAddress' | 'vectorIndex'>;

function parseTail(tail: string, isArchitecture: boolean): RowTail {
  if (isArchitecture) {
    const actions = tail === '' ? [] : [tail];
    return { chip: '', hwirq: '', actions, pciAddress: undefined, vectorIndex: undefined };
  }
  // `chip  hwirq-flow  names`, or on arm64 `chip  hwirq Level  names`.
  const match = /^(\S+)(?:\s+(\d+(?:-\w+)?(?:\s+(?:Edge|Level))?))?\s*(.*)$/.exec(tail);
  const chip = match?.[1] ?? '';
  const hwirq = (match?.[2] ?? '').replace(/\s+/, '-');
  const names = (match?.[3] ?? '').trim();
  const actions = names === '' ? [] : names.split(/,\s*/);
  return { chip, hwirq, actions, ...msiPlace(chip, hwirq) };
}

function msiPlace(chip: string, hwirq: string): Pick<RowTail, 'pciAddress' | 'vectorIndex'> {
  const number = Number.parseInt(hwirq, 10);
  if (Number.isNaN(number)) return { pciAddress: undefined, vectorIndex: undefined };
  const named = /MSIX?-([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(chip);
  if (named?.[1] !== undefined) return { pciAddress: named[1], vectorIndex: number };
  if (/PCI-MSIX?$/.test(chip)) return decodeHwirq(number);
  return { pciAddress: undefined, vectorIndex: undefined };
}

/**
 * Kernels up to about 6.2 print one number: vector index in bits 0-10, device-function and bus in
 * bits 11-26, domain above. It can pass 2^32, so no bit operators.
 */
export function decodeHwirq(hwirq: number): { pciAddress: string; vectorIndex: number } {
  const busDevfn = Math.floor(hwirq / 2 ** 11) % 2 ** 16;
  const domain = Math.floor(hwirq / 2 ** 27);
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  const bus = hex(busDevfn >>> 8, 2);
  const device = hex((busDevfn >>> 3) & 31, 2);
  const address = `${hex(domain, 4)}:${bus}:${device}.${busDevfn & 7}`;
  return { pciAddress: address, vectorIndex: hwirq % 2 ** 11 };
}
