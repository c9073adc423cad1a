// The text of `lane.bindings`: which cores the lanes of each NIC get. Pure.

import { parseCpuList } from './cpu-set.js';
import { TcpxError } from './errors.js';

export type LaneBindings = ReadonlyMap<string, readonly number[]>;

/** `eth1:8-21,112-125;eth2:60-73` → cores by NIC. Nothing is skipped: what is wrong is an error. */
export function parseLaneBindings(text: string): LaneBindings {
  const bindings = new Map<string, readonly number[]>();
  for (const part of text.split(';').filter((candidate) => candidate.trim() !== '')) {
    const [name = '', list, ...rest] = part.split(':');
    const nic = name.trim();
    const cpus = list === undefined ? [] : (parseCpuList(list) ?? []);
    if (nic === '' || rest.length > 0 || cpus.length === 0 || bindings.has(nic)) {
      throw new TcpxError(
        'ERR_CONFIG_VALUE',
        `lane.bindings: ${JSON.stringify(part)} is not NIC:CORES, as in eth1:8-21,112-125`,
        { facts: { name: 'lane.bindings', value: text } },
      );
    }
    bindings.set(nic, cpus);
  }
  return bindings;
}
