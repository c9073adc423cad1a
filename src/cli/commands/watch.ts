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
import { namedNics } from '../../host/topo/named-nic.js';
import { ratesBetween, type WatchRates } from '../../host/watch/watch-rates.js';
import { openRecord, readRecord, type TimedSample } from '../../host/watch/watch-record.js';
import { type WatchedNic, WatchSampler, type WatchWish } from '../../host/watch/watch-sample.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { outputLost } from '../output-loss.js';
import { formatFitted, printJsonLine, printText, replaceRows } from '../print.js';
import { formatAverages, formatWatch, screenRows } from '../watch-text.js';

const INTERVAL_MS = 500;
const INTERVAL_MS_MIN = 50;
const DEVMEM_COUNTERS = ['rx_devmem_pkts', 'rx_devmem_dropped', 'rx_hsplit_pkt', 'reset_cnt'];

export const watchCommand: Command = {
  name: 'watch',
  group: 'host',
  summary: 'NIC, queue, interrupt, CPU and TCP counters live, as rates.',
  settings: ['session.nics'],
  flags: [
    {
      name: 'interval-ms',
      kind: 'text',
      value: 'MS',
      summary: `Time between readings; default ${INTERVAL_MS}.`,
    },
    {
      name: 'count',
      kind: 'text',
      value: 'N',
      summary: 'Stop after so many intervals; default: run on.',
    },
    {
      name: 'counters',
      kind: 'text',
      value: 'NAME,...',
      summary: 'Driver statistics to show, as rx_devmem*,tx_stop.',
    },
    { name: 'queues', kind: 'boolean', summary: 'Also bytes per queue.' },
    { name: 'irqs', kind: 'boolean', summary: 'Also interrupts of the NICs per core.' },
    { name: 'cpu', kind: 'boolean', summary: 'Also the busiest CPUs, with softirq time.' },
    {
      name: 'record',
      kind: 'text',
      value: 'FILE',
      summary: 'Also keep every reading in this file.',
      isAdvanced: true,
    },
    {
      name: 'replay',
      kind: 'text',
      value: 'FILE',
      summary: 'Show the readings kept in this file instead.',
      isAdvanced: true,
    },
    {
      name: 'root',
      kind: 'text',
      value: 'PATH',
      summary: 'Watch the files below this folder instead.',
    },
    {
      name: 'emulated',
      kind: 'text',
      value: 'DIR',
      summary: `NICs of the plugin emulator, in this folder; default $${STATE_FOLDER_VARIABLE}.`,
      isAdvanced: true,
    },
  ],
  examples: [
    ['watch --nics eth1,eth2 --queues', 'Rates of two NICs twice a second, by queue.'],
    ['watch --count 10 --interval-ms 1000 --json', 'Ten lines of JSON, one a second.'],
  ],
  async run(invocation) {
    const replay = invocation.text('replay');
    if (replay === undefined) await watchHost(invocation);
    else await showAll(recorded(readRecord(replay)), invocation.isJson);
    return ExitCode.Good;
  },
};

async function watchHost(invocation: Invocation): Promise<void> {
  const intervalMs = wholeFlag(invocation, 'interval-ms', INTERVAL_MS, INTERVAL_MS_MIN);
  const count = wholeFlag(invocation, 'count', Number.POSITIVE_INFINITY, 1);
  const source = openHost(invocation.text('root') ?? '/');
  const model = readHost(source);
  const folder = invocation.text('emulated') ?? processEnvironment()[STATE_FOLDER_VARIABLE] ?? '';
  const statistics = folder === '' ? openStatistics(source) : emulatedSource(folder);
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once('SIGINT', stop);
  try {
    const names = invocation.config.values['session.nics'];
    const nics = folder === '' ? chooseWatched(names, model) : chooseEmulated(names, folder);
    const sampler = new WatchSampler(source.files, model, statistics, wishOf(invocation, nics));
    const record = invocation.text('record');
    const keep = record === undefined ? undefined : openRecord(record);
    const signal = AbortSignal.any([interrupt.signal, outputLost]);
    await showAll(readings(sampler, { intervalMs, count, signal, keep }), invocation.isJson);
  } finally {
    process.removeListener('SIGINT', stop);
    statistics.close();
  }
}

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
    return found.map((name) => ({
      name,
      ifindex: undefined,
      vectors: [],
      speedMbps: undefined,
      isEmulated: true,
    }));
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

interface ReadingWish {
  readonly intervalMs: number;
  readonly count: number;
  /** Ends the waiting at once. */
  readonly signal: AbortSignal;
  readonly keep: ((timed: TimedSample) => void) | undefined;
}

/** The first reading, then one per interval until the count or the signal. */
async function* readings(
  sampler: WatchSampler,
  { intervalMs, count, signal, keep }: ReadingWish,
): AsyncGenerator<TimedSample> {
  let dueMs = performance.now();
  for (let done = 0; done <= count; done++) {
    const timed = { sample: sampler.read(systemClock.nowUs()), time: new Date() };
    keep?.(timed);
    yield timed;
    if (done === count) return;
    dueMs = nextReadingMs(dueMs, performance.now(), intervalMs);
    await sleepMs(dueMs - performance.now(), signal);
    if (signal.aborted) return;
  }
}

/**
 * Against a fixed grid, so that reading time does not stretch the interval; a reading that took
 * longer starts the grid anew, since rates over a sliver of an interval say nothing.
 */
export function nextReadingMs(dueMs: number, nowMs: number, intervalMs: number): number {
  const next = dueMs + intervalMs;
  return next - nowMs < intervalMs / 2 ? nowMs + intervalMs : next;
}

async function* recorded(samples: readonly TimedSample[]): AsyncGenerator<TimedSample> {
  for (const timed of samples) yield await Promise.resolve(timed);
}

/** The rates between each two readings, at the end those between the first and the last. */
async function showAll(source: AsyncGenerator<TimedSample>, isJson: boolean): Promise<void> {
  const report = reporter(isJson);
  let first: TimedSample | undefined;
  let last: TimedSample | undefined;
  for await (const timed of source) {
    if (last !== undefined) report(ratesBetween(last.sample, timed.sample, timed.time));
    first ??= timed;
    last = timed;
  }
  if (isJson || first === undefined || last === undefined || first === last) return;
  printText(formatAverages(ratesBetween(first.sample, last.sample, last.time)));
}

/** JSON lines on stdout; on a terminal each table replaces the one before. */
function reporter(isJson: boolean): (rates: WatchRates) => void {
  if (isJson) return printJsonLine;
  let rows = 0;
  return (rates) => {
    const text = formatFitted(formatWatch(rates));
    const { columns } = process.stdout;
    replaceRows(rows);
    printText(text);
    rows = screenRows(text, columns);
  };
}
