// Who else writes interrupt affinity: a binding lasts only as long as none of these acts.

import type { HostFiles } from '../read/host-files.js';
import type { IrqWriter } from '../read/host-settings.js';
import { CAPTURE_PATHS } from '../read/probes.js';

/** Process names as the kernel cuts them, at 15 characters. */
const PROCESSES: readonly (readonly [string, IrqWriter['kind']])[] = [
  ['irqbalance', 'irqbalance'],
  ['tuned', 'tuned'],
  ['tuna', 'tuna'],
  ['google_guest_ag', 'google-guest-agent'],
];

/** A unit has a control group while it runs, visible even where its process is not. */
const UNIT_FOLDERS = ['/sys/fs/cgroup/system.slice', '/sys/fs/cgroup/systemd/system.slice'];
const UNITS: readonly (readonly [string, IrqWriter['kind']])[] = [
  ['irqbalance.service', 'irqbalance'],
  ['tuned.service', 'tuned'],
];

const PROGRAMS: readonly (readonly [string, IrqWriter['kind']])[] = [
  ['/usr/bin/google_set_multiqueue', 'google_set_multiqueue'],
  ['/usr/sbin/irqbalance', 'irqbalance'],
];

export function readIrqWriters(files: HostFiles, kernelArguments: string): IrqWriter[] {
  const running = [...processWriters(files), ...unitWriters(files)];
  const isFirst = (writer: IrqWriter, index: number, all: readonly IrqWriter[]) =>
    all.findIndex(({ kind }) => kind === writer.kind) === index;
  const active = running.filter(isFirst);
  const idle = installedWriters(files).filter((writer) => !isKnown(active, writer));
  const withOptions = [...active, ...idle].map((writer) =>
    writer.kind === 'irqbalance'
      ? { ...writer, options: withDefaults(writer.options, irqbalanceDefaults(files)) }
      : writer,
  );
  return [...withOptions, ...argumentWriters(kernelArguments)];
}

function isKnown(writers: readonly IrqWriter[], writer: IrqWriter): boolean {
  return writers.some(({ kind }) => kind === writer.kind);
}

function processIds(files: HostFiles): readonly string[] {
  return files.list('/proc').filter((name) => /^\d+$/.test(name));
}

/** Places that could not be looked at: a writer may be there. */
export function unseenWriters(
  files: HostFiles,
  kernelArguments: string | undefined,
): readonly string[] {
  const unseen = kernelArguments === undefined ? ['/proc/cmdline'] : [];
  const pids = processIds(files);
  // A capture keeps of the process table what writes affinity, and nothing else.
  const isCapture = files.read(CAPTURE_PATHS.manifest) !== undefined;
  if (pids.length === 0 && !isCapture) unseen.push('the process table');
  // A process that ended meanwhile has no folder any more.
  const nameless = pids.filter(
    (pid) => files.read(`/proc/${pid}/comm`) === undefined && files.isFolder(`/proc/${pid}`),
  );
  if (nameless.length > 0) unseen.push(`the names of ${nameless.length} processes`);
  return unseen;
}

function processWriters(files: HostFiles): IrqWriter[] {
  const writers: IrqWriter[] = [];
  for (const name of processIds(files)) {
    const comm = files.read(`/proc/${name}/comm`)?.trim();
    const kind = PROCESSES.find(([process]) => process === comm)?.[1];
    if (comm === undefined || kind === undefined) continue;
    const words = files.read(`/proc/${name}/cmdline`)?.split('\0').filter(Boolean);
    writers.push({
      kind,
      isActive: true,
      pid: Number(name),
      evidence: `process ${name} (${comm})`,
      options: words?.slice(1),
    });
  }
  return writers;
}

function unitWriters(files: HostFiles): IrqWriter[] {
  const writers: IrqWriter[] = [];
  for (const folder of UNIT_FOLDERS) {
    for (const [unit, kind] of UNITS) {
      const processes = files.read(`${folder}/${unit}/cgroup.procs`)?.trim() ?? '';
      if (processes === '') continue;
      const evidence = `control group of ${unit}`;
      // Its command line is not visible here: what it may not touch is unknown.
      writers.push({ kind, isActive: true, pid: undefined, evidence, options: undefined });
    }
  }
  return writers;
}

function installedWriters(files: HostFiles): IrqWriter[] {
  return PROGRAMS.filter(([path]) => files.realPath(path) !== undefined).map(([path, kind]) => ({
    kind,
    isActive: false,
    pid: undefined,
    evidence: `${path} is installed`,
    options: [],
  }));
}

function withDefaults(
  options: readonly string[] | undefined,
  defaults: readonly string[],
): readonly string[] | undefined {
  return options === undefined && defaults.length === 0
    ? undefined
    : [...(options ?? []), ...defaults];
}

/** Variables such as IRQBALANCE_BANNED_CPULIST from the distribution's defaults file. */
function irqbalanceDefaults(files: HostFiles): string[] {
  const text =
    files.read('/etc/default/irqbalance') ?? files.read('/etc/sysconfig/irqbalance') ?? '';
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(IRQBALANCE_\w+|OPTIONS)=./.test(line));
}

function argumentWriters(kernelArguments: string): IrqWriter[] {
  return kernelArguments
    .split(/\s+/)
    .filter((word) => /^irqaffinity=/.test(word) || /^isolcpus=.*managed_irq/.test(word))
    .map((word) => ({
      kind: 'kernel argument',
      isActive: true,
      pid: undefined,
      evidence: '/proc/cmdline',
      options: [word],
    }));
}
