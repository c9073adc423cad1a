// Collects a bundle around a command: the host before, samples while it runs, the host after, and
// what all of that says. The command comes first: whatever fails here does not stop it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { plainText } from '../../base/foreign-text.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';
import { timeStamp } from '../../host/irq/journal.js';
import { emulatedSource } from '../../host/read/emulated-nics.js';
import type { HostModel, Nic } from '../../host/read/model.js';
import { openStatistics, type StatisticsSource } from '../../host/read/nic-statistics.js';
import { openHost } from '../../host/read/open-host.js';
import { readHost } from '../../host/read/read-host.js';
import { type WatchedNic, WatchSampler } from '../../host/watch/watch-sample.js';
import { RESULT_FILE } from '../view/bundle-files.js';
import { type BeginRecord, BUNDLE_SCHEMA, type EndRecord } from '../view/run-record.js';
import { openRunView, type RunView } from '../view/run-view.js';
import { metricsText, summaryText } from '../view/summary-text.js';
import { makeBundleFolder } from './bundle-folder.js';
import { type BundleFileWriter, BundleWriter, type WrittenFile } from './bundle-writer.js';
import { type ChildEnd, runChild } from './child-command.js';
import { CommandLog } from './command-log.js';
import { emulatedNames, type HostState, readState, writeAfter, writeBefore } from './host-state.js';
import { threadAffinityText } from './process-places.js';
import { Profile } from './profile.js';
import { RunSampler, type SamplerReport } from './run-sampler.js';
import { safeWords } from './safe-variables.js';

export interface CollectWish {
  readonly words: readonly string[];
  readonly environment: EnvironmentValues;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Folder in which the bundle's own is made. */
  readonly parent: string;
  readonly label: string;
  readonly version: string;
  /** NICs that must be in it even where no device is behind them. */
  readonly named: readonly string[];
  readonly emulatedFolder: string;
  readonly intervalMs: number;
  readonly deadlineMs: number | undefined;
  readonly sizeBytesMax: number;
  readonly hasProfile: boolean;
  /** For those who count something else of the command. */
  readonly onCommand?: (pid: number) => void;
  /** The command's whole result, where its log has only a part of it. */
  readonly resultOf?: ((log: string) => string | undefined) | undefined;
}

export interface CollectedRun {
  readonly folder: string;
  readonly end: ChildEnd;
  readonly files: readonly WrittenFile[];
  /** Why the bundle is not whole; undefined when it is. */
  readonly problem: string | undefined;
  readonly view: RunView | undefined;
}

/** Fewer files than this are no bundle. */
export const FILES_MIN = 13;
const COUNTERS = ['rx_devmem*', 'rx_hsplit_pkt', 'reset_cnt', 'rx_drop*', 'tx_drop*'];
const LOG_FILE = 'nccl_test_output.log';
const LOG_SHARE = 0.5;

export async function collectRun(wish: CollectWish): Promise<CollectedRun> {
  const started = new Date();
  const stamp = timeStamp(started).slice(0, 15);
  const writer = new BundleWriter(
    makeBundleFolder(wish.parent, wish.label, stamp),
    wish.sizeBytesMax,
  );
  const source = openHost();
  const model = readHost(source);
  const nics = chosenNics(model, wish.named);
  const { emulatedFolder, named } = wish;
  const before = readState({ source, model, nics, named, emulatedFolder });
  const lines = writer.open('bundle.jsonl');
  lines?.write(`${JSON.stringify(beginRecord(wish, model, started))}\n`);
  const { environment } = wish;
  const heading = headingOf(wish, model);
  const place = `${(model.hostname ?? 'host').replace(/[^\w.-]/g, '_')}_${stamp}`;
  writeBefore(writer, { state: before, source, environment, heading, place });
  const statistics =
    emulatedFolder === '' ? openStatistics(source) : emulatedSource(emulatedFolder);
  try {
    const ran = await runSampled(wish, writer, lines, before, statistics);
    return finish(wish, writer, lines, before, ran);
  } finally {
    statistics.close();
  }
}

function chosenNics(model: HostModel, named: readonly string[]): readonly Nic[] {
  return model.nics.filter((nic) => !nic.isVirtual || named.includes(nic.name));
}

function headingOf({ words, version }: CollectWish, model: HostModel): string {
  const command = safeWords(words).map(plainText).join(' ');
  return (
    `# tcpx ${version}, Node ${process.version}, Linux ${model.kernelRelease ?? '?'}\n` +
    `# command: ${command}\n`
  );
}

