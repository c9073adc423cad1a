// What `--verbose` of a mesh tells, worker by worker: what its NIC, lanes and channels are at the
// start, and where they were when it has measured for the first time.

import type { Config, Environment } from '../base/config.js';
import type { BenchResult } from '../bench/bench-result.js';
import type { GpuPlace } from '../bench/mesh/gpu-map.js';
import { workerConfig } from '../bench/mesh/worker-config.js';
import type { HostFiles } from '../host/read/host-files.js';
import { verboseEnd, verboseStart } from './bench-verbose.js';
import { printNote } from './print.js';

/** `environment`: of the workers, with what a policy gives them. */
export function meshVerboseStart(
  config: Config,
  places: readonly GpuPlace[],
  environment: Environment,
  files: HostFiles,
): string[] {
  return places.flatMap(({ gpu, nic }) =>
    verboseStart(workerConfig(config, gpu, nic), environment, files).map(
      (line) => `GPU ${gpu}: ${line}`,
    ),
  );
}

/** Tells of each worker once. */
export class MeshPlacements {
  readonly #told = new Set<number>();

  tell(gpu: number, result: BenchResult): void {
    if (this.#told.has(gpu)) return;
    this.#told.add(gpu);
    for (const line of verboseEnd(result)) printNote(`GPU ${gpu}: ${line}`);
  }
}
