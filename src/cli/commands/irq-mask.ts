// `tcpx irq mask`: CPU list to the kernel's mask and back, for any number of CPUs.

import { formatCpuList } from '../../base/cpu-set.js';
import { coreMapOf, physicalCores } from '../../host/irq/core-map.js';
import { requireCpuList } from '../../host/irq/cpu-choice.js';
import { formatHexNumber, requireCpuMask, requireFormattedMask } from '../../host/irq/cpu-mask.js';
import { readCpus, readNodes } from '../../host/read/cpus.js';
import { openHost } from '../../host/read/open-host.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { countFlag, ROOT_FLAG, rootOf } from '../irq-host.js';
import { printJson, printText } from '../print.js';

export const irqMaskCommand: Command = {
  name: 'irq mask',
  summary: 'CPU list to kernel mask, or a mask back to its list.',
  positionals: 'CPUS|MASK',
  positionalsMax: 1,
  settings: [],
  flags: [
    ROOT_FLAG,
    { name: 'cpus', kind: 'text', summary: 'Possible CPUs of the target; default: this host’s.' },
    { name: 'mask', kind: 'boolean', summary: 'The argument is a mask.' },
  ],
  run(invocation) {
    const [text] = invocation.positionals;
    if (text === undefined) throw usageError(irqMaskCommand, 'needs a CPU list or a mask');
    const { files } = openHost(rootOf(invocation));
    const nodes = readNodes(files);
    const cores = coreMapOf({ cpus: readCpus(files, nodes), nodes });
    const possibleCount = countFlag(invocation, 'cpus', cores.possibleCount, 1);
    const cpus = invocation.has('mask')
      ? requireCpuMask(text)
      : requireCpuList(text, { possibleCount });
    const isThisHost = possibleCount === cores.possibleCount;
    const document = {
      schema: 'tcpx.irq-mask/1',
      list: formatCpuList(cpus),
      mask: requireFormattedMask(cpus, possibleCount),
      number: formatHexNumber(cpus),
      possibleCount,
      cpuCount: cpus.length,
      physicalCores: isThisHost ? physicalCores(cpus, cores).length : undefined,
    };
    if (invocation.isJson) printJson(document);
    else printText(formatMask(document));
    return Promise.resolve(ExitCode.Good);
  },
};

interface MaskDocument {
  readonly list: string;
  readonly mask: string;
  readonly number: string;
  readonly possibleCount: number;
  readonly cpuCount: number;
  readonly physicalCores: number | undefined;
}

function formatMask(document: MaskDocument): string {
  const { physicalCores: cores } = document;
  const physical = cores === undefined ? '' : `, ${cores} physical cores`;
  return (
    `list    ${document.list}\nmask    ${document.mask}\n` +
    `number  ${document.number} (not writable as it is)\n` +
    `        ${document.cpuCount} of ${document.possibleCount} CPUs${physical}\n`
  );
}
