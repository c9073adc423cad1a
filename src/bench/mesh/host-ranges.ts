// Lists of hosts as Slurm writes them: `node[01-03,07],gpu-a`. Pure.

import { TcpxError } from '../../base/errors.js';

const HOSTS_MAX = 65_536;

export function expandHostRanges(text: string): string[] {
  const hosts: string[] = [];
  for (const part of splitOutside(text)) {
    hosts.push(...expandOne(part, text));
    if (hosts.length > HOSTS_MAX) throw refused(text, `names more than ${HOSTS_MAX} hosts`);
  }
  return hosts;
}

/** At commas that stand outside of brackets. */
function splitOutside(text: string): string[] {
  return text.match(/(?:[^,[\]]|\[[^\]]*\])+/g) ?? [];
}

function expandOne(part: string, text: string): string[] {
  const match = /^([^[\]]*)\[([^\]]*)\](.*)$/.exec(part);
  if (match === null) return [part];
  const [, head = '', ranges = '', tail = ''] = match;
  const tails = expandOne(tail, text);
  return ranges
    .split(',')
    .flatMap((range) => numbersOf(range, text))
    .flatMap((number) => tails.map((rest) => `${head}${number}${rest}`));
}

function numbersOf(range: string, text: string): string[] {
  const match = /^(\d+)(?:-(\d+))?$/.exec(range);
  if (match === null) throw refused(text, `${JSON.stringify(range)} is no range`);
  const [, first = '', last = first] = match;
  const count = Number(last) - Number(first) + 1;
  if (count < 1 || count > HOSTS_MAX) throw refused(text, `${range} is no range`);
  // As many digits as the first has: 01, 02, … 10.
  return Array.from({ length: count }, (_, index) =>
    String(Number(first) + index).padStart(first.length, '0'),
  );
}

function refused(text: string, rule: string): TcpxError {
  return new TcpxError('ERR_CONFIG_VALUE', `list of hosts ${JSON.stringify(text)}: ${rule}`);
}
