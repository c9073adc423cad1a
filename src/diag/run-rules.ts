// Every rule about a run, and those of the doctor that a bundle of a run can answer.

import { mtuRule } from './rules/nics.js';
import { irqNodeRule } from './rules/placement.js';
import {
  directRule,
  fallbackRule,
  interfacesRule,
  oneNicRule,
  singleSocketRule,
} from './rules/run-channels.js';
import {
  coresRemoteRule,
  coresSharedRule,
  cpuBoundRule,
  irqMovedRule,
  pausesRule,
} from './rules/run-cores.js';
import { devmemStillRule, NO_CMSG_RULES } from './rules/run-devmem.js';
import { asymmetryRule, baselineRule, outcomeRule, unitRule } from './rules/run-figures.js';
import {
  chunkLargeRule,
  chunkUnsetRule,
  deviceErrorRule,
  poolRule,
  stuckRule,
  verifiedRule,
  windowRule,
} from './rules/run-requests.js';
import { bindingsRule, variablesRule } from './rules/run-setup.js';
import { limitedRule, resentRule, softnetRule, windowRttRule } from './rules/run-tcp.js';
import type { RunRule } from './run-facts.js';

/** Of the run itself. */
export const RUN_RULES: readonly RunRule[] = [
  verifiedRule,
  deviceErrorRule,
  chunkUnsetRule,
  chunkLargeRule,
  interfacesRule,
  fallbackRule,
  ...NO_CMSG_RULES,
  devmemStillRule,
  poolRule,
  windowRule,
  stuckRule,
  oneNicRule,
  directRule,
  singleSocketRule,
  coresSharedRule,
  coresRemoteRule,
  irqMovedRule,
  cpuBoundRule,
  pausesRule,
  softnetRule,
  resentRule,
  windowRttRule,
  limitedRule,
  unitRule,
  asymmetryRule,
  baselineRule,
  outcomeRule,
];

/** What the doctor asks of a host and a bundle answers; what counts since boot is not of a run. */
export const HOST_RULES: readonly RunRule[] = [irqNodeRule, bindingsRule, variablesRule, mtuRule];
