// Would somebody undo the plan? irqbalance rewrites every interrupt about each ten seconds unless
// it is told to leave them alone; other writers act at boot or on an event. Pure.

import type { IrqWriter } from '../read/host-settings.js';

/** As much of a plan's line as is needed here. */
export interface BoundLine {
  readonly irq: number;
  readonly nic: string;
}

export interface WriterVerdict {
  /** Lines that irqbalance would overwrite; with unreadable options, those it might. */
  readonly endangered: readonly number[];
  /** How to say it of irqbalance. */
  readonly certainty: 'would' | 'may';
  readonly remedies: readonly string[];
  readonly notes: readonly string[];
}

export function judgeWriters(
  lines: readonly BoundLine[],
  writers: readonly IrqWriter[],
  driverOf: (nic: string) => string | undefined,
): WriterVerdict {
  const balancer = writers.find((writer) => writer.kind === 'irqbalance' && writer.isActive);
  const endangered =
    balancer === undefined
      ? []
      : lines.filter((line) => !isBanned(line, balancer, driverOf)).map((line) => line.irq);
  const drivers = new Set(
    lines.map((line) => driverOf(line.nic)).filter((driver) => driver !== undefined),
  );
  return {
    endangered,
    certainty: balancer !== undefined && balancer.options === undefined ? 'may' : 'would',
    remedies: endangered.length === 0 ? [] : balancerRemedies(endangered, [...drivers]),
    notes: writers
      .filter((writer) => writer.kind !== 'irqbalance' && writer.isActive)
      .map((writer) => `${writer.kind} also writes interrupt affinity (${writer.evidence})`),
  };
}

function isBanned(
  line: BoundLine,
  balancer: IrqWriter,
  driverOf: (nic: string) => string | undefined,
): boolean {
  const words = (balancer.options ?? []).flatMap((option) => option.split(/[\s="']+/));
  return words.some((word, index) => {
    const value = words[index + 1];
    if (/^(--oneshot|-o|IRQBALANCE_ONESHOT)$/.test(word)) return true;
    if (/^(--banirq|-i)$/.test(word)) return value === String(line.irq);
    if (/^(--banmod|-m)$/.test(word)) return value === driverOf(line.nic);
    return false;
  });
}

function balancerRemedies(irqs: readonly number[], drivers: readonly string[]): string[] {
  const byModule = drivers.map((driver) => `--banmod=${driver}`).join(' ');
  const byNumber = irqs.map((irq) => `--banirq=${irq}`).join(' ');
  return [
    `start irqbalance with ${byModule || byNumber} (IRQBALANCE_ARGS in /etc/default/irqbalance), ` +
      'then: systemctl restart irqbalance',
    'or stop it while the plan holds: systemctl stop irqbalance',
  ];
}
