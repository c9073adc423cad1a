// A run as its bundle shows it, joined: which CPUs handled which NIC's interrupts, which threads
// ran where, which queues carried the bytes, what the logs say. Made from the files alone.

import { at } from '../../base/assert.js';
import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { parseCpuList } from '../../base/cpu-set.js';
import { type EnvironmentValues, parseEnvironmentText } from '../../host/environment/preset.js';
import { FLAT_ENVIRONMENT_PATH } from '../../host/flat/flat-tree.js';
import { openFlatHost, readFlatParts } from '../../host/flat/open-flat.js';
import { sectionName } from '../../host/flat/sample-series.js';
import { isSameSet } from '../../host/irq/cpu-choice.js';
import { type Observation, readBundle } from '../../host/irq/observation.js';
import { diffNics, type NicDiff } from '../../host/nic/nic-diff.js';
import type { HostModel } from '../../host/read/model.js';
import { type HostSource, readHost } from '../../host/read/read-host.js';
import { type BenchFacts, findBenchDocument } from '../parse/bench-document.js';
import { type NcclLog, parseNcclLog } from '../parse/nccl-log.js';
import { type NcclTests, parseNcclTests } from '../parse/nccl-tests-table.js';
import { type PerfLog, parsePerfLog } from '../parse/perf-log.js';
import { type NamedText, type OpenedBundle, openBundle } from './bundle-files.js';
import { type RunBegin, type RunEnd, readBegin, readEnd } from './run-record.js';

export interface RunView {
  readonly path: string;
  readonly hostname: string | undefined;
  readonly begin: RunBegin;
  readonly end: RunEnd;
  /** As the bundle shows the host at the end, or at the one moment that it has. */
  readonly source: HostSource;
  readonly host: HostModel;
  readonly environment: EnvironmentValues;
  readonly isEnvironmentKnown: boolean;
  readonly nics: readonly NicRun[];
  /** undefined where the bundle has not both tables of interrupts. */
  readonly interrupts: Observation['interrupts'] | undefined;
  readonly resetIrqs: readonly number[];
  readonly movedIrqs: readonly MovedIrq[];
  readonly seconds: number | undefined;
  readonly busyPercent: ReadonlyMap<number, number>;
  readonly nccl: NcclLog;
  readonly tests: NcclTests;
  readonly perf: PerfLog;
  readonly bench: BenchFacts | undefined;
  /** What the command said last; empty where it said nothing. */
  readonly lastLine: string;
  /** The NIC that is nearest to each GPU, as the collector saw it. */
  readonly nicOfGpu: ReadonlyMap<number, string>;
  readonly traces: readonly NamedText[];
  readonly fileCount: number;
  readonly missing: readonly string[];
}

export interface NicRun extends NicDiff {
  readonly node: number | undefined;
  /** Interrupts of its vectors by CPU, most first. */
  readonly irqCpus: readonly { readonly cpu: number; readonly count: number }[];
}

