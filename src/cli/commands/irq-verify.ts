// `tcpx irq verify`: does the host do what the plan says? Masks, counters, variables, inherited
// affinity; `--watch` stays and tells when a binding is lost.

import { join } from 'node:path';
import { sleepMs } from '../../base/clock.js';
import { TcpxError } from '../../base/errors.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';
import { currentPlanPath } from '../../host/irq/journal.js';
import type { IrqPlan } from '../../host/irq/plan.js';
import { checkInherited, checkVariables, type PreflightCheck } from '../../host/irq/preflight.js';
import { loadPlan, rebasePlan } from '../../host/irq/saved-plan.js';
import { allowedCpus, ownAllowedCpus } from '../../host/irq/threads.js';
import { type LineVerdict, verifyLines } from '../../host/irq/verify.js';
import { checkXps } from '../../host/irq/xps-plan.js';
import { readIrqs } from '../../host/read/irqs.js';
import { openHost } from '../../host/read/open-host.js';
import type { Command, Invocation } from '../command.js';
import {
  environmentOfFile,
  environmentOfProcess,
  ownEnvironment,
  readTextFile,
} from '../environment-source.js';
import {
  type IrqHost,
  openIrqHost,
  ROOT_FLAG,
  rootOf,
  STATE_FLAG,
  secondsFlag,
} from '../irq-host.js';
import { hasSnapshots, verifySnapshots } from '../irq-snapshots.js';
import { formatVerdicts } from '../irq-text.js';
import { watchPlan } from '../irq-watch.js';
import { formatTable, printJson, printNote, printText } from '../print.js';
import { OUTCOMES, outcomeOf } from '../verify-outcome.js';

export const irqVerifyCommand: Command = {
  name: 'irq verify',
  group: 'interrupts',
  summary: 'Check masks, counters, variables and inherited affinity against the plan.',
  settings: [],
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    {
      name: 'plan',
      kind: 'text',
      value: 'FILE',
      summary: 'The plan; default: the one applied last.',
    },
    {
      name: 'seconds',
      kind: 'text',
      value: 'SECONDS',
      summary: 'How long to count interrupts (2), or to watch.',
    },
    {
      name: 'pid',
      kind: 'text',
      value: 'PID',
      summary: 'Check the variables and affinity of this process.',
      isAdvanced: true,
    },
    {
      name: 'env',
      kind: 'text',
      value: 'FILE',
      summary: 'Check the variables in this file instead.',
    },
    { name: 'irqs-only', kind: 'boolean', summary: 'Leave variables and affinity out.' },
    { name: 'watch', kind: 'boolean', summary: 'Stay, and tell when bindings are lost.' },
    {
      name: 'before',
      kind: 'text',
      value: 'PATH',
      summary: 'Judge from two snapshots: this one (capture, tree or bundle) and --after.',
      isAdvanced: true,
    },
    {
      name: 'after',
      kind: 'text',
      value: 'PATH',
      summary: 'The later one; the same bundle twice: its two ends.',
      isAdvanced: true,
    },
    {
      name: 'interval',
      kind: 'text',
      value: 'SECONDS',
      summary: 'Seconds between readings with --watch (10).',
    },
  ],
  examples: [
    ['irq verify', 'Counts for two seconds and judges the plan applied last.'],
    ['irq verify --watch --interval 10', 'Stays, and tells when a binding is lost.'],
  ],
  async run(invocation) {
    if (hasSnapshots(invocation)) return verifySnapshots(irqVerifyCommand, invocation);
    const plan = verifiedPlan(invocation);
    if (invocation.has('watch')) return watchPlan(invocation, plan);
    const verdicts = await takeVerdicts(invocation, plan);
    const { nics } = openIrqHost(invocation).model;
    const xps = checkXps(plan.xps ?? [], nics);
    const checks = invocation.has('irqs-only') ? xps : [...xps, ...preflight(invocation, plan)];
    const outcome = outcomeOf(verdicts, checks);
    if (invocation.isJson) {
      const ok = outcome === 'verified';
      printJson({ schema: 'tcpx.irq-verify/1', ok, outcome, verdicts, checks });
    } else {
      printText(formatVerdicts(verdicts));
      const rows = checks.map(({ name, status, text }) => [status, name, text]);
      if (rows.length > 0) printText(formatTable([['', 'check', 'evidence'], ...rows]));
      printText(outcome);
    }
    return OUTCOMES[outcome];
  },
};

function verifiedPlan(invocation: Invocation): IrqPlan {
  const host = openIrqHost(invocation);
  const { model } = host;
  const plan = loadPlan(invocation.text('plan') ?? appliedPlan(host));
  const rebased = rebasePlan(plan, model.nics, model.hostname, 'keep');
  for (const text of rebased.moved) printNote(`note: ${text}`);
  return rebased.plan;
}

function appliedPlan({ stateFolder, bootId }: IrqHost): string {
  const path = currentPlanPath(stateFolder, bootId);
  if (path !== undefined) return path;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `no plan is applied (${stateFolder}); name one with --plan`,
  );
}

async function takeVerdicts(
  invocation: Invocation,
  plan: IrqPlan,
): Promise<readonly LineVerdict[]> {
  const { files } = openHost(rootOf(invocation));
  const earlier = readIrqs(files);
  await sleepMs(secondsFlag(invocation, 'seconds', 2) * 1000);
  return verifyLines(plan.lines, readIrqs(files), earlier);
}

/** Of the process named, else of this one; below a foreign root there is no "this one". */
function preflight(invocation: Invocation, plan: IrqPlan): readonly PreflightCheck[] {
  const pid = invocation.text('pid');
  const isOwn = pid === undefined && rootOf(invocation) === '/';
  const hasVariables = isOwn || pid !== undefined || invocation.text('env') !== undefined;
  const checks = hasVariables ? [...checkVariables(plan, environmentOf(invocation, pid))] : [];
  if (pid !== undefined) {
    const path = join(rootOf(invocation), 'proc', pid, 'status');
    const status = readTextFile(path, `status of process ${pid}`);
    checks.push(checkInherited(plan, allowedCpus(status)));
  } else if (isOwn) checks.push(checkInherited(plan, ownAllowedCpus()));
  return checks;
}

function environmentOf(invocation: Invocation, pid: string | undefined): EnvironmentValues {
  const file = invocation.text('env');
  if (file !== undefined) return environmentOfFile(file);
  return pid === undefined ? ownEnvironment() : environmentOfProcess(rootOf(invocation), pid);
}
