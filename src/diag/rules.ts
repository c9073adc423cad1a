// Every rule, in the order in which a person should look: the reference first, then how the run is
// set up, then the machine. docs/diagnostics.md is generated from this list.

import type { Rule } from './rule.js';
import { governorRule, idleRule, isolationRule } from './rules/cpus.js';
import { capabilityRule, devmemCounterRule, pluginRule, rxdmRule } from './rules/devmem.js';
import { interfaceListRule } from './rules/interface-list.js';
import { clockRule, gpuDriverRule, iommuRule, kernelRule, limitsRule } from './rules/machine.js';
import { coresRule, pacingRule } from './rules/measured.js';
import { countersRule, linkRule, mtuRule, steeringRule } from './rules/nics.js';
import { appliedRule, clashRule, irqNodeRule, writersRule } from './rules/placement.js';
import { referenceRule } from './rules/reference.js';
import { bindingsRule, peersRule, socketsRule, variablesRule } from './rules/run-setup.js';
import { buffersRule, congestionRule, retransmitRule } from './rules/tcp.js';

export const RULES: readonly Rule[] = [
  referenceRule,
  kernelRule,
  limitsRule,
  linkRule,
  countersRule,
  capabilityRule,
  rxdmRule,
  pluginRule,
  gpuDriverRule,
  devmemCounterRule,
  peersRule,
  interfaceListRule,
  variablesRule,
  bindingsRule,
  socketsRule,
  appliedRule,
  irqNodeRule,
  clashRule,
  writersRule,
  isolationRule,
  steeringRule,
  mtuRule,
  buffersRule,
  congestionRule,
  retransmitRule,
  iommuRule,
  governorRule,
  idleRule,
  clockRule,
  pacingRule,
  coresRule,
];
