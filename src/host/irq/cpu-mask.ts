// CPU masks for people: the kernel's comma form (see ../cpu-set.ts), refused with the reason that
// the kernel would not give. A bare run of more than eight digits, which is what printing one large
// number gives, is refused by the kernel (EOVERFLOW), and so is a 0x prefix (EINVAL).

import { TcpxError } from '../../base/errors.js';
import { formatCpuMask, parseCpuMask } from '../../base/cpu-set.js';
import type { CpuSet } from './cpu-choice.js';

const GROUP_DIGITS = 8;

/** The mask as the kernel prints it for that many possible CPUs: 208 give `ffff` and six groups. */
export function requireFormattedMask(cpus: CpuSet, possibleCount: number): string {
  const mask = formatCpuMask(cpus, possibleCount);
  if (mask !== undefined) return mask;
  const highest = cpus.at(-1) ?? -1;
  throw maskError(`CPU ${highest} does not exist among ${possibleCount} possible CPUs`);
}

/** Reads what the kernel prints or accepts; refuses what it would refuse. */
export function requireCpuMask(text: string): CpuSet {
  for (const word of text.trim().split(',')) checkGroup(word, text);
  return parseCpuMask(text) ?? [];
}

function checkGroup(word: string, text: string): void {
  if (/^0x/i.test(word)) {
    throw maskError(`${JSON.stringify(text)} has a 0x prefix, which the kernel refuses`);
  }
  if (!/^[0-9a-f]+$/i.test(word)) throw maskError(`${JSON.stringify(text)} is not hexadecimal`);
  if (word.length > GROUP_DIGITS) {
    throw maskError(
      `${JSON.stringify(text)} has a group of ${word.length} digits; the kernel takes at most ` +
        `${GROUP_DIGITS} between commas`,
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
