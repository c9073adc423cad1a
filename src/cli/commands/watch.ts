// `tcpx watch`: counters as rates, twice a second by default, as tables or JSON lines.

import { sleepMs, systemClock } from '../../base/clock.js';
import { processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import {
  emulatedNics,
  emulatedSource,
  STATE_FOLDER_VARIABLE,
} from '../../host/read/emulated-nics.js';
import type { HostModel } from '../../host/read/model.js';
import { openStatistics } from '../../host/read/nic-statistics.js';
import { openHost } from '../../host/read/open-host.js';
import { readHost } from '../../host/read/read-host.js';
import { ratesBetween, type WatchRates } from '../../host/watch/watch-rates.js';
import { type WatchedNic, WatchSampler, type WatchWish } from '../../host/watch/watch-sample.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { namedNics } from '../../host/topo/named-nic.js';
import { outputLost } from '../output-loss.js';
import { printText } from '../print.js';
import { formatWatch } from '../watch-text.js';

const INTERVAL_MS = 500;
const INTERVAL_MS_MIN = 50;
const DEVMEM_COUNTERS = ['rx_devmem_pkts', 'rx_devmem_dropped', 'rx_hsplit_pkt', 'reset_cnt'];

export const watchCommand: Command = {
  name: 'watch',
  summary: 'NIC, queue, interrupt, CPU and TCP counters live, as rates.',
  settings: ['session.nics'],
  flags: [
    {
      name: 'interval-ms',
      kind: 'text',
      summary: `Time between readings; default ${INTERVAL_MS}.`,
    },
    { name: 'count', kind: 'text', summary: 'Stop after so many intervals; default: run on.' },
    {
      name: 'counters',
      kind: 'text',
      summary: 'Driver statistics to show, as rx_devmem*,tx_stop.',
    },
    { name: 'queues', kind: 'boolean', summary: 'Also bytes per queue.' },
    { name: 'irqs', kind: 'boolean', summary: 'Also interrupts of the NICs per core.' },
    { name: 'cpu', kind: 'boolean', summary: 'Also the busiest CPUs, with softirq time.' },
    { name: 'root', kind: 'text', summary: 'Watch the files below this folder instead.' },
    {
      name: 'emulated',
      kind: 'text',
      summary: `NICs of the plugin emulator, in this folder; default $${STATE_FOLDER_VARIABLE}.`,
    },
  ],
  async run(invocation) {
    const intervalMs = wholeFlag(invocation, 'interval-ms', INTERVAL_MS, INTERVAL_MS_MIN);
    const count = wholeFlag(invocation, 'count', Number.POSITIVE_INFINITY, 1);
    const source = openHost(invocation.text('root') ?? '/');
    const model = readHost(source);
    const folder = invocation.text('emulated') ?? processEnvironment()[STATE_FOLDER_VARIABLE] ?? '';
    const statistics = folder === '' ? openStatistics(source) : emulatedSource(folder);
    try {
      const names = invocation.config.values['session.nics'];
      const nics = folder === '' ? chooseWatched(names, model) : chooseEmulated(names, folder);
      const sampler = new WatchSampler(source.files, model, statistics, wishOf(invocation, nics));
      await watchLoop(sampler, intervalMs, count, reporter(invocation.isJson));
    } finally {
      statistics.close();
    }
    return ExitCode.Good;
  },
};

function wholeFlag(invocation: Invocation, name: string, fallback: number, minimum: number) {
  const text = invocation.text(name);
  if (text === undefined) return fallback;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum) return value;
  throw usageError(watchCommand, `--${name} ${text}: a whole number from ${minimum} on is wanted`);
}

function wishOf(invocation: Invocation, nics: readonly WatchedNic[]): WatchWish {
  const counters = invocation.text('counters')?.split(',').filter(Boolean);
  return {
    nics,
    counters: counters ?? DEVMEM_COUNTERS,
    hasQueues: invocation.has('queues'),
    hasIrqs: invocation.has('irqs'),
    hasCpus: invocation.has('cpu'),
  };
}

// Named ones need no counters yet: they appear with the first packet.
function chooseEmulated(names: string, folder: string): WatchedNic[] {
  const wanted = wantedNames(names);
  const found = wanted.length > 0 ? wanted : emulatedNics(folder);
  if (found.length > 0) {
    return found.map((name) => ({ name, ifindex: undefined, vectors: [], isEmulated: true }));
  }
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `emulated NICs: no counters in ${folder}; name those to wait for with --nics`,
  );
}

function wantedNames(names: string): string[] {
  return names.split(',').filter((name) => name !== '' && name !== 'auto');
}

function chooseWatched(names: string, model: HostModel): readonly WatchedNic[] {
  const wanted = wantedNames(names).join(',');
  if (wanted !== '') return namedNics(model, wanted);
  return model.nics.filter((nic) => !nic.isVirtual && nic.operState !== 'down');
}

async function watchLoop(
  sampler: WatchSampler,
  intervalMs: number,
  count: number,
  report: (rates: WatchRates) => void,
): Promise<void> {
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once('SIGINT', stop);
  let before = sampler.read(systemClock.nowUs());
  let dueMs = performance.now();
  for (let done = 0; done < count; done++) {
    // Against a fixed grid, so that reading time does not stretch the interval.
    dueMs = Math.max(dueMs + intervalMs, performance.now());
    await sleepMs(dueMs - performance.now());
    if (interrupt.signal.aborted || outputLost.aborted) break;
    const after = sampler.read(systemClock.nowUs());
    report(ratesBetween(before, after, new Date()));
    before = after;
  }
  process.removeListener('SIGINT', stop);
}

/** JSON lines on stdout; on a terminal each table replaces the one before. */
function reporter(isJson: boolean): (rates: WatchRates) => void {
  if (isJson) {
    return (rates) => {
      process.stdout.write(`${JSON.stringify(rates)}\n`);
    };
  }
  let lineCount = 0;
  return (rates) => {
    const text = formatWatch(rates);
    if (process.stderr.isTTY && lineCount > 0) process.stderr.write(`\u001b[${lineCount}A\u001b[J`);
    printText(text);
    lineCount = text.trimEnd().split('\n').length;
  };
}
