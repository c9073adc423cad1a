// CPU masks for people: the kernel's comma form (see ../cpu-set.ts), and one number with 0x as
// calculators have it. The kernel itself takes neither a 0x prefix (EINVAL) nor more than eight
// digits between commas (EOVERFLOW).

import { formatCpuMask, parseCpuMask } from '../../base/cpu-set.js';
import { TcpxError } from '../../base/errors.js';
import type { CpuSet } from './cpu-choice.js';

const GROUP_DIGITS = 8;

/** The mask as the kernel prints it for that many possible CPUs: 208 give `ffff` and six groups. */
export function requireFormattedMask(cpus: CpuSet, possibleCount: number): string {
  const mask = formatCpuMask(cpus, possibleCount);
  if (mask !== undefined) return mask;
  const highest = cpus.at(-1) ?? -1;
  throw maskError(
    `CPU ${highest} does not exist among ${possibleCount} possible CPUs; --cpus changes that`,
  );
}

/** Reads what the kernel prints, and one number with a 0x prefix as calculators print it. */
export function requireCpuMask(text: string): CpuSet {
  const word = text.trim();
  if (/^0x[0-9a-f]+$/i.test(word)) return numberCpus(BigInt(word));
  for (const group of word.split(',')) checkGroup(group, text);
  return parseCpuMask(text) ?? [];
}

function numberCpus(mask: bigint): CpuSet {
  const cpus: number[] = [];
  for (let cpu = 0, rest = mask; rest > 0n; cpu++, rest >>= 1n) {
    if ((rest & 1n) === 1n) cpus.push(cpu);
  }
  return cpus;
}

/** Whether a word is a mask by its look: a list never has a 0x prefix or an eight-digit group. */
export function isMaskText(text: string): boolean {
  return /^0x/i.test(text.trim()) || /^[0-9a-f]{1,8}(,[0-9a-f]{8})+$/i.test(text.trim());
}

function checkGroup(word: string, text: string): void {
  if (!/^[0-9a-f]+$/i.test(word)) throw maskError(`${JSON.stringify(text)} is not hexadecimal`);
  if (word.length > GROUP_DIGITS) {
    throw maskError(
      `${JSON.stringify(text)} has a group of ${word.length} digits; the kernel takes at most ` +
        `${GROUP_DIGITS} between commas; one number is written with 0x`,
    );
  }
}

/** The same bits as one number, for people who compare with a calculator; not writable as such. */
export function formatHexNumber(cpus: CpuSet): string {
  let mask = 0n;
  for (const cpu of cpus) mask |= 1n << BigInt(cpu);
  return `0x${mask.toString(16)}`;
}

function maskError(reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `CPU mask: ${reason}`);
}
