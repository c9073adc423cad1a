// `tcpx nic diff BEFORE AFTER`: what moved between two snapshots of one host.

import { diffNics } from '../../host/nic/nic-diff.js';
import { openSnapshotPair, type SnapshotPair } from '../../host/nic/snapshot-pair.js';
import { namedNic } from '../../host/topo/named-nic.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatNicDiff } from '../nic-diff-text.js';
import { printJson, printText } from '../print.js';

export const nicDiffCommand: Command = {
  name: 'nic diff',
  group: 'host',
  summary: 'What moved between two snapshots: bytes, packets, drops, interrupts by queue and core.',
  positionals: 'BEFORE AFTER',
  positionalsMax: 2,
  settings: ['session.nics'],
  flags: [{ name: 'all', kind: 'boolean', summary: 'Also queues and vectors that did not move.' }],
  examples: [
    ['nic diff before.tgz after.tgz', 'What moved between two snapshots of tcpx nic --save.'],
    ['nic diff before.tgz after.tgz --nics eth1 --all', 'One NIC, idle queues too.'],
  ],
  run(invocation) {
    const [before, after] = invocation.positionals;
    if (before === undefined || after === undefined) {
      throw usageError(
        nicDiffCommand,
        'needs BEFORE and AFTER: snapshots of tcpx nic --save, captures, or one bundle twice',
      );
    }
    const pair = openSnapshotPair(before, after);
    const diffs = diffNics(pair.before.model, pair.after.model, chosenNics(invocation, pair));
    const { seconds } = pair;
    if (invocation.isJson) {
      const { hostname } = pair.after.model;
      printJson({ schema: 'tcpx.nic-diff/1', hostname, before, after, seconds, nics: diffs });
    } else if (diffs.length === 0) printText('no NIC is known in either snapshot');
    else printText(formatNicDiff(diffs, { seconds, isLong: invocation.has('all') }));
    return Promise.resolve(ExitCode.Good);
  },
};

/** Those named; else all but virtual ones, of either snapshot. */
function chosenNics(invocation: Invocation, pair: SnapshotPair): readonly string[] {
  const named = invocation.config.values['session.nics'].split(',').filter((name) => name !== '');
  if (named.length > 0) return named.map((name) => namedNic(pair.after.model, name).name);
  const nics = [...pair.before.model.nics, ...pair.after.model.nics];
  return [...new Set(nics.filter((nic) => !nic.isVirtual).map(({ name }) => name))];
}
