// `tcpx irq plan`: what would be written, with reasons and warnings. Writes nothing.

import { writeFileSync } from 'node:fs';
import { toTcpxError } from '../../base/errors.js';
import { judgeWriters } from '../../host/irq/competing-writer.js';
import { POLICIES } from '../../host/irq/policy.js';
import { STRATEGIES } from '../../host/irq/strategy.js';
import type { Command } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { openIrqHost, PLAN_FLAGS, planFor, ROOT_FLAG } from '../irq-host.js';
import { formatPlan } from '../irq-plan-text.js';
import { formatStrategies } from '../irq-text.js';
import { printJson, printNote, printText } from '../print.js';

export const irqPlanCommand: Command = {
  name: 'irq plan',
  group: 'interrupts',
  summary: 'Where each interrupt should go, and why; prints what would be written.',
  settings: ['session.nics', 'flow.channels'],
  flags: [
    ROOT_FLAG,
    ...PLAN_FLAGS,
    { name: 'vectors', kind: 'boolean', summary: 'One line per interrupt, as it is written.' },
    {
      name: 'output',
      kind: 'text',
      value: 'FILE',
      summary: 'Save the plan as JSON, for irq apply --plan.',
    },
    { name: 'explain', kind: 'boolean', summary: 'Explain policies and the options A, B, C.' },
  ],
  examples: [
    ['irq plan --policy nccl', 'What would be written, and why.'],
    ['irq plan --policy split --output plan.json', 'Saves the plan for irq apply --plan.'],
  ],
  run(invocation) {
    if (invocation.has('explain')) {
      if (invocation.isJson) printJson({ policies: POLICIES, strategies: STRATEGIES });
      else printText(`${formatPolicies()}\n${formatStrategies()}`);
      return Promise.resolve(ExitCode.Good);
    }
    const { model } = openIrqHost(invocation);
    const plan = planFor(invocation, model);
    const output = invocation.text('output');
    if (output !== undefined) savePlan(output, plan);
    if (invocation.isJson) {
      printJson(plan);
      return Promise.resolve(ExitCode.Good);
    }
    printText(formatPlan(plan, invocation.has('vectors')));
    const driverOf = (nic: string) => model.nics.find(({ name }) => name === nic)?.driver;
    const writers = judgeWriters(plan.lines, model.writers, driverOf);
    if (writers.endangered.length > 0) {
      printNote(`irqbalance would undo this:\n${writers.remedies.map((r) => `  ${r}\n`).join('')}`);
    }
    for (const note of writers.notes) printNote(`note: ${note}`);
    if (output !== undefined)
      printNote(`saved ${output}; apply it: tcpx irq apply --plan ${output}`);
    return Promise.resolve(ExitCode.Good);
  },
};

function formatPolicies(): string {
  return Object.values(POLICIES)
    .map(({ name, summary }) => `policy ${name}: ${summary}\n`)
    .join('');
}

function savePlan(path: string, plan: unknown): void {
  try {
    writeFileSync(path, `${JSON.stringify(plan, null, 2)}\n`);
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `save plan ${path}`);
  }
}
