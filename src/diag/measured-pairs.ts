// Which CPUs `tcpx doctor --measure` compares: one pair for each place that two threads can have
// relative to each other on this host. Pure.

import type { CpuModel } from '../host/read/model.js';
import type { MeasuredPair } from '../measure/machine-limits.js';

export function choosePairs(cpus: CpuModel, allowed: readonly number[]): readonly MeasuredPair[] {
  const own = cpus.cpus.filter(({ id, isOnline }) => isOnline && allowed.includes(id));
  const [first] = own;
  // Where the topology is not told, CPUs are still there to be measured.
  if (first === undefined) return unknownPairs(allowed);
  const pairs: MeasuredPair[] = [{ place: 'one CPU', first: first.id, second: first.id }];
  const add = (place: MeasuredPair['place'], other: { readonly id: number } | undefined) => {
    if (other !== undefined) pairs.push({ place, first: first.id, second: other.id });
  };
  const others = own.filter(({ id }) => id !== first.id);
  const { siblings } = first;
  if (siblings === undefined || first.node === undefined) {
    add('unknown', others[0]);
    return pairs;
  }
  const apart = others.filter(({ id }) => !siblings.includes(id));
  add(
    'threads of one core',
    others.find(({ id }) => siblings.includes(id)),
  );
  add(
    'one node',
    apart.find(({ node }) => node === first.node),
  );
  add(
    'two nodes',
    apart.find(({ node }) => node !== undefined && node !== first.node),
  );
  return pairs;
}

function unknownPairs(allowed: readonly number[]): readonly MeasuredPair[] {
  const [first, second] = allowed;
  if (first === undefined) return [];
  const one: MeasuredPair = { place: 'one CPU', first, second: first };
  return second === undefined ? [one] : [one, { place: 'unknown', first, second }];
}
