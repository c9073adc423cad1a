// `tcpx nic [NAME]`: one NIC in full, or all in a line each; `--save` takes a snapshot for
// `tcpx nic diff`.

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleepMs } from '../../base/clock.js';
import { toTcpxError } from '../../base/errors.js';
import { captureFileName, captureHost, packCapture } from '../../host/capture/capture.js';
import { type EarlierReading, reportNic } from '../../host/nic/nic-report.js';
import { openHost } from '../../host/read/open-host.js';
import { type HostSource, readHost } from '../../host/read/read-host.js';
import { namedNic } from '../../host/topo/named-nic.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { ROOT_FLAG, rootOf, secondsFlag } from '../irq-host.js';
import { formatNic, formatNicList } from '../nic-text.js';
import { printJson, printText } from '../print.js';

const SECONDS = 1;

export const nicCommand: Command = {
  name: 'nic',
  group: 'host',
  summary: 'NICs: link, PCIe, rings, offloads, steering, RSS, counters; one in full by name.',
  positionals: '[NAME]',
  positionalsMax: 1,
  settings: [],
  flags: [
    ROOT_FLAG,
    {
      name: 'seconds',
      kind: 'text',
      value: 'SECONDS',
      summary: `How long to count for rates (${SECONDS}); 0: not.`,
    },
    { name: 'all', kind: 'boolean', summary: 'Also idle queues, all counters, all offloads.' },
    {
      name: 'save',
      kind: 'text',
      value: 'PATH',
      summary: 'Write a snapshot to this .tgz file, or into this folder under host and time.',
    },
  ],
  examples: [
    ['nic', 'Every NIC in a line, with rates over a second.'],
    ['nic eth1 --all', 'One NIC in full.'],
  ],
  async run(invocation) {
    const [name] = invocation.positionals;
    if (invocation.text('save') !== undefined) return saveSnapshot(invocation, name);
    const source = openHost(rootOf(invocation));
    const earlier = await readEarlier(invocation, source);
    const model = readHost(source);
    const nics = name === undefined ? model.nics : [namedNic(model, name)];
    const reports = nics.map((nic) => reportNic(model, nic, earlier));
    const [report] = reports;
    const { hostname } = model;
    if (invocation.isJson) {
      const seconds = earlier?.seconds;
      printJson({ schema: 'tcpx.nic/1', hostname, seconds, nics: reports, gaps: model.gaps });
    } else if (name !== undefined && report !== undefined) {
      printText(formatNic(report, invocation.has('all')));
    } else printText(reports.length === 0 ? 'no NIC is known here' : formatNicList(reports));
    return ExitCode.Good;
  },
};

/** Rates need a second look; files that were captured do not move. */
async function readEarlier(
  invocation: Invocation,
  source: HostSource,
): Promise<EarlierReading | undefined> {
  const seconds = secondsFlag(invocation, 'seconds', SECONDS);
  if (seconds === 0 || !source.files.isLive) return undefined;
  const startMs = performance.now();
  const model = readHost(source);
  await sleepMs(seconds * 1000);
  return { model, seconds: (performance.now() - startMs) / 1000 };
}

function saveSnapshot(invocation: Invocation, name: string | undefined): ExitCode {
  if (name !== undefined) throw usageError(nicCommand, '--save takes all NICs: leave the name out');
  const target = invocation.text('save') ?? '';
  const takenAt = new Date();
  const { model, tree } = captureHost(openHost(rootOf(invocation)), takenAt);
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
  const path = isFolder ? join(target, captureFileName(model.hostname, takenAt)) : target;
  try {
    writeFileSync(path, packCapture(tree, takenAt));
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `write ${path}`);
  }
  const nics = model.nics.map((nic) => nic.name);
  if (invocation.isJson) printJson({ schema: 'tcpx.nic-snapshot/1', path, nics });
  else printText(`snapshot of ${nics.join(', ')} written to ${path}`);
  return ExitCode.Good;
}
