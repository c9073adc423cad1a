// Settings with what this host's CPUs, NICs and kernel make of those that nobody has set.

import { availableParallelism } from 'node:os';
import { type Config, withAuto } from '../base/config.js';
import { splitNics } from '../base/interface-list.js';
import { CONGESTION_AUTO, congestionHere, kernelCongestion } from '../os/congestion.js';
import { tune } from './tuning.js';

export function tunedHere(config: Config): Config {
  const nics = splitNics(config.values['session.nics']).length;
  const tuned = tune(config, { cpus: availableParallelism(), nics });
  if (config.values['socket.congestion'] !== CONGESTION_AUTO) return tuned;
  const { reason } = congestionHere(CONGESTION_AUTO);
  return withAuto(tuned, 'socket.congestion', CONGESTION_AUTO, reason);
}

/** The congestion control that a near peer gets, by its name in the kernel. */
export function nearCongestion(setting: string): string {
  return congestionHere(setting).begin || kernelCongestion();
}
