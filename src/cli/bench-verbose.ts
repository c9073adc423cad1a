// What `--verbose` of a benchmark tells: variables of the plugin, cores and interrupts at the
// start; threads and channels at the end.

import type { Config, Environment } from '../base/config.js';
import { formatCpuList } from '../base/cpu-set.js';
import type { BenchResult } from '../bench/bench-result.js';
import type { Receipt } from '../engine/internal.js';
import type { HostFiles } from '../host/read/host-files.js';
import { parseInterrupts } from '../host/read/interrupts.js';
import { readAffinity } from '../host/read/irqs.js';
import { pciPath } from '../host/read/pci.js';

const PREFIX = 'NCCL_GPUDIRECTTCPX_';
const NICS = '/sys/class/net';

export function verboseStart(
  { values }: Config,
  environment: Environment,
  files: HostFiles,
): string[] {
  const variables = Object.entries(environment)
    .filter(([name, value]) => name.startsWith(PREFIX) && value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .sort();
  const interrupts = interruptLines(files);
  return [
    ...(variables.length === 0 ? [`no ${PREFIX} variable is set`] : variables),
    `core ranges of lanes: ${values['lane.bindings'] || 'none'}`,
    ...(interrupts.length === 0 ? ['interrupts of NICs: none can be read here'] : interrupts),
  ];
}

function interruptLines(files: HostFiles): string[] {
  const { rows } = parseInterrupts(files.read('/proc/interrupts') ?? '');
  return files.list(NICS).flatMap((nic) => {
    const address = pciPath(files.realPath(`${NICS}/${nic}`) ?? '').at(-1);
    const own = address === undefined ? [] : rows.filter((row) => row.pciAddress === address);
    return own.flatMap(({ irq }) => {
      if (irq === undefined) return [];
      const { requested, effective } = readAffinity(files, irq);
      const cpus = requested === undefined ? 'unknown' : formatCpuList(requested);
      const now = effective === undefined ? '' : `, now ${formatCpuList(effective)}`;
      return [`irq ${irq} of ${nic}: CPUs ${cpus}${now}`];
    });
  });
}

export function verboseEnd(result: BenchResult): string[] {
  const receipt = result.receipt as Receipt | undefined;
  const lanes = result.laneCpus.map(({ cpu, pinnedTo }, index) => {
    const range = pinnedTo.length === 0 ? 'pinned nowhere' : `of ${formatCpuList(pinnedTo)}`;
    return `lane ${index}: CPU ${cpu}, ${range}`;
  });
  const channels = (receipt?.channels ?? []).map(
    ({ channel, nic }) => `channel ${channel}: ${nic === '' ? 'as routing decides' : nic}`,
  );
  return [...lanes, ...channels];
}
