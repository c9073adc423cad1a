// The settings of one worker of a mesh: its GPU, its NIC, and one initiator at a time. Pure.

import type { Config } from '../../base/config.js';
import { deriveConfig } from '../derived-config.js';

/** `nic` is empty where none is bound. */
export function workerConfig(config: Config, gpu: number, nic: string): Config {
  const bound = nic === '' ? {} : { 'session.nics': nic };
  const own = { 'bench.gpu': gpu, 'session.portIndex': 0, 'bench.initiators': 1, ...bound };
  return deriveConfig(config, own, 'mesh');
}
