// Gathers the doctor's facts from a host. Reads only: nothing is started, bound or configured.

import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { readBootId } from '../base/boot-id.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import { currentPlanPath } from '../host/irq/journal.js';
import { readBundle } from '../host/irq/observation.js';
import { loadPlan, rebasePlan } from '../host/irq/saved-plan.js';
import { verifyLines } from '../host/irq/verify.js';
import type { HostFiles } from '../host/read/host-files.js';
import type { HostModel, Nic } from '../host/read/model.js';
import { CAPTURE_PATHS } from '../host/read/probes.js';
import { type HostSource, readHost } from '../host/read/read-host.js';
import { type DataNicWish, dataNics, requireDataNics } from '../host/topo/data-nics.js';
import type {
  AppliedPlan,
  DoctorFacts,
  PeerFacts,
  PluginFacts,
  ProcessFacts,
  Provider,
  RxdmFacts,
} from './facts.js';
import { findPlugin } from './plugin-file.js';
import { countSockets } from './tcp-sockets.js';

export interface CollectRequest {
  readonly source: HostSource;
  readonly provider: Provider;
  /** Which NICs carry data. */
  readonly nics: DataNicWish;
  readonly environment: EnvironmentValues;
  readonly referenceFolder: string | undefined;
  readonly stateFolder: string;
  readonly peers: readonly string[];
  readonly socketBudget: number;
}

const RXDM_NAMES = /^(tcpgpudmarxd|rxdm|dp-manager|receive-datapat|fastrak_gpumem)/;
const RXDM_UNITS = ['dp-manager', 'receive-datapath-manager', 'tcpgpudmarxd'];
const RXDM_PREFIX = '/run/tcpx';
const TROUBLE = /\b(error|fail(ed|ure)?|fatal|panic|denied|timed? ?out)\b/i;
const TIME_NAMES = /^(chronyd|ntpd|systemd-timesyn|openntpd|phc2sys)/;

export async function collectFacts(request: CollectRequest): Promise<DoctorFacts> {
  const { source, environment } = request;
  const { files, probes } = source;
  const host = readHost(source);
  const processes = readProcesses(files);
  const plugin = findPlugin(files, environment);
  const nics = chosenNics(request, host, plugin);
  const { provider, socketBudget, referenceFolder } = request;
  return {
    provider,
    socketBudget,
    host,
    isCapture: files.read(CAPTURE_PATHS.manifest) !== undefined,
    dataNics: nics,
    environment,
    reference: referenceFolder === undefined ? undefined : readBundle(referenceFolder),
    rxdm: findRxdm(files, processes, environment),
    plugin,
    netdevOperations: probes.netdevQueues()?.operations,
    sockets: countSockets(files, nics),
    peers: await Promise.all(request.peers.map((name) => describePeer(name, host.nics))),
    timeKeepers: findTimeKeepers(files, processes),
    applied: appliedPlan(request.stateFolder, host, readBootId(files)),
  };
}

/** A wrong flag is an error; a wrong list of the plugin's is a finding. */
function chosenNics(
  { nics, provider }: CollectRequest,
  host: HostModel,
  { isEmulator }: PluginFacts,
): readonly Nic[] {
  // The emulator's NICs are addresses of loopback: none of this host's carries its data.
  if (provider === 'tcpx' && isEmulator === true) return [];
  return nics.named === '' ? dataNics(host, nics).nics : requireDataNics(host, nics);
}

export function readProcesses(files: HostFiles): readonly ProcessFacts[] {
  const pids = files.list('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => ({
    pid: Number(pid),
    name: files.read(`/proc/${pid}/comm`)?.trim() ?? '',
    command: (files.read(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim(),
  }));
}

export function findRxdm(
  files: HostFiles,
  processes: readonly ProcessFacts[],
  environment: EnvironmentValues,
): RxdmFacts {
  const prefix = environment['NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX'] ?? RXDM_PREFIX;
  return {
    processes: processes.filter(({ name }) => RXDM_NAMES.test(name)),
    prefix,
    sockets: files.isLive || files.isFolder(prefix) ? files.list(prefix) : undefined,
    journal: files.isLive ? readJournal() : undefined,
  };
}

/** Suspicious lines of the last hour; undefined where there is no journal to ask. */
function readJournal(): readonly string[] | undefined {
  const units = RXDM_UNITS.flatMap((unit) => ['-u', unit]);
  try {
    const options = ['--since', '1 hour ago', '--no-pager', '-q', '-o', 'short-iso'];
    const text = execFileSync('journalctl', [...options, ...units], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    });
    return text.split('\n').filter((line) => TROUBLE.test(line));
  } catch {
    return undefined;
  }
}

async function describePeer(name: string, nics: readonly Nic[]): Promise<PeerFacts> {
  let addresses: readonly string[] = [];
  try {
    addresses = (await lookup(name, { all: true })).map(({ address }) => address);
  } catch {
    return { name, addresses, isLocal: false };
  }
  const own = new Set(nics.flatMap(({ addresses: all = [] }) => all.map(({ address }) => address)));
  const isFound = addresses.some((address) => {
    return own.has(address) || address.startsWith('127.') || address === '::1';
  });
  return { name, addresses, isLocal: isFound || (own.size > 0 ? false : undefined) };
}

function findTimeKeepers(files: HostFiles, processes: readonly ProcessFacts[]): readonly string[] {
  const services = processes
    .filter(({ name }) => TIME_NAMES.test(name))
    .map(({ pid, name }) => `${name} (process ${pid})`);
  const marker = '/run/systemd/timesync/synchronized';
  return files.mode(marker) === undefined ? services : [...services, `${marker} exists`];
}

function appliedPlan(
  stateFolder: string,
  host: HostModel,
  bootId: string | undefined,
): AppliedPlan | undefined {
  const path = currentPlanPath(stateFolder, bootId);
  if (path === undefined) return undefined;
  try {
    const plan = loadPlan(path);
    const { lines } = rebasePlan(plan, host.nics, host.hostname, 'keep').plan;
    return { lines: verifyLines(lines, host.irqs) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