function beginRecord(wish: CollectWish, model: HostModel, started: Date): BeginRecord {
  return {
    record: 'begin',
    schema: BUNDLE_SCHEMA,
    version: wish.version,
    node: process.version,
    hostname: model.hostname,
    kernelRelease: model.kernelRelease,
    label: wish.label,
    command: safeWords(wish.words),
    started: started.toISOString(),
    intervalMs: wish.intervalMs,
    isEmulated: wish.emulatedFolder !== '',
  };
}

interface SampledRun {
  readonly end: ChildEnd;
  readonly report: SamplerReport;
}

async function runSampled(
  wish: CollectWish,
  writer: BundleWriter,
  lines: BundleFileWriter | undefined,
  { model, nics }: HostState,
  statistics: StatisticsSource,
): Promise<SampledRun> {
  const { files } = openHost();
  const watched = watchedNics(nics, wish);
  const sampler = new WatchSampler(files, model, statistics, {
    nics: watched,
    counters: COUNTERS,
    hasQueues: true,
    hasIrqs: true,
    hasCpus: true,
  });
  const { intervalMs } = wish;
  const run = new RunSampler({ files, model, nics: watched, sampler, writer, lines, intervalMs });
  const log = new CommandLog(writer.open(LOG_FILE), writer.leftBytes * LOG_SHARE);
  const profile = wish.hasProfile ? new Profile(writer) : undefined;
  const over = new AbortController();
  let sampling: Promise<void> = Promise.resolve();
  const end = await runChild({
    ...wish,
    onOutput: (bytes) => log.add(bytes),
    onStarted: (pid) => {
      sampling = run.run(pid, over.signal);
      profile?.start(pid);
      wish.onCommand?.(pid);
    },
  });
  over.abort();
  await sampling;
  log.close();
  await profile?.finish();
  return { end, report: run.finish() };
}

function watchedNics(
  nics: readonly Nic[],
  { emulatedFolder, named }: CollectWish,
): readonly WatchedNic[] {
  if (emulatedFolder === '') return nics;
  return emulatedNames(emulatedFolder, named).map((name) => ({
    ...{ name, ifindex: undefined, vectors: [], speedMbps: undefined, isEmulated: true },
  }));
}

function finish(
  wish: CollectWish,
  writer: BundleWriter,
  lines: BundleFileWriter | undefined,
  before: HostState,
  { end, report }: SampledRun,
): CollectedRun {
  const source = openHost();
  const model = readHost(source);
  const { emulatedFolder, named } = wish;
  const nics = chosenNics(model, named);
  const after = readState({ source, model, nics, named, emulatedFolder });
  writer.beginFinal();
  writeAfter(writer, source, before, after);
  writer.write('thread_affinity.txt', threadAffinityText(report.threads));
  const result = wish.resultOf?.(readLog(join(writer.folder, LOG_FILE)));
  if (result !== undefined) writer.write(RESULT_FILE, result);
  lines?.write(`${JSON.stringify(endRecord(end, report, writer.problem))}\n`);
  lines?.close();
  const { folder } = writer;
  const view = writer.problem === undefined ? openRunView(folder) : undefined;
  if (view !== undefined) {
    writer.write('nccl_metrics_summary.txt', metricsText(view));
    writer.write('SUMMARY.txt', summaryText(view, writer.files));
  }
  const { files } = writer;
  return { folder, end, files, problem: bundleProblem(writer), view };
}

function readLog(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Its own check: enough files, and none of those that must hold something empty. */
function bundleProblem({ files, problem }: BundleWriter): string | undefined {
  if (problem !== undefined) return problem;
  const whole = files.filter(({ bytes }) => bytes > 0);
  if (whole.length < FILES_MIN) return `${whole.length} files, at least ${FILES_MIN} are wanted`;
  const isSummed = whole.some(({ name }) => name === 'SUMMARY.txt');
  return isSummed ? undefined : 'no SUMMARY.txt: the limit of its size is reached (--size-max)';
}

function endRecord(end: ChildEnd, report: SamplerReport, problem: string | undefined): EndRecord {
  return {
    record: 'end',
    ended: new Date().toISOString(),
    seconds: report.seconds,
    ...end,
    samples: report.count,
    overheadPercent: report.overheadPercent,
    softnet: report.softnet,
    tcp: report.tcp,
    threads: report.threads.map(({ thread, samplesByCpu, allowed }) => ({
      tid: thread.tid,
      name: thread.name,
      seconds: thread.ticks / 100,
      allowed,
      cpus: Object.fromEntries(samplesByCpu),
    })),
    problem,
  };
}
