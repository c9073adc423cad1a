// Quantities as people write them, and back. Bytes are powers of two, bandwidth is 10^9 bytes.

const BYTE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  kb: 1024,
  kib: 1024,
  m: 1024 ** 2,
  mb: 1024 ** 2,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1024 ** 3,
  gib: 1024 ** 3,
  t: 1024 ** 4,
  tib: 1024 ** 4,
};

/** Parses `64MiB`, `512K` or plain bytes; undefined when the text is not a size. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (match === null) return undefined;
  const scale = BYTE_UNITS[(match[2] ?? '').toLowerCase()];
  if (scale === undefined) return undefined;
  const bytes = Number(match[1]) * scale;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unitIndex = 0;
  while (value >= 1024 && unitIndex < units.length - 1) {
    value /= 1024;
    unitIndex++;
  }
  const text = Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
  return `${text} ${units[unitIndex]}`;
}

export function formatGBps(bytesPerSecond: number): string {
  return `${(bytesPerSecond / 1e9).toFixed(2)} GB/s`;
}

export function formatUs(durationUs: number): string {
  if (durationUs < 1000) return `${durationUs.toFixed(1)} µs`;
  if (durationUs < 1e6) return `${(durationUs / 1000).toFixed(2)} ms`;
  return `${(durationUs / 1e6).toFixed(2)} s`;
}

/** `1 lane`, `2 lanes`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
