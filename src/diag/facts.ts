// Everything that rules may look at, as plain data: gathered once at the edge (collect.ts), made up
// in tests.

import type { EnvironmentValues } from '../host/environment/preset.js';
import type { Observation } from '../host/irq/observation.js';
import type { LineVerdict } from '../host/irq/verify.js';
import type { HostModel, Nic } from '../host/read/model.js';
import type { MachineLimits } from '../measure/machine-limits.js';

export type Provider = 'auto' | 'tcp' | 'tcpx';

export interface ProcessFacts {
  readonly pid: number;
  readonly name: string;
  readonly command: string;
}

/** Established sockets on the addresses of a NIC, by who holds them. */
export interface SocketFacts {
  readonly nic: string;
  /** Held by processes that have loaded the plugin. */
  readonly count: number;
  /** Who those are, as `pid name`. */
  readonly holders: readonly string[];
  /** Held by processes without the plugin: ssh, agents and the like. */
  readonly otherCount: number;
  /** Held by processes that cannot be looked into. */
  readonly unknownCount: number;
}

export interface PluginFacts {
  /** Where it was looked for, in order. */
  readonly candidates: readonly string[];
  readonly path: string | undefined;
  /** Net tables that it exports, for example 7. */
  readonly versions: readonly number[];
  /** The folder is mounted so that nothing in it can be loaded; undefined when not known. */
  readonly isNoexec: boolean | undefined;
  /** It is the emulator of this package: hardware below it is not used. */
  readonly isEmulator?: boolean;
  /** Whether not finding it means that it is not there: a tree of files need not hold it. */
  readonly wasLookedFor: boolean;
}

export interface PeerFacts {
  readonly name: string;
  readonly addresses: readonly string[];
  /** undefined when the host's own addresses are not known. */
  readonly isLocal: boolean | undefined;
}

export interface RxdmFacts {
  readonly processes: readonly ProcessFacts[];
  readonly prefix: string;
  /** Sockets found in that folder; undefined when a tree of files does not hold it. */
  readonly sockets: readonly string[] | undefined;
  /** Suspicious journal lines of the last hour; undefined where the journal cannot be read. */
  readonly journal: readonly string[] | undefined;
}

export interface DoctorFacts {
  readonly provider: Provider;
  readonly host: HostModel;
  /** A capture file or folder: it holds what the host readers read, and no more. */
  readonly isCapture: boolean;
  /** NICs that carry data. */
  readonly dataNics: readonly Nic[];
  readonly environment: EnvironmentValues;
  /** false: the host is a bundle without the variables of its run. */
  readonly isEnvironmentKnown?: boolean;
  readonly reference: Observation | undefined;
  readonly rxdm: RxdmFacts;
  readonly plugin: PluginFacts;
  /** Commands of the kernel's netdev family; undefined where it has none. */
  readonly netdevOperations: readonly number[] | undefined;
  readonly sockets: readonly SocketFacts[] | undefined;
  readonly socketBudget: number;
  readonly peers: readonly PeerFacts[];
  readonly timeKeepers: readonly string[];
  /** The plan that was applied last, as it stands now; undefined when none is recorded. */
  readonly applied: AppliedPlan | undefined;
  /** What was timed on this machine; undefined when nobody asked for it. */
  readonly measured?: MachineLimits | undefined;
  /** Congestion control that the run asks for; empty leaves the host's. */
  readonly congestion?: string;
}

/** Lines of the plan, or why they could not be judged. */
export type AppliedPlan =
  | { readonly lines: readonly LineVerdict[]; readonly problem?: undefined }
  | { readonly problem: string };
