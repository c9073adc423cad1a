// `tcpx bench show [RUN]`: what earlier benchmarks left.

import { at } from '../../base/assert.js';
import type { BenchResult } from '../../bench/bench-result.js';
import { formatMesh } from '../bench-mesh-text.js';
import { formatBenchResult } from '../bench-report.js';
import { openStore } from '../bench-runs.js';
import {
  formatReferences,
  formatStanding,
  formatStore,
  meshPlaceOf,
  placeOf,
} from '../bench-show-text.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { printJson, printText } from '../print.js';

export const benchShowCommand: Command = {
  name: 'bench show',
  group: 'measure',
  summary: 'Results that were kept: a list, or one with its standing to figures of others.',
  positionals: '[RUN]',
  positionalsMax: 1,
  settings: ['bench.storeDir'],
  flags: [
    {
      name: 'references',
      kind: 'boolean',
      summary: 'List the figures of others, where they come from and which are suspect.',
    },
  ],
  examples: [
    ['bench show', 'What is kept, newest first, and the baselines.'],
    ['bench show latest', 'The newest in full; also latest~1, an id, a baseline or a file.'],
    ['bench show --references', 'Figures of others that results are held against.'],
  ],
  async run(invocation) {
    const [name] = invocation.positionals;
    const { readGoal, readReferences, standTo } = await import('../../bench/references.js');
    const references = readReferences();
    const goal = readGoal();
    if (invocation.has('references')) {
      if (name !== undefined) throw usageError(benchShowCommand, '--references takes no RUN');
      const schema = 'tcpx.bench-references/1';
      if (invocation.isJson) printJson({ schema, goalGBps: goal.gbps, references });
      else printText(formatReferences(references));
      return ExitCode.Good;
    }
    const standingsOf = (rate: number, { evidence, memory }: BenchResult) => ({
      references: references.map((one) => ({ ...one, ...standTo(rate, one) })),
      goal: { ...goal, isReached: rate >= goal.gbps, evidence, memory },
    });
    const store = await openStore(invocation);
    if (name === undefined) {
      const [runs, baselines] = [store.list(), store.baselines()];
      const { folder } = store;
      if (invocation.isJson) printJson({ schema: 'tcpx.bench-store/1', folder, runs, baselines });
      else printText(formatStore(folder, runs, baselines));
      return ExitCode.Good;
    }
    const mesh = store.findMesh(name);
    if (mesh !== undefined) {
      const standings = standingsOf(mesh.total.meanGBps, at(mesh.runs, 0));
      if (invocation.isJson) printJson({ ...mesh, ...standings });
      else printText(formatMesh(mesh) + formatStanding(mesh.op, meshPlaceOf(mesh), standings));
      return ExitCode.Good;
    }
    const shown = store.find(name).map((run) => {
      return { run, ...standingsOf(run.bandwidthGBps.p50, run) };
    });
    if (invocation.isJson) {
      printJson({ schema: 'tcpx.bench-show/1', shown });
      return ExitCode.Good;
    }
    for (const { run, ...standings } of shown) {
      printText(formatBenchResult(run) + formatStanding(run.op, placeOf(run), standings));
    }
    return ExitCode.Good;
  },
};
