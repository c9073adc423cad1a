// `tcpx irq mask`: CPU list to the kernel's mask and back; arithmetic alone, no host is read.

import { formatCpuList } from '../../base/cpu-set.js';
import { requireCpuList } from '../../host/irq/cpu-choice.js';
import {
  formatHexNumber,
  isMaskText,
  requireCpuMask,
  requireFormattedMask,
} from '../../host/irq/cpu-mask.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { countFlag } from '../irq-host.js';
import { printJson, printText } from '../print.js';

export const irqMaskCommand: Command = {
  name: 'irq mask',
  group: 'interrupts',
  summary: 'CPU list to kernel mask, or a mask back to its list.',
  positionals: 'CPUS|MASK',
  positionalsMax: 1,
  settings: [],
  flags: [
    {
      name: 'cpus',
      kind: 'text',
      value: 'N',
      summary: 'Possible CPUs of the host: the width of the mask; default: as many as are named.',
    },
    { name: 'mask', kind: 'boolean', summary: 'The argument is a mask; 0x… always is.' },
  ],
  examples: [
    ['irq mask 8-21,112-125 --cpus 208', 'The mask as a host of 208 CPUs prints it.'],
    ['irq mask 0x30000', 'The CPUs of a mask.'],
  ],
  run(invocation) {
    const [text] = invocation.positionals;
    if (text === undefined) throw usageError(irqMaskCommand, 'needs a CPU list or a mask');
    const isMask = invocation.has('mask') || isMaskText(text);
    const cpus = isMask ? requireCpuMask(text) : requireCpuList(text);
    const isGiven = invocation.text('cpus') !== undefined;
    const possibleCount = countFlag(invocation, 'cpus', (cpus.at(-1) ?? 0) + 1, 1);
    const document = {
      schema: 'tcpx.irq-mask/1',
      list: formatCpuList(cpus),
      mask: requireFormattedMask(cpus, possibleCount),
      number: formatHexNumber(cpus),
      possibleCount,
      cpuCount: cpus.length,
    };
    if (invocation.isJson) printJson(document);
    else printText(formatMask(document, isGiven));
    return Promise.resolve(ExitCode.Good);
  },
};

interface MaskDocument {
  readonly list: string;
  readonly mask: string;
  readonly number: string;
  readonly possibleCount: number;
  readonly cpuCount: number;
}

function formatMask(document: MaskDocument, isWidthGiven: boolean): string {
  const hint = isWidthGiven ? '' : '; --cpus N gives the width that a host of N CPUs prints';
  return (
    `list    ${document.list}\nmask    ${document.mask}\n` +
    `number  ${document.number} (not writable as it is)\n` +
    `        ${document.cpuCount} of ${document.possibleCount} CPUs${hint}\n`
  );
}
