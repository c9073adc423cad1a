// CPU sets as the kernel writes them: lists (`8-21,112-125`) and masks (hex groups of 32 bits,
// most significant first). One unsigned word per group, since a Number loses bits past 53.

/** Parses a CPU list; undefined when it is not one. Empty text is the empty set. */
export function parseCpuList(text: string): number[] | undefined {
  const cpus = new Set<number>();
  for (const item of text.trim().split(',')) {
    if (item.trim() === '') continue;
    const match = /^(\d+)(?:-(\d+))?(?::(\d+)\/(\d+))?$/.exec(item.trim());
    if (match === null) return undefined;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first || last > CPU_NUMBER_MAX) return undefined;
    // `0-31:2/8` takes the first 2 of every 8.
    const used = match[3] === undefined ? 1 : Number(match[3]);
    const stride = match[4] === undefined ? 1 : Number(match[4]);
    if (stride < 1 || used < 1 || used > stride) return undefined;
    for (let cpu = first; cpu <= last; cpu++) if ((cpu - first) % stride < used) cpus.add(cpu);
  }
  return sortCpus(cpus);
}

/** Shortest list form: `8-21,112-125`. */
export function formatCpuList(cpus: Iterable<number>): string {
  const parts: string[] = [];
  let first = -1;
  let last = -1;
  const flush = () => {
    if (first >= 0) parts.push(first === last ? String(first) : `${first}-${last}`);
  };
  for (const cpu of sortCpus(cpus)) {
    if (cpu === last) continue;
    if (cpu !== last + 1 || first < 0) {
      flush();
      first = cpu;
    }
    last = cpu;
  }
  flush();
  return parts.join(',');
}

/** Parses `0000,00000000,003fff00`; undefined when it is not a mask. */
export function parseCpuMask(text: string): number[] | undefined {
  const groups = text.trim().split(',');
  if (groups.some((group) => !/^[0-9a-f]{1,8}$/i.test(group))) return undefined;
  const cpus: number[] = [];
  for (const [index, group] of groups.reverse().entries()) {
    const word = Number.parseInt(group, 16);
    for (let bit = 0; bit < 32; bit++) if (((word >>> bit) & 1) === 1) cpus.push(index * 32 + bit);
  }
  return cpus;
}

/**
 * The mask in the form that the kernel prints and accepts for a host of `cpuCount` possible CPUs:
 * 208 CPUs give seven groups, the first with four digits. CPUs at or above the count are refused.
 */
export function formatCpuMask(cpus: Iterable<number>, cpuCount: number): string | undefined {
  const words = new Uint32Array(Math.max(1, Math.ceil(cpuCount / 32)));
  for (const cpu of cpus) {
    if (cpu < 0 || cpu >= cpuCount) return undefined;
    const index = Math.floor(cpu / 32);
    words[index] = (words[index] ?? 0) | (1 << (cpu % 32));
  }
  const topBits = cpuCount % 32 === 0 ? 32 : cpuCount % 32;
  const groups = [...words].map((word, index) => {
    const bits = index === words.length - 1 ? topBits : 32;
    return word.toString(16).padStart(Math.ceil(bits / 4), '0');
  });
  return groups.reverse().join(',');
}

export function sortCpus(cpus: Iterable<number>): number[] {
  return [...cpus].sort((a, b) => a - b);
}

// Far above any kernel's limit; keeps `0-99999999999` from filling memory.
const CPU_NUMBER_MAX = 65535;
