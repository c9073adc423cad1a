// CPU masks in the form of /proc/irq/N/smp_affinity: hexadecimal groups of 32 bits, comma between,
// most significant first. A bare run of more than eight digits, which is what printing one large
// number gives, is refused by the kernel (EOVERFLOW), and so is a 0x prefix (EINVAL).

import { TcpxError } from '../../base/errors.js';
import { type CpuSet, cpuSet } from './cpu-set.js';

const GROUP_BITS = 32;
const DIGIT_BITS = 4;
const GROUP_DIGITS = GROUP_BITS / DIGIT_BITS;

/** The mask as the kernel prints it for that many possible CPUs: 208 give `ffff` and six groups. */
export function formatCpuMask(cpus: CpuSet, possibleCount: number): string {
  const highest = cpus.at(-1) ?? -1;
  if (highest >= possibleCount) {
    throw maskError(`CPU ${highest} does not exist among ${possibleCount} possible CPUs`);
  }
  const groups = new Uint32Array(Math.ceil(possibleCount / GROUP_BITS));
  for (const cpu of cpus) {
    const index = Math.floor(cpu / GROUP_BITS);
    groups[index] = ((groups[index] ?? 0) | (1 << (cpu % GROUP_BITS))) >>> 0;
  }
  const topBits = possibleCount - (groups.length - 1) * GROUP_BITS;
  const words = [...groups].reverse().map((group, index) => {
    const digits = index === 0 ? Math.ceil(topBits / DIGIT_BITS) : GROUP_DIGITS;
    return group.toString(16).padStart(digits, '0');
  });
  return words.join(',');
}

/** Reads what the kernel prints or accepts; refuses what it would refuse. */
export function parseCpuMask(text: string): CpuSet {
  const words = text.trim().split(',');
  const cpus: number[] = [];
  for (const [index, word] of words.entries()) {
    checkGroup(word, text);
    const base = (words.length - 1 - index) * GROUP_BITS;
    const group = Number.parseInt(word, 16);
    for (let bit = 0; bit < GROUP_BITS; bit++) {
      if (((group >>> bit) & 1) === 1) cpus.push(base + bit);
    }
  }
  return cpuSet(cpus);
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
