// Two snapshots of one host, an earlier and a later one. What cannot be compared is refused with
// what was seen: another host, another boot, the wrong order.

import { readBootId } from '../../base/boot-id.js';
import { TcpxError } from '../../base/errors.js';
import type { HostFiles } from '../read/host-files.js';
import type { HostModel } from '../read/model.js';
import { openHost } from '../read/open-host.js';
import { CAPTURE_PATHS } from '../read/probes.js';
import { readHost } from '../read/read-host.js';

export interface HostSnapshot {
  readonly path: string;
  readonly model: HostModel;
  /** When it was taken; undefined when nothing tells. */
  readonly timeMs: number | undefined;
  readonly bootId: string | undefined;
}

export interface SnapshotPair {
  readonly before: HostSnapshot;
  readonly after: HostSnapshot;
  readonly seconds: number | undefined;
}

/** Captures, trees or flat bundles; the same bundle twice means its two ends. */
export function openSnapshotPair(beforePath: string, afterPath: string): SnapshotPair {
  const isAlone = beforePath === afterPath;
  const before = openSnapshot(beforePath, { phase: 'before', isAlone });
  const after = openSnapshot(afterPath, { phase: 'after', isAlone });
  return pairSnapshots(before, after);
}

function openSnapshot(path: string, moment: Parameters<typeof openHost>[1]): HostSnapshot {
  const source = openHost(path, moment);
  const { files } = source;
  const model = readHost(source);
  const hasCounters =
    model.irqs.some(({ countByCpu }) => countByCpu !== undefined) ||
    model.nics.some((nic) => Object.keys(nic.ethtool?.statistics ?? nic.statistics).length > 0);
  if (hasCounters) return { path, model, timeMs: readTime(files), bootId: readBootId(files) };
  const when = moment?.isAlone === true ? ` from ${moment.phase} the run` : '';
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${path}: no counters${when}: neither a table of interrupts nor NIC statistics`,
  );
}

function readTime(files: HostFiles): number | undefined {
  const time = /"capturedAt":\s*"([^"]+)"/.exec(files.read(CAPTURE_PATHS.manifest) ?? '')?.[1];
  const timeMs = Date.parse(time ?? '');
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

export function pairSnapshots(before: HostSnapshot, after: HostSnapshot): SnapshotPair {
  const problem = pairProblem(before, after);
  if (problem !== undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${before.path} and ${after.path}: ${problem}`);
  }
  const isTimed = before.timeMs !== undefined && after.timeMs !== undefined;
  const seconds = isTimed ? (after.timeMs - before.timeMs) / 1000 : undefined;
  return { before, after, seconds: seconds === 0 ? undefined : seconds };
}

function pairProblem(before: HostSnapshot, after: HostSnapshot): string | undefined {
  const host = [before.model.hostname, after.model.hostname];
  if (differ(host)) return `the first is of ${host[0] ?? '?'}, the second of ${host[1] ?? '?'}`;
  if (differ([before.bootId, after.bootId])) {
    return 'the host was booted in between: its counters began again';
  }
  for (const nic of before.model.nics) {
    const later = after.model.nics.find(({ name }) => name === nic.name);
    const address = [nic.pciAddress, later?.pciAddress];
    if (differ(address)) return `${nic.name} is ${address[0] ?? '?'} and then ${address[1] ?? '?'}`;
  }
  if (before.timeMs !== undefined && after.timeMs !== undefined && before.timeMs > after.timeMs) {
    return 'the second was taken before the first';
  }
  return isReversed(before.model, after.model)
    ? 'every interrupt counter that changed fell: the second is the earlier one'
    : undefined;
}

/** Two values that are both known and not the same. */
function differ([a, b]: readonly (string | undefined)[]): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

function isReversed(before: HostModel, after: HostModel): boolean {
  const later = new Map(after.irqs.map((irq) => [irq.irq, irq]));
  let fell = 0;
  let grew = 0;
  for (const irq of before.irqs) {
    const now = later.get(irq.irq)?.countByCpu;
    const old = irq.countByCpu;
    if (now === undefined || old === undefined) continue;
    for (const cpu of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const change = (now[Number(cpu)] ?? 0) - (old[Number(cpu)] ?? 0);
      if (change > 0) grew++;
      else if (change < 0) fell++;
    }
  }
  return fell > 0 && grew === 0;
}
