// What `--verbose` of a benchmark tells: variables of the plugin, cores, interrupts, threads and
// channels as they are wanted at the start; threads and channels as they were at the end.

import type { Config, Environment } from '../base/config.js';
import { formatCpuList } from '../base/cpu-set.js';
import { splitNics } from '../base/interface-list.js';
import { parseLaneBindings } from '../base/lane-bindings.js';
import type { BenchResult } from '../bench/bench-result.js';
import type { Receipt } from '../engine/internal.js';
import { tunedHere } from '../engine/tuned-config.js';
import type { HostFiles } from '../host/read/host-files.js';
import { parseInterrupts } from '../host/read/interrupts.js';
import { readAffinity } from '../host/read/irqs.js';
import { pciPath } from '../host/read/pci.js';
import { cpusOfLanes } from '../provider/tcp/lane-placement.js';

const PREFIX = 'NCCL_GPUDIRECTTCPX_';
const NICS = '/sys/class/net';

export function verboseStart(config: Config, environment: Environment, files: HostFiles): string[] {
  const variables = Object.entries(environment)
    .filter(([name, value]) => name.startsWith(PREFIX) && value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .sort();
  const nics = splitNics(config.values['session.nics']);
  const interrupts = interruptLines(files, nics);
  return [
    ...(variables.length === 0 ? [`no ${PREFIX} variable is set`] : variables),
    `core ranges of lanes: ${config.values['lane.bindings'] || 'none'}`,
    ...(interrupts.length === 0 ? ['interrupts of NICs: none can be read here'] : interrupts),
    ...placementLines(config, nics),
  ];
}

/** Before anybody has connected: a peer may agree to fewer channels. */
function placementLines(config: Config, nics: readonly string[]): string[] {
  const { values } = tunedHere(config);
  const bindings = parseLaneBindings(values['lane.bindings']);
  const lanes = cpusOfLanes(bindings, nics, values['lane.count']).map((cpus, lane) => {
    return `lane ${lane}: ${cpus.length === 0 ? 'any CPU' : `CPUs ${formatCpuList(cpus)}`}`;
  });
  const channels = Array.from({ length: values['flow.channels'] }, (_, channel) => {
    const nic = nics[channel % Math.max(1, nics.length)];
    return `channel ${channel}: ${nic ?? 'as routing decides'}`;
  });
  return [...lanes, ...channels];
}

/** Of all NICs where none is named. */
function interruptLines(files: HostFiles, named: readonly string[]): string[] {
  const { rows } = parseInterrupts(files.read('/proc/interrupts') ?? '');
  const nics = files.list(NICS).filter((nic) => named.length === 0 || named.includes(nic));
  return nics.flatMap((nic) => {
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
