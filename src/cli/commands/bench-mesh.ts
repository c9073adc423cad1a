// `tcpx bench mesh`: every pair of GPUs between nodes, started once on each node or by a launcher.

import { processEnvironment } from '../../base/config.js';
import type { TcpxError } from '../../base/errors.js';
import type { MeshRun, MeshWorker } from '../../bench/mesh/mesh-conductor.js';
import type { MeshDocument } from '../../bench/mesh/mesh-figures.js';
import type { MeshPairs } from '../../bench/mesh/mesh-plan.js';
import type { OpenMeshWorkers } from '../../bench/mesh/mesh-workers.js';
import { openFolderFiles } from '../../host/read/host-files.js';
import { formatGpuMap, formatMesh, formatMeshCsv } from '../bench-mesh-text.js';
import { openStore } from '../bench-runs.js';
import { noteIdleVariables } from '../bench-uccl.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { openIrqHost, PLAN_FLAGS, ROOT_FLAG, STATE_FLAG, secondsFlag } from '../irq-host.js';
import { BIND_FLAGS } from '../irq-transaction.js';
import { MeshLogs } from '../mesh-logs.js';
import { type MeshPlace, meshPlace } from '../mesh-place.js';
import { checkWorkerPorts, workerPort } from '../mesh-ports.js';
import { MeshProgress } from '../mesh-progress.js';
import { inRole, type MeshRole, meshRole, placeInRole } from '../mesh-role.js';
import { untilSignalled } from '../mesh-signals.js';
import { MeshPlacements, meshVerboseStart } from '../mesh-verbose.js';
import { meshConfig, meshPolicy, ownGpus } from '../mesh-workplace.js';
import { printCode, printJson, printNote, printText } from '../print.js';
import { BENCH_SETTINGS, BENCH_SHORT_FLAGS } from './bench-loopback.js';

const PAIRS = ['nodes', 'rails', 'all'] as const;
const WORKERS = ['gpu', 'one'] as const;
const FORMATS = ['text', 'csv'] as const;
const WAIT_S = 60;

