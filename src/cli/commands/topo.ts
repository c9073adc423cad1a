// `tcpx topo`: GPU, NIC, NUMA, core and IRQ as matrix, tree, drawing or JSON; and the capture.

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toTcpxError } from '../../base/errors.js';
import { parseLaneBindings } from '../../base/lane-bindings.js';
import { captureFileName, captureHost, packCapture } from '../../host/capture/capture.js';
import type { HostModel } from '../../host/read/model.js';
import { openHost } from '../../host/read/open-host.js';
import { type HostSource, readHost } from '../../host/read/read-host.js';
import { requireDataNics } from '../../host/topo/data-nics.js';
import { drawTopology } from '../../host/topo/topo-svg.js';
import { describeTopology, type Topology } from '../../host/topo/topology.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { dataNicWish } from '../data-nics.js';
import { ExitCode } from '../exit-code.js';
import { printJson, printNote, printText } from '../print.js';
import { formatTopoMatrix, formatTopoTree } from '../topo-text.js';

export const topoCommand: Command = {
  name: 'topo',
  group: 'host',
  summary: 'GPUs, NICs, NUMA nodes, cores and interrupts: matrix, tree, drawing.',
  settings: ['lane.bindings', 'session.nics'],
  flags: [
    {
      name: 'root',
      kind: 'text',
      value: 'PATH',
      summary: 'Read a captured tree, a capture file or a bundle.',
    },
    { name: 'tree', kind: 'boolean', summary: 'Print the PCI tree instead of the matrix.' },
    { name: 'svg', kind: 'text', value: 'FILE', summary: 'Write a drawing to this file.' },
    {
      name: 'capture',
      kind: 'text',
      value: 'PATH',
      summary: 'Write what was read to this .tgz file, or into this folder under host and time.',
    },
  ],
  examples: [
    ['topo', 'The matrix of distances, and the NIC of each GPU.'],
    ['topo --capture host.tgz', 'Writes all that was read to a file, for topo --root elsewhere.'],
  ],
  run(invocation) {
    const source = openHost(invocation.text('root') ?? '/');
    const model = readAndCapture(source, invocation.text('capture'));
    const bindings = parseLaneBindings(invocation.config.values['lane.bindings']);
    const topology = describeTopology(model, bindings, dataNics(invocation, model));
    const svgPath = invocation.text('svg');
    if (svgPath === '-' || svgPath === '') {
      throw usageError(topoCommand, `--svg ${JSON.stringify(svgPath)}: a file name is wanted`);
    }
    if (svgPath !== undefined) {
      writeOutput(svgPath, drawTopology(topology));
      printNote(`drawing written to ${svgPath}`);
    }
    printTopology(invocation, topology);
    return Promise.resolve(ExitCode.Good);
  },
};

function printTopology(invocation: Invocation, topology: Topology): void {
  if (invocation.isJson) printJson(topology);
  else if (invocation.has('tree')) printText(formatTopoTree(topology));
  else printText(formatTopoMatrix(topology));
}

function readAndCapture(source: HostSource, target: string | undefined): HostModel {
  if (target === undefined) return readHost(source);
  const capturedAt = new Date();
  const { model, tree } = captureHost(source, capturedAt);
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
  const path = isFolder ? join(target, captureFileName(model.hostname, capturedAt)) : target;
  writeOutput(path, packCapture(tree, capturedAt));
  printNote(`capture of ${tree.size} files written to ${path}`);
  return model;
}

function writeOutput(path: string, content: string | Buffer): void {
  try {
    writeFileSync(path, content);
  } catch (error) {
    const isFolder = (error as NodeJS.ErrnoException).code === 'EISDIR';
    throw toTcpxError(error, isFolder ? 'ERR_USAGE_ARGUMENT' : 'ERR_SYS_CALL', `write ${path}`);
  }
}

/** Interfaces among which GPUs choose; all where none are named. */
function dataNics(invocation: Invocation, model: HostModel): string[] {
  const wish = dataNicWish(invocation.config);
  if (wish.named === '' && wish.listed === '' && wish.control === '') return [];
  return requireDataNics(model, wish).map(({ name }) => name);
}
