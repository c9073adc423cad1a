// What rules about a run may look at: the host as its bundle shows it, as the doctor sees a host,
// and the run itself; with a second bundle the other end, or the run to compare with.

import { dataNics } from '../host/topo/data-nics.js';
import type { DoctorFacts, Provider } from './facts.js';
import type { Rule } from './rule.js';
import { openRunView, type RunView } from './view/run-view.js';

export interface RunFacts extends DoctorFacts {
  readonly run: RunView;
  /** The other end of the same run. */
  readonly other: RunView | undefined;
  /** The run went through the plugin, by log or variables. */
  readonly isPlugin: boolean;
}

export type RunRule = Rule<RunFacts>;

/** Sockets of all processes per NIC beyond which runs were seen to fail or to slow down. */
const SOCKET_BUDGET = 8;
const X = 'NCCL_GPUDIRECTTCPX_';

export function runFacts(path: string, otherPath?: string): RunFacts {
  const run = openRunView(path);
  const { environment, host, isEnvironmentKnown } = run;
  const isPlugin = usesPlugin(run);
  const provider: Provider = isPlugin ? 'tcpx' : 'tcp';
  const control = environment[`${X}CTRL_DEV`] ?? environment['NCCL_SOCKET_IFNAME'] ?? '';
  const listed = environment[`${X}SOCKET_IFNAME`] ?? '';
  return {
    run,
    other: otherPath === undefined ? undefined : openRunView(otherPath),
    isPlugin,
    provider,
    host,
    isCapture: true,
    dataNics: dataNics(host, { named: '', listed, control }).nics,
    environment,
    isEnvironmentKnown,
    reference: undefined,
    rxdm: { processes: [], prefix: '', sockets: undefined, journal: undefined },
    plugin: {
      ...{ candidates: [], path: undefined, versions: [], isNoexec: undefined },
      wasLookedFor: false,
    },
    netdevOperations: undefined,
    sockets: undefined,
    socketBudget: SOCKET_BUDGET,
    peers: [],
    timeKeepers: [],
    applied: undefined,
  };
}

function usesPlugin({ nccl, environment, bench }: RunView): boolean {
  if (bench !== undefined) return bench.provider === 'tcpx';
  if (nccl.pluginVersion !== undefined || nccl.network?.includes('TCPX') === true) return true;
  return Object.keys(environment).some((name) => name.startsWith(X));
}

/** A whole number that a variable holds; undefined where it is not set or none. */
export function numberVariable({ environment }: RunFacts, name: string): number | undefined {
  const text = environment[name];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Data sockets of one connection, as the variables say. */
export function socketsPerChannel(facts: RunFacts): number | undefined {
  const logged = facts.run.perf.socketsPerChannel;
  if (logged !== undefined) return logged;
  if (!facts.isPlugin || facts.isEnvironmentKnown === false) return undefined;
  const sockets = numberVariable(facts, 'NCCL_NSOCKS_PERTHREAD') ?? 1;
  return sockets * (numberVariable(facts, 'NCCL_SOCKET_NTHREADS') ?? 1);
}