export const benchMeshCommand: Command = {
  name: 'bench mesh',
  group: 'measure',
  summary: 'Every pair of GPUs between nodes, as a matrix; on each node, or by mpirun, srun, …',
  positionals: '[server [GPU] | client HOST [GPU]]',
  positionalsMax: 3,
  settings: [
    ...BENCH_SETTINGS.filter((name) => name !== 'bench.gpu' && name !== 'bench.intervalSeconds'),
    'bench.logDir',
    'session.port',
    'session.bind',
    'session.connectTimeoutMs',
    'session.handshakeTimeoutMs',
    'socket.userTimeoutMs',
    'trust.mode',
    'trust.secretFile',
  ],
  shortFlags: { t: BENCH_SHORT_FLAGS.t, P: BENCH_SHORT_FLAGS.P, J: BENCH_SHORT_FLAGS.J },
  flags: [
    {
      name: 'nodes',
      kind: 'text',
      value: 'FILE',
      summary:
        'Addresses of the nodes, one in a line; also mpirun’s host file. The first conducts.',
    },
    { name: 'rank', kind: 'text', value: 'N', summary: 'Which process this is, from 0.' },
    { name: 'ranks', kind: 'text', value: 'N', summary: 'How many processes there are.' },
    {
      name: 'rendezvous',
      kind: 'text',
      value: 'HOST:PORT|etcd',
      summary: 'Where rank 0 listens; etcd asks the servers of NIXL_ETCD_ENDPOINTS.',
    },
    {
      name: 'job',
      kind: 'text',
      value: 'NAME',
      summary: 'Name in etcd, alike for all processes; a launcher’s own by default.',
    },
    {
      name: 'wait',
      kind: 'text',
      value: 'SECONDS',
      summary: `How long all processes may take to come; ${WAIT_S}.`,
    },
    {
      name: 'gpus',
      kind: 'text',
      value: 'LIST',
      summary: 'GPUs of this node, 0-7 (also GPU_LIST); all by default.',
    },
    {
      name: 'map',
      kind: 'text',
      value: 'GPU=NIC,...',
      summary: 'NIC of a GPU against what the PCI tree says: 0=eth1,1=eth1.',
    },
    {
      name: 'pairs',
      kind: 'text',
      choices: PAIRS,
      summary: 'All between nodes, equal places of nodes only, or all within nodes too.',
    },
    { name: 'alone', kind: 'boolean', summary: 'One pair at a time; default: as many as can be.' },
    {
      name: 'workers',
      kind: 'text',
      choices: WORKERS,
      summary: 'A process for each GPU of a node (gpu, default), or one for all of them.',
    },
    {
      name: 'performance',
      kind: 'boolean',
      summary: 'Two channels of two sockets each instead of one channel.',
    },
    {
      name: 'format',
      kind: 'text',
      choices: FORMATS,
      summary: 'How the result is printed: text for people, or CSV with a row for each pair.',
    },
    ...PLAN_FLAGS.filter(({ name }) => name === 'policy'),
    ...[ROOT_FLAG, STATE_FLAG].map((flag) => ({ ...flag, isAdvanced: true })),
    ...BIND_FLAGS.map((flag) => ({ ...flag, isAdvanced: true })),
  ],
  examples: [
    ['bench mesh --nodes nodes.txt', 'On every node of the file: all pairs of GPUs between them.'],
    ['bench mesh --gpus 0-3 --size 1M', 'Four workers on this machine, without a GPU too.'],
    [
      'bench mesh --nodes nodes.txt --performance --policy nccl',
      'Two channels of two sockets, cores as the policy has them.',
    ],
    ['bench mesh server', 'As UCCL’s full mesh: all GPUs here, for one client; prints its line.'],
    ['bench mesh client 10.0.0.2', 'Each GPU here to the one of the same place there.'],
  ],
  async run(given) {
    const role = meshRole(benchMeshCommand, given);
    await noteIdleVariables();
    const invocation = role === undefined ? given : inRole(given, role);
    const wish = { ...wishOf(invocation), role };
    const place =
      role === undefined
        ? await meshPlace(benchMeshCommand, invocation)
        : await placeInRole(benchMeshCommand, invocation, role);
    const host = openIrqHost(invocation);
    const config = await meshConfig(invocation);
    checkOperation(config.values['bench.op'], wish, place);
    const gpus = await ownGpus(benchMeshCommand, invocation, host, place);
    checkPorts(config, role, gpus);
    const policy = await meshPolicy(invocation, host, place, config);
    const { prepareEmulator, prepareEmulatorCounters, withOneTimeSecret } = await import(
      '../../bench/loopback.js'
    );
    // On this machine alone workers trust each other and nobody else, as the ends of a loopback.
    const isAlone = place.size === 1;
    if (isAlone) prepareEmulator(policy.config);
    else prepareEmulatorCounters(policy.config);
    const own = isAlone ? withOneTimeSecret(policy.config) : policy.config;
    const { stopped, release } = untilSignalled(policy, invocation);
    try {
      policy.begin();
      const { variables } = policy;
      const environment = { ...processEnvironment(), ...variables };
      const facts = meshVerboseStart(own, gpus, environment, openFolderFiles(host.root));
      const placed = { ...wish, gpus, variables, facts, stopped };
      return await runPlaced({ ...invocation, config: own }, place, placed);
    } finally {
      policy.end();
      release();
    }
  },
};

interface MeshWish {
  readonly waitMs: number;
  readonly pairs: MeshPairs | undefined;
  readonly isAlone: boolean;
  readonly isOneProcess: boolean;
  readonly isCsv: boolean;
}

interface PlacedWish extends MeshWish {
  readonly stopped: Promise<TcpxError>;
  readonly role: MeshRole | undefined;
  /** Of the workers' NICs, threads and variables, for people. */
  readonly facts: readonly string[];
  readonly gpus: Awaited<ReturnType<typeof ownGpus>>;
  readonly variables: Readonly<Record<string, string>>;
}

