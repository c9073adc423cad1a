// `tcpx irq baseline FILE...`: records benchmark results as this host's baseline.

import { toTcpxError } from '../../base/errors.js';
import {
  BASELINE_RUNS_WANTED,
  BASELINE_SCHEMA,
  type Baseline,
  baselinePath,
  baselineRuns,
  saveBaseline,
} from '../../host/irq/baseline.js';
import { readLine } from '../../host/read/field-text.js';
import { openHost } from '../../host/read/open-host.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { ROOT_FLAG, rootOf, STATE_FLAG, stateFolderOf } from '../irq-host.js';
import { printJson, printNote, printText } from '../print.js';

const FILES_MAX = 100;

export const irqBaselineCommand: Command = {
  name: 'irq baseline',
  group: 'interrupts',
  summary: 'Record benchmark results (--json) as this host’s state before any change.',
  positionals: 'FILE...',
  positionalsMax: FILES_MAX,
  settings: [],
  flags: [ROOT_FLAG, STATE_FLAG],
  examples: [
    ['irq baseline a.json b.json c.json', 'Records three results of tcpx bench --json.'],
    ['irq baseline run.json --json', 'Prints what was recorded.'],
  ],
  run(invocation) {
    const files = invocation.positionals;
    if (files.length === 0) throw usageError(irqBaselineCommand, 'needs at least one result file');
    const folder = stateFolderOf(invocation);
    const baseline: Baseline = {
      schema: BASELINE_SCHEMA,
      hostname: readLine(openHost(rootOf(invocation)).files, '/proc/sys/kernel/hostname'),
      recordedAt: new Date().toISOString(),
      runs: baselineRuns(files),
    };
    try {
      saveBaseline(folder, baseline);
    } catch (error) {
      throw toTcpxError(error, 'ERR_CAP_PERMISSION', `write ${baselinePath(folder)}`);
    }
    if (files.length < BASELINE_RUNS_WANTED) {
      printNote(`only ${files.length} run(s): ${BASELINE_RUNS_WANTED} tell noise from change`);
    }
    if (invocation.isJson) printJson(baseline);
    else printText(`recorded ${files.length} run(s) in ${baselinePath(folder)}`);
    return Promise.resolve(ExitCode.Good);
  },
};
