// Which send queue a plan's threads take, as text: a line per NIC, or per queue on wish.

import { formatCpuList } from '../base/cpu-set.js';
import { isSameSet } from '../host/irq/cpu-choice.js';
import type { XpsLine } from '../host/irq/xps-plan.js';
import { formatTable } from './print.js';

export function formatXps(lines: readonly XpsLine[], hasVectors: boolean): string {
  if (lines.length === 0) return '';
  if (hasVectors) {
    const rows = lines.map(({ nic, queue, before, value, path, reason }) => [
      nic,
      `TX queue ${queue}`,
      before === undefined ? 'N/A' : formatCpuList(before) || '-',
      `echo ${value} > ${path}`,
      reason,
    ]);
    return formatTable([['NIC', 'send queue', 'XPS now', 'would write', 'reason'], ...rows]);
  }
  const nics = [...new Set(lines.map(({ nic }) => nic))];
  return nics
    .map((nic) => {
      const own = lines.filter((line) => line.nic === nic);
      const cpus = own.flatMap((line) => line.cpus).sort((a, b) => a - b);
      const changed = own.filter(
        (line) => line.before === undefined || !isSameSet(line.before, line.cpus),
      );
      return (
        `${nic}: sends of ${formatCpuList(cpus)} are dealt to ${own.length} send queues (XPS), ` +
        `${changed.length} of them change\n`
      );
    })
    .join('');
}
