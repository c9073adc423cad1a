// `tcpx env`: the environment of a run under a policy, as export lines for a shell.

import { isByHand } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { environmentFor, formatExports, PRESETS } from '../../host/environment/preset.js';
import { VARIABLES } from '../../host/environment/variables.js';
import type { Command, Invocation } from '../command.js';
import { dataNicWish } from '../data-nics.js';
import { ExitCode } from '../exit-code.js';
import { openIrqHost, PLAN_FLAGS, ROOT_FLAG, STATE_FLAG } from '../irq-host.js';
import { formatUnknowns } from '../irq-plan-text.js';
import { printCode, printJson, printNote } from '../print.js';
import { processPlan } from '../process-plan.js';

export const envCommand: Command = {
  name: 'env',
  group: 'settings',
  summary: 'The environment for a policy: eval "$(tcpx env --policy nccl)".',
  settings: ['session.nics', 'session.ctrlInterface', 'flow.channels'],
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    ...PLAN_FLAGS,
    { name: 'preset', kind: 'text', choices: PRESETS, summary: 'Settings to start from.' },
    { name: 'explain', kind: 'boolean', summary: 'A comment with the meaning above each line.' },
  ],
  examples: [
    ['env --policy nccl', 'Export lines; eval "$(tcpx env --policy nccl)" sets them.'],
    ['env --explain', 'With the meaning of each variable above it.'],
  ],
  run(invocation) {
    const host = openIrqHost(invocation);
    const { model } = host;
    const { config } = invocation;
    const plan = processPlan(invocation, host);
    if (plan.choice !== undefined) printNote(`policy ${plan.policy}: ${plan.choice}`);
    if (plan.unknowns.length > 0) printNote(formatUnknowns(plan));
    if (invocation.text('gpu') !== undefined) printNote(plan.notes[0] ?? '');
    const dataNics = plan.allocations.map(({ nic }) => nic);
    const values = environmentFor({
      preset: presetOf(invocation),
      dataNics,
      controlNic: controlNic(invocation, model.nics, dataNics),
      txBindings: plan.txBindings,
      rxBindings: plan.rxBindings,
      channels: isByHand(config, 'flow.channels') ? config.values['flow.channels'] : undefined,
    });
    if (invocation.isJson) {
      const { policy, choice, unknowns } = plan;
      printJson({ schema: 'tcpx.env/1', policy, choice, unknowns, variables: values });
    } else if (invocation.has('explain')) {
      const lines = Object.entries(values).map(
        ([name, value]) =>
          `# ${VARIABLES[name]?.meaning ?? 'no note'}\n${formatExports({ [name]: value })}`,
      );
      printCode(lines.join(''));
    } else printCode(formatExports(values));
    return Promise.resolve(ExitCode.Good);
  },
};

function presetOf(invocation: Invocation) {
  const text = invocation.text('preset') ?? 'reference';
  const preset = PRESETS.find((name) => name === text);
  if (preset !== undefined) return preset;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `--preset: ${text} is not one of ${PRESETS.join(', ')}`,
  );
}

/** Named, else the first real NIC that carries no data, else the first data NIC. */
function controlNic(
  invocation: Invocation,
  nics: readonly { readonly name: string; readonly isVirtual: boolean }[],
  dataNics: readonly string[],
): string {
  const { control } = dataNicWish(invocation.config);
  if (control !== '') return control;
  const spare = nics.find((nic) => !nic.isVirtual && !dataNics.includes(nic.name));
  return spare?.name ?? dataNics[0] ?? '';
}
