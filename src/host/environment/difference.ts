// Two environments compared: each difference with what it means, the ones that change the path
// of the bytes first. Bindings are compared as core sets, since their text may be ordered freely.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { differenceOf } from '../irq/cpu-choice.js';
import type { EnvironmentValues } from './preset.js';
import { VARIABLES, type VariableFacts, valueProblem } from './variables.js';

export interface EnvironmentDifference {
  readonly name: string;
  readonly left: string | undefined;
  readonly right: string | undefined;
  readonly weight: VariableFacts['weight'] | 'unknown';
  readonly meaning: string;
  /** Problems of either value on its own. */
  readonly problems: readonly string[];
}

const ORDER = ['path', 'speed', 'placement', 'unknown', 'report'] as const;
const RELEVANT = /^(NCCL_|UCCL_|NIXL_|NET_COMM_ID|CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|LD_LIB)/;

export function diffEnvironments(
  left: EnvironmentValues,
  right: EnvironmentValues,
): readonly EnvironmentDifference[] {
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(isRelevant);
  return names
    .filter((name) => !isSameValue(name, left[name], right[name]))
    .map((name) => describe(name, left[name], right[name]))
    .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

export function isRelevant(name: string): boolean {
  return RELEVANT.test(name);
}

function rank(difference: EnvironmentDifference): number {
  return ORDER.indexOf(difference.weight);
}

function isSameValue(name: string, left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  return isBinding(name) && canonicalBindings(left) === canonicalBindings(right);
}

function isBinding(name: string): boolean {
  return name.endsWith('_BINDINGS');
}

function canonicalBindings(text: string): string {
  const parts = parseBindings(text).bindings.map(
    (binding) => `${binding.nic}:${formatCpuList(bindingCpus(binding))}`,
  );
  return parts.sort().join(';');
}

function describe(
  name: string,
  left: string | undefined,
  right: string | undefined,
): EnvironmentDifference {
  const known = VARIABLES[name];
  const problems = [left, right]
    .filter((value) => value !== undefined)
    .map((value) => valueProblem(name, value))
    .filter((problem) => problem !== undefined);
  return {
    name,
    left,
    right,
    weight: known?.weight ?? 'unknown',
    meaning: meaningOf(name, left, right, known),
    problems: [...new Set(problems)],
  };
}

function meaningOf(
  name: string,
  left: string | undefined,
  right: string | undefined,
  known: VariableFacts | undefined,
): string {
  if (known === undefined) return 'not in the table of known variables';
  if (known.isDead === true) return `no effect: ${known.meaning}`;
  const notes = [known.meaning];
  if (left === undefined || right === undefined) notes.push(`not set means ${known.unset}`);
  if (known.mustMatch === true) notes.push('both ends of a connection must agree');
  if (isBinding(name) && left !== undefined && right !== undefined) {
    notes.push(...bindingNotes(left, right));
  }
  return notes.join('; ');
}

function bindingNotes(left: string, right: string): string[] {
  const leftByNic = new Map(parseBindings(left).bindings.map((b) => [b.nic, bindingCpus(b)]));
  const rightByNic = new Map(parseBindings(right).bindings.map((b) => [b.nic, bindingCpus(b)]));
  const notes: string[] = [];
  for (const nic of new Set([...leftByNic.keys(), ...rightByNic.keys()])) {
    const gained = differenceOf(rightByNic.get(nic) ?? [], leftByNic.get(nic) ?? []);
    const lost = differenceOf(leftByNic.get(nic) ?? [], rightByNic.get(nic) ?? []);
    if (lost.length > 0) notes.push(`${nic} loses ${formatCpuList(lost)}`);
    if (gained.length > 0) notes.push(`${nic} gains ${formatCpuList(gained)}`);
  }
  return notes;
}