/** An interrupt whose affinity is not what it was. */
export interface MovedIrq {
  readonly irq: number;
  readonly nic: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

export function openRunView(path: string): RunView {
  const bundle = openBundle(path);
  const parts = readFlatParts(path) ?? [];
  const source = openFlatHost(parts, path, { phase: 'after', isAlone: false });
  const host = readHost(source);
  const observation = observe(path);
  const pair = (['before', 'after'] as const).map((phase) =>
    readHost(openFlatHost(parts, path, { phase, isAlone: true })),
  );
  const begin = readBegin(bundle.records.begin);
  const end = readEnd(bundle.records.end);
  const environmentText = source.files.read(FLAT_ENVIRONMENT_PATH);
  return {
    path,
    hostname: host.hostname ?? begin.hostname ?? observation?.hostname,
    begin,
    end,
    source,
    host,
    environment: parseEnvironmentText(environmentText ?? ''),
    isEnvironmentKnown: environmentText !== undefined,
    nics: nicRuns(at(pair, 0), at(pair, 1), host),
    interrupts: isPaired(observation) ? observation?.interrupts : undefined,
    resetIrqs: observation?.resetIrqs ?? [],
    movedIrqs: movedIrqs(at(pair, 0), at(pair, 1)),
    seconds: end.seconds ?? observation?.seconds,
    busyPercent: observation?.busyPercent ?? new Map(),
    nccl: parseNcclLog(bundle.log),
    tests: parseNcclTests(bundle.log),
    perf: parsePerfLog(bundle.log),
    bench: benchOf(bundle),
    lastLine: lastLineOf(bundle.log),
    nicOfGpu: parseNearest(bundle.numaTopology),
    traces: bundle.traces,
    fileCount: bundle.names.length,
    missing: observation?.missing ?? ['everything that a host tells'],
  };
}

/** A benchmark that printed a table has its document beside the log. */
function benchOf({ log, result }: OpenedBundle): BenchFacts | undefined {
  return findBenchDocument(log) ?? findBenchDocument(result);
}

function lastLineOf(log: string): string {
  const text = log.trimEnd();
  return text.slice(text.lastIndexOf('\n') + 1).slice(0, LINE_CHARS_MAX);
}

const LINE_CHARS_MAX = 200;

/** undefined where the bundle holds logs alone. */
function observe(path: string): Observation | undefined {
  try {
    return readBundle(path);
  } catch {
    return undefined;
  }
}

/** `GPUs nearest: 0-1` in the section of a NIC. */
function parseNearest(text: string): ReadonlyMap<number, string> {
  const nicOfGpu = new Map<number, string>();
  let nic = '';
  for (const line of text.split('\n').slice(0, NEAREST_LINES_MAX)) {
    nic = sectionName(line) ?? nic;
    const list = /^\s*GPUs nearest: ([\d,-]+)$/.exec(line)?.[1];
    for (const gpu of parseCpuList(list ?? '') ?? []) nicOfGpu.set(gpu, nic);
  }
  return nicOfGpu;
}

const NEAREST_LINES_MAX = 10_000;

function isPaired(observation: Observation | undefined): boolean {
  return observation !== undefined && !observation.missing.some((part) => /interrupts/.test(part));
}

function nicRuns(before: HostModel, after: HostModel, host: HostModel): readonly NicRun[] {
  const names = host.nics.map(({ name }) => name);
  return diffNics(before, after, names).map((diff) => {
    const counts = new Map<number, number>();
    for (const { interrupts } of diff.parts) {
      for (const [cpu, count] of Object.entries(interrupts ?? {})) {
        counts.set(Number(cpu), (counts.get(Number(cpu)) ?? 0) + count);
      }
    }
    const irqCpus = [...counts].map(([cpu, count]) => ({ cpu, count }));
    irqCpus.sort((a, b) => b.count - a.count);
    const node = host.nics.find(({ name }) => name === diff.nic)?.node;
    return { ...diff, node, irqCpus };
  });
}

function movedIrqs(before: HostModel, after: HostModel): readonly MovedIrq[] {
  const early = new Map(before.irqs.map(({ irq, requested }) => [irq, requested]));
  const moved: MovedIrq[] = [];
  for (const nic of after.nics) {
    for (const { irq } of nic.vectors) {
      const old = early.get(irq);
      const now = after.irqs.find((candidate) => candidate.irq === irq)?.requested;
      if (old === undefined || now === undefined || isSameSet(old, now)) continue;
      moved.push({ irq, nic: nic.name, before: old, after: now });
    }
  }
  return moved;
}

/** What a CPU was for: interrupts and threads of NICs by the bindings of the run. */
export function cpuRoles(view: RunView, cpu: number): readonly string[] {
  const roles = view.nics
    .filter(({ irqCpus }) => irqCpus.some((one) => one.cpu === cpu))
    .map(({ nic }) => `IRQ ${nic}`);
  for (const use of ['TX', 'RX']) {
    const text = view.environment[`NCCL_GPUDIRECTTCPX_${use}_BINDINGS`] ?? '';
    for (const binding of parseBindings(text).bindings) {
      if (bindingCpus(binding).includes(cpu)) roles.push(`${use} ${binding.nic}`);
    }
  }
  return roles;
}

export function busiestCpus(view: RunView, count: number): readonly (readonly [number, number])[] {
  return [...view.busyPercent].sort(([, a], [, b]) => b - a).slice(0, count);
}
