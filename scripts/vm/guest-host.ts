// What checks inside the guest share: our command, the kernel's own files, a line for each check.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface Result {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PlanDocument {
  readonly lines: readonly { readonly irq: number; readonly value: string; readonly nic: string }[];
  readonly xps?: readonly { readonly path: string; readonly value: string }[];
}

export const TCPX = '/app/bin/tcpx.js';
let failures = 0;

export function failureCount(): number {
  return failures;
}

export type Affinities = ReadonlyMap<number, string>;

export function affinities(): Affinities {
  const values = new Map<number, string>();
  for (const name of readdirSync('/proc/irq')) {
    if (!/^\d+$/.test(name)) continue;
    values.set(Number(name), readFileSync(`/proc/irq/${name}/smp_affinity_list`, 'utf8').trim());
  }
  return values;
}

export function isSame<K, V extends string | bigint>(
  left: ReadonlyMap<K, V>,
  right: ReadonlyMap<K, V>,
): boolean {
  const text = (map: ReadonlyMap<K, V>) =>
    [...map].map(([key, value]) => `${String(key)}=${value}`);
  return text(left).join() === text(right).join();
}

export function tcpx(words: readonly string[], uid?: number): Result {
  const options = uid === undefined ? {} : { uid, gid: uid };
  return spawnSync(process.execPath, [TCPX, ...words], {
    ...options,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
}

export function json(result: Result): unknown {
  try {
    return JSON.parse(result.stdout) as unknown;
  } catch {
    throw new Error(`no JSON (status ${result.status ?? 'none'}): ${result.stderr}`);
  }
}

export function check(name: string, isGood: boolean, detail = ''): void {
  if (!isGood) failures++;
  say(`${isGood ? 'ok  ' : 'FAIL'} ${name}${isGood || detail === '' ? '' : `: ${detail}`}`);
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
