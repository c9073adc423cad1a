// What a launcher tells each process that it starts: which of how many it is, here and overall,
// and where the first one is. Innermost first: mpirun and torchrun run within Slurm and within
// Kubernetes. Pure.

import type { Environment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { expandHostRanges } from './host-ranges.js';

export interface LaunchPlace {
  /** For people. */
  readonly launcher: string;
  readonly rank: number;
  readonly size: number;
  /** Among the processes of this node, and how many those are. */
  readonly localRank: number;
  readonly localSize: number;
  /** Host of rank 0 as far as it is known. */
  readonly firstHost?: string;
  /** A name that all processes of this start share, and no other start has. */
  readonly job?: string;
}

interface Launcher {
  readonly name: string;
  /** Where this is set, the launcher is at work. */
  readonly sign: string;
  readonly rank: readonly string[];
  readonly size: readonly string[];
  readonly localRank: readonly string[];
  readonly localSize: readonly string[];
  /** Groups: the first one whose first variable is set makes the name, with what else it has. */
  readonly job: readonly (readonly [string, ...string[]])[];
  firstHost?(environment: Environment, rank: number): string | undefined;
  /** Where no variable says so. */
  countLocal?(environment: Environment): number | undefined;
}

const SIZE_MAX = 65_536;

/** Every srun of one allocation is a step of its own. */
const SLURM_STEP = ['SLURM_JOB_ID', 'SLURM_STEP_ID'] as const;
/** What torchrun says where nobody gave its run a name. */
const NO_NAME = 'none';

const LAUNCHERS: readonly Launcher[] = [
  {
    name: 'Open MPI',
    sign: 'OMPI_COMM_WORLD_RANK',
    rank: ['OMPI_COMM_WORLD_RANK'],
    size: ['OMPI_COMM_WORLD_SIZE'],
    localRank: ['OMPI_COMM_WORLD_LOCAL_RANK'],
    localSize: ['OMPI_COMM_WORLD_LOCAL_SIZE'],
    job: [['PMIX_NAMESPACE'], ['OMPI_MCA_ess_base_jobid']],
  },
  {
    name: 'torchrun',
    sign: 'RANK',
    rank: ['RANK'],
    size: ['WORLD_SIZE'],
    localRank: ['LOCAL_RANK'],
    localSize: ['LOCAL_WORLD_SIZE'],
    job: [['TORCHELASTIC_RUN_ID']],
  },
  {
    name: 'PMI',
    sign: 'PMI_RANK',
    rank: ['PMI_RANK'],
    size: ['PMI_SIZE'],
    localRank: ['MPI_LOCALRANKID', 'PMI_LOCAL_RANK', 'SLURM_LOCALID'],
    localSize: ['MPI_LOCALNRANKS', 'PMI_LOCAL_SIZE'],
    job: [['PMI_JOBID'], SLURM_STEP],
    firstHost: slurmFirstHost,
    countLocal: slurmLocalSize,
  },
  {
    name: 'Slurm',
    sign: 'SLURM_PROCID',
    rank: ['SLURM_PROCID'],
    size: ['SLURM_STEP_NUM_TASKS', 'SLURM_NTASKS', 'SLURM_NPROCS'],
    localRank: ['SLURM_LOCALID'],
    localSize: [],
    job: [SLURM_STEP, ['SLURM_JOBID', 'SLURM_STEPID']],
    firstHost: slurmFirstHost,
    countLocal: slurmLocalSize,
  },
  {
    name: 'Kubernetes',
    sign: 'JOB_COMPLETION_INDEX',
    rank: ['JOB_COMPLETION_INDEX'],
    size: ['JOB_COMPLETIONS', 'WORLD_SIZE'],
    // A pod is a node of its own.
    localRank: [],
    localSize: [],
    // Every start of a Job by one name has a UID of its own.
    job: [['JOB_NAME', 'JOB_UID'], ['JOB_UID']],
    firstHost: podZero,
  },
];

/** undefined where nothing looks like a launcher. */
export function launchPlace(environment: Environment): LaunchPlace | undefined {
  const launcher = LAUNCHERS.find(({ sign }) => textOf(environment, sign) !== undefined);
  if (launcher === undefined) return undefined;
  const { name } = launcher;
  const rank = required(environment, name, launcher.rank);
  const size = required(environment, name, launcher.size);
  if (size < 1 || size > SIZE_MAX) throw refused(name, `a size of ${size}`);
  if (rank >= size) throw refused(name, `rank ${rank} of ${size}`);
  const [localRank, localSize] = localPlace(environment, launcher, size);
  const firstHost =
    textOf(environment, 'MASTER_ADDR') ?? launcher.firstHost?.(environment, rank) ?? undefined;
  const job = jobName(environment, launcher);
  return {
    ...{ launcher: name, rank, size, localRank, localSize },
    ...(firstHost === undefined ? {} : { firstHost }),
    ...(job === undefined ? {} : { job }),
  };
}

function jobName(environment: Environment, { job }: Launcher): string | undefined {
  const names = job.find(([first]) => (textOf(environment, first) ?? NO_NAME) !== NO_NAME);
  return names?.flatMap((name) => textOf(environment, name) ?? []).join('.');
}

function localPlace(environment: Environment, launcher: Launcher, size: number) {
  const { name } = launcher;
  const counted = launcher.countLocal?.(environment);
  const localSize = numberOf(environment, name, launcher.localSize) ?? counted ?? 1;
  const localRank = numberOf(environment, name, launcher.localRank) ?? 0;
  if (localSize < 1 || localSize > size || localRank >= localSize) {
    throw refused(name, `rank ${localRank} of ${localSize} on this node, ${size} in all`);
  }
  return [localRank, localSize] as const;
}

function slurmFirstHost(environment: Environment): string | undefined {
  const list = firstText(environment, ['SLURM_STEP_NODELIST', 'SLURM_JOB_NODELIST']);
  return list === undefined ? undefined : expandHostRanges(list)[0];
}

/** `8(x2),4`: eight on each of the first two nodes, four on the third. */
function slurmLocalSize(environment: Environment): number | undefined {
  const text = firstText(environment, ['SLURM_STEP_TASKS_PER_NODE', 'SLURM_TASKS_PER_NODE']);
  if (text === undefined) return undefined;
  const counts = text.split(',').flatMap((part) => {
    const match = /^(\d{1,5})(?:\(x(\d{1,5})\))?$/.exec(part);
    if (match === null) throw refused('Slurm', `${JSON.stringify(text)} tasks on its nodes`);
    return new Array<number>(Number(match[2] ?? 1)).fill(Number(match[1]));
  });
  const node = numberOf(environment, 'Slurm', ['SLURM_NODEID']);
  return node === undefined ? undefined : counts[node];
}

/** Pods of an Indexed Job are called `JOB-INDEX`, and have names in a headless service. */
function podZero(environment: Environment, rank: number): string | undefined {
  const host = textOf(environment, 'HOSTNAME');
  const suffix = `-${rank}`;
  if (host?.endsWith(suffix) !== true) return undefined;
  const first = `${host.slice(0, -suffix.length)}-0`;
  const service = textOf(environment, 'JOB_SERVICE');
  return service === undefined ? first : `${first}.${service}`;
}

function required(environment: Environment, launcher: string, names: readonly string[]): number {
  const value = numberOf(environment, launcher, names);
  if (value !== undefined) return value;
  throw refused(launcher, `none of its variables ${names.join(', ')} is set`);
}

function numberOf(environment: Environment, launcher: string, names: readonly string[]) {
  const name = names.find((one) => textOf(environment, one) !== undefined);
  if (name === undefined) return undefined;
  const text = textOf(environment, name) ?? '';
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw refused(launcher, `${name}=${JSON.stringify(text)} is no number`);
}

function firstText(environment: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => textOf(environment, name)).find((text) => text !== undefined);
}

function textOf(environment: Environment, name: string): string | undefined {
  const text = environment[name];
  return text === '' ? undefined : text;
}

function refused(launcher: string, what: string): TcpxError {
  return new TcpxError(
    'ERR_CONFIG_VALUE',
    `launcher ${launcher}: ${what}; --rank and --ranks say it otherwise`,
  );
}
