// Several initiators at once on this machine: against one target, or each against its own.

import type { Config } from '../base/config.js';
import { type GroupControl, runGroup } from './bench-group.js';
import type { BenchResult } from './bench-result.js';
import { deriveConfig } from './derived-config.js';
import {
  type LoopbackTarget,
  openLoopbackTarget,
  prepareEmulator,
  withOneTimeSecret,
} from './loopback.js';

export type GroupPattern = 'many-to-one' | 'one-to-many';

const HOST = '127.0.0.1';

export async function runLoopbackGroup(
  given: Config,
  pattern: GroupPattern,
  members: number,
  control: GroupControl,
): Promise<BenchResult[]> {
  const config = withOneTimeSecret(given);
  prepareEmulator(config);
  const targets: LoopbackTarget[] = [];
  try {
    const isOne = pattern === 'many-to-one';
    const clients = { 'bench.initiators': isOne ? members : 1 };
    for (let index = 0; index < (isOne ? 1 : members); index++) {
      targets.push(await openLoopbackTarget(deriveConfig(config, clients, 'pattern')));
    }
    const ports = Array.from({ length: members }, (_, index) => targets[isOne ? 0 : index]?.port);
    return await runGroup(
      config,
      ports.flatMap((port) => (port === undefined ? [] : { host: HOST, port })),
      control,
    );
  } finally {
    await Promise.all(targets.map((target) => target.close()));
  }
}