function wishOf(invocation: Invocation): MeshWish {
  return {
    waitMs: Math.max(1, 1000 * secondsFlag(invocation, 'wait', WAIT_S)),
    pairs: choice(invocation, 'pairs', PAIRS),
    // Both ends of a ping-pong hold their thread.
    isAlone: invocation.has('alone') || invocation.config.values['bench.op'] === 'pingpong',
    isOneProcess: choice(invocation, 'workers', WORKERS) === 'one',
    isCsv: choice(invocation, 'format', FORMATS) === 'csv',
  };
}

function choice<T extends string>(
  invocation: Invocation,
  flag: string,
  choices: readonly T[],
): T | undefined {
  const text = invocation.text(flag);
  const found = choices.find((one) => one === text);
  if (text === undefined || found !== undefined) return found;
  throw usageError(benchMeshCommand, `--${flag} ${text}: one of ${choices.join(', ')}`);
}

function checkOperation(op: string, { isOneProcess }: MeshWish, { size }: MeshPlace): void {
  if (op !== 'pingpong' || !isOneProcess || size > 1) return;
  throw usageError(benchMeshCommand, '--op pingpong needs a process for each worker');
}

function checkPorts(
  { values }: Invocation['config'],
  role: MeshRole | undefined,
  gpus: PlacedWish['gpus'],
): void {
  const ports = gpus.map(({ gpu }) => gpu);
  if (role?.name !== 'client') checkWorkerPorts(benchMeshCommand, values['session.port'], ports);
}

async function runPlaced(
  invocation: Invocation,
  place: MeshPlace,
  wish: PlacedWish,
): Promise<ExitCode> {
  const { runMesh } = await import('../../bench/mesh/run-mesh.js');
  const { openMeshWorkers } = await import('../../bench/mesh/mesh-workers.js');
  const { serverLines } = await import('../../bench/uccl-form.js');
  const { meshInfoName, meshLogName } = await import('../../bench/mesh/mesh-log.js');
  const { config, log } = invocation;
  const { rank, size, rendezvous } = place;
  const logs = new MeshLogs(config, wish.role !== undefined);
  logs.append(meshInfoName, () => wish.facts);
  const isVerbose = config.values['bench.verbose'] && !invocation.isJson;
  const placements = new MeshPlacements();
  if (!invocation.isJson) tellPlace(place, wish);
  if (isVerbose) for (const line of wish.facts) printNote(line);
  const etcd =
    rendezvous.kind === 'etcd' ? await openEtcd(invocation, rendezvous.job, wish) : undefined;
  const progress = new MeshProgress(invocation.isJson);
  const outcome = await runMesh({
    ...{ config, log, rank, size, node: place.node, hosts: place.hosts },
    ...{
      pairs: wish.role === undefined ? wish.pairs : 'inward',
      isAlone: wish.isAlone,
      waitMs: wish.waitMs,
    },
    stopped: wish.stopped,
    findFirst: () => firstPlace(place, etcd),
    ...(etcd === undefined ? {} : { onListening: (port: number) => etcd.publish(port) }),
    openWorkers: async () => {
      const workers = await openMeshWorkers({
        config,
        wishes: wish.gpus.map(({ gpu, nic }) => ({
          gpu,
          nic,
          // Nobody comes to a client.
          port: wish.role?.name === 'client' ? 0 : workerPort(config.values['session.port'], gpu),
        })),
        isOneProcess: wish.isOneProcess,
        variables: wish.variables,
        onServed: (gpu, peer, report) =>
          logs.append(
            (time) => meshLogName('server', gpu, time),
            () => serverLines(peer, report, gpu),
          ),
        onMeasured: (gpu, to, result) => {
          void logClient(logs, gpu, to, result);
          if (isVerbose) placements.tell(gpu, result);
          if (wish.role?.name === 'client' && !invocation.isJson) {
            printNote(`GPU ${gpu} to ${to}: ${result.bandwidthGBps.mean.toFixed(2)} GB/s`);
          }
        },
      });
      return towardsServer(workers, wish.role);
    },
    onAssembled: (workers: readonly MeshWorker[], rounds: number) =>
      progress.begin(workers.length, rounds),
    onRound: (_: number, runs: readonly MeshRun[]) => progress.count(runs),
  }).finally(() => {
    progress.end();
    return etcd?.close();
  });
  if (typeof outcome === 'boolean') return outcome ? ExitCode.Good : ExitCode.AnswerIsNo;
  const { meshDocument } = await import('../../bench/mesh/mesh-figures.js');
  return report(invocation, wish, meshDocument(outcome, new Date().toISOString()), outcome.failure);
}

