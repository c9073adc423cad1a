// Every command, in the order in which help lists them.

import type { Command } from './command.js';
import { benchClientCommand } from './commands/bench-client.js';
import { benchCompareCommand } from './commands/bench-compare.js';
import { benchDiffCommand } from './commands/bench-diff.js';
import { benchLoopbackCommand } from './commands/bench-loopback.js';
import { benchServerCommand } from './commands/bench-server.js';
import { benchShowCommand } from './commands/bench-show.js';
import { benchSweepCommand } from './commands/bench-sweep.js';
import { completionCommand } from './commands/completion.js';
import { configCommand } from './commands/config.js';
import { devicesCommand } from './commands/devices.js';
import { diagAnalyzeCommand } from './commands/diag-analyze.js';
import { diagDiffCommand } from './commands/diag-diff.js';
import { diagLatestCommand } from './commands/diag-latest.js';
import { diagRunCommand } from './commands/diag-run.js';
import { diagStallCommand } from './commands/diag-stall.js';
import { diagStatusCommand } from './commands/diag-status.js';
import { doctorCommand } from './commands/doctor.js';
import { envCommand } from './commands/env.js';
import { envDiffCommand } from './commands/env-diff.js';
import { irqApplyCommand } from './commands/irq-apply.js';
import { irqBaselineCommand } from './commands/irq-baseline.js';
import { irqMaskCommand } from './commands/irq-mask.js';
import { irqPlanCommand } from './commands/irq-plan.js';
import { irqRollbackCommand } from './commands/irq-rollback.js';
import { irqRunCommand } from './commands/irq-run.js';
import { irqShowCommand } from './commands/irq-show.js';
import { irqThreadsCommand } from './commands/irq-threads.js';
import { irqVerifyCommand } from './commands/irq-verify.js';
import { ncclCommand } from './commands/nccl.js';
import { nicCommand } from './commands/nic.js';
import { nicDiffCommand } from './commands/nic-diff.js';
import { pluginCheckCommand } from './commands/plugin-check.js';
import { serveCommand } from './commands/serve.js';
import { topoCommand } from './commands/topo.js';
import { traceDiffCommand, traceSummaryCommand } from './commands/trace.js';
import { watchCommand } from './commands/watch.js';

export const COMMANDS: readonly Command[] = [
  benchLoopbackCommand,
  benchServerCommand,
  benchClientCommand,
  benchSweepCommand,
  benchCompareCommand,
  benchShowCommand,
  benchDiffCommand,
  topoCommand,
  nicCommand,
  nicDiffCommand,
  devicesCommand,
  pluginCheckCommand,
  irqShowCommand,
  irqPlanCommand,
  irqApplyCommand,
  irqVerifyCommand,
  irqRollbackCommand,
  irqBaselineCommand,
  irqRunCommand,
  irqMaskCommand,
  irqThreadsCommand,
  envCommand,
  envDiffCommand,
  doctorCommand,
  watchCommand,
  diagRunCommand,
  diagLatestCommand,
  diagAnalyzeCommand,
  diagDiffCommand,
  diagStallCommand,
  diagStatusCommand,
  ncclCommand,
  serveCommand,
  traceDiffCommand,
  traceSummaryCommand,
  configCommand,
  completionCommand,
];
