// What an end of a benchmark has used and taken in so far: CPU time with its plugin processes,
// bytes and device-memory packets of its NICs, and where the plugin's threads run.

import type { Engine, NicIntake, Session } from '../engine/internal.js';
import { describeThreads, tcpxOf } from '../engine/internal.js';
import { cpuWithChildrenUs } from './process-cpu.js';

export interface EndUsage {
  readonly cpuUs: number;
  /** Absent where no plugin is open. */
  readonly intake?: readonly NicIntake[];
  readonly threads?: string;
}

export function usageOf(engine: Engine, session: Session): EndUsage {
  const tcpx = tcpxOf(engine);
  if (tcpx === undefined) return { cpuUs: cpuWithChildrenUs([]) };
  return {
    intake: tcpx.intake.look(),
    threads: describeThreads(session.pluginThreads()),
    // Last: reading the others costs some of it.
    cpuUs: cpuWithChildrenUs(tcpx.rails.pids()),
  };
}