async function logClient(
  logs: MeshLogs,
  gpu: number,
  to: string,
  result: MeshRun['result'],
): Promise<void> {
  const { meshClientLines, meshInfoName, meshLogName } = await import(
    '../../bench/mesh/mesh-log.js'
  );
  logs.append(
    (time) => meshLogName('client', gpu, time),
    () => meshClientLines(result, gpu, to),
  );
  const { kernel } = result;
  logs.append(meshInfoName, () => [`GPU ${gpu} to ${to}: ${JSON.stringify({ kernel })}`]);
}

function tellPlace({ rank, size, source }: MeshPlace, { gpus }: PlacedWish): void {
  if (size > 1) printNote(`rank ${rank} of ${size} (${source})`);
  printNote(formatGpuMap(gpus));
}

async function openEtcd({ config }: Invocation, job: string, { waitMs }: PlacedWish) {
  const { MeshEtcd } = await import('../mesh-etcd.js');
  return new MeshEtcd(config, job, waitMs);
}

async function firstPlace(
  { rank, rendezvous }: MeshPlace,
  etcd: Awaited<ReturnType<typeof openEtcd>> | undefined,
) {
  if (rendezvous.kind === 'host') return rendezvous;
  if (etcd === undefined) throw usageError(benchMeshCommand, 'no etcd');
  return rank === 0 ? { host: etcd.ownHost, port: 0 } : etcd.find();
}

/** The client's own word for the server leads there; the server's may be of another network. */
function towardsServer(workers: OpenMeshWorkers, role: MeshRole | undefined): OpenMeshWorkers {
  if (role?.name !== 'client') return workers;
  const { host } = role;
  return {
    ...workers,
    measure: (round, order, onWarm) => workers.measure(round, { ...order, host }, onWarm),
  };
}

async function report(
  invocation: Invocation,
  { isCsv }: PlacedWish,
  measured: MeshDocument,
  failure: TcpxError | undefined,
): Promise<ExitCode> {
  const store = await openStore(invocation);
  const mesh = keep({ ...measured, command: process.argv.slice(2) }, (one) => store.saveMesh(one));
  // With --json a failure is the document; what was measured is kept all the same.
  const isStopped = failure?.code === 'ERR_XFER_CANCELLED';
  if (invocation.isJson && failure !== undefined && !isStopped) throw failure;
  if (invocation.isJson) printJson(mesh);
  else if (isCsv) printCode(formatMeshCsv(mesh));
  else printText(formatMesh(mesh));
  if (!invocation.isJson && mesh.id !== undefined) {
    printNote(`kept as ${mesh.id} (tcpx bench show)`);
  }
  if (failure === undefined) return mesh.ok ? ExitCode.Good : ExitCode.AnswerIsNo;
  if (invocation.isJson) return ExitCode.RunTime;
  throw failure;
}

/** A result that cannot be kept is still a result. */
function keep(mesh: MeshDocument, save: (mesh: MeshDocument) => MeshDocument): MeshDocument {
  try {
    return save(mesh);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ...mesh, warnings: [...(mesh.warnings ?? []), `not kept: ${reason}`] };
  }
}
