// What a set of rails tells each of its plugin processes: options and environment.

import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { SettingValues } from '../../base/settings.js';
import { hostVariables } from './host-environment.js';
import type { HostOptions } from './host-message.js';
import { checkVariables, type Variables } from './plugin-variables.js';
import type { NicGpus, RailGroup } from './rail-plan.js';

export interface RailSetOptions {
  readonly values: SettingValues;
  readonly log: Log;
  /** For traces: which end this is. */
  readonly role: string;
  readonly isSameHostAllowed: boolean;
  /** Whose memory is moved; its NICs are the default, and it is their rail GPU. */
  readonly gpu?: number;
  /** GPUs behind each NIC, by the PCI tree; without it every NIC takes `gpu`, or GPU 0. */
  readonly nicGpus?: NicGpus;
  /** Added to the environment of the plugin processes. */
  readonly environment?: Readonly<Record<string, string>>;
  /** For tests: changes what the processes are told. */
  readonly hostOverrides?: Partial<HostOptions>;
}

/** `start` counts the processes of the set, for the names of traces. */
export function hostOptions(set: RailSetOptions, plan: RailGroup, start: number): HostOptions {
  const { values, role } = set;
  const options: HostOptions = {
    pluginPath: values['plugin.path'],
    pluginName: values['plugin.name'],
    gpu: plan.gpu,
    chunkBytes: values['flow.chunkBytes'],
    recvWindow: values['tcpx.recvWindow'],
    sendWindow: values['tcpx.sendWindow'],
    isHostRecv: values['tcpx.hostRecv'],
    unpack: values['tcpx.unpack'],
    sendFrom: values['tcpx.sendFrom'],
    bounceBytes: values['tcpx.bounceBytes'],
    rxdmTimeoutMs: values['tcpx.rxdmTimeoutMs'],
    ...set.hostOverrides,
  };
  const folder = values['tcpx.traceDir'];
  if (!values['tcpx.debug'] && folder === '') return options;
  const name = `trace-${role}-${plan.name || 'all'}-${process.pid}-${start}.log`;
  return { ...options, tracePath: folder === '' ? '' : join(folder, name) };
}

/** Said before a process dies of it. */
export function requireTraceFolder(folder: string): void {
  if (folder === '') return;
  try {
    accessSync(folder, constants.W_OK);
    if (statSync(folder).isDirectory()) return;
  } catch (error) {
    throw traceFolderError(folder, error instanceof Error ? error.message : String(error));
  }
  throw traceFolderError(folder, 'not a folder');
}

function traceFolderError(folder: string, reason: string): TcpxError {
  return new TcpxError(
    'ERR_CONFIG_VALUE',
    `tcpx.traceDir: ${folder}: ${reason}; --trace-dir names a folder that exists`,
    { facts: { name: 'tcpx.traceDir', value: folder } },
  );
}

export function hostEnvironment(set: RailSetOptions, plan: RailGroup): Variables {
  const { values, isSameHostAllowed, log } = set;
  const facts = {
    nics: plan.nics,
    gpu: plan.gpu,
    chunkBytes: values['flow.chunkBytes'],
    sockets: values['tcpx.sockets'],
    threads: values['tcpx.threads'],
    steeringWaitUs: values['tcpx.steeringWaitUs'],
    ctrlInterface: values['session.ctrlInterface'],
    unixPrefix: values['tcpx.unixPrefix'],
    txBindings: values['lane.bindings'],
    pluginPath: values['plugin.path'],
    isSameHostAllowed,
  };
  const inherited = { ...processEnvironment(), ...set.environment };
  const variables = hostVariables(facts, inherited);
  checkVariables(variables);
  log.info('plugin process', { nic: plan.name, libraryPath: variables['LD_LIBRARY_PATH'] });
  return variables;
}
