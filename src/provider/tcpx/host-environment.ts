// The environment of a plugin host: what the plugin needs to be told, over what the user has set.
// Pure. The plugin's own default for the chunk size stalls every transfer, so it is always given.

import { dirname } from 'node:path';
import { forcedVariables, type Variables } from './plugin-variables.js';

export interface HostEnvironmentFacts {
  readonly nics: readonly string[];
  readonly gpu: number;
  readonly chunkBytes: number;
  readonly sockets: number;
  readonly threads: number;
  readonly steeringWaitUs: number;
  readonly ctrlInterface: string;
  /** `off` takes it from the plugin; empty leaves what was inherited. */
  readonly unixPrefix: string;
  /** Cores of send threads, in the plugin's own grammar; empty leaves what was inherited. */
  readonly txBindings: string;
  readonly pluginPath: string;
  /** For the emulator alone: peers of the same host are let through. */
  readonly isSameHostAllowed: boolean;
}

const SAME_HOST_VARIABLE = 'TCPX_EMU_SAME_HOST';

/** The emulator's switch where it is set, else whether the caller lets peers of one host pass. */
export function isSameHostSwitched(isAllowed: boolean, inherited: Variables): boolean {
  const text = inherited[SAME_HOST_VARIABLE] ?? '';
  return text === '' ? isAllowed : text === '1';
}

/** Folders that the plugin's own installer uses, behind the plugin's folder. */
const LIBRARY_FOLDERS = ['/usr/local/tcpx/lib64', '/usr/local/nvidia/lib64'];

/** Fixed order: the plugin's folder, the installer's, then what was inherited. */
export function libraryPath(pluginPath: string, inherited: string): string {
  const own = pluginPath.includes('/') ? [dirname(pluginPath)] : [];
  const all = [...own, ...LIBRARY_FOLDERS, ...inherited.split(':')].filter((path) => path !== '');
  return [...new Set(all)].join(':');
}

export function hostVariables(facts: HostEnvironmentFacts, inherited: Variables): Variables {
  const variables: Record<string, string> = {
    LD_LIBRARY_PATH: libraryPath(facts.pluginPath, inherited['LD_LIBRARY_PATH'] ?? ''),
    NCCL_DYNAMIC_CHUNK_SIZE: String(facts.chunkBytes),
    NCCL_NSOCKS_PERTHREAD: String(facts.sockets),
    NCCL_SOCKET_NTHREADS: String(facts.threads),
    NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: String(facts.steeringWaitUs),
    ...forcedVariables(),
    TCPX_EMU_GPU: String(facts.gpu),
  };
  if (facts.nics.length > 0) {
    variables['NCCL_GPUDIRECTTCPX_SOCKET_IFNAME'] = `=${facts.nics.join(',')}`;
  }
  if (facts.ctrlInterface !== '') {
    variables['NCCL_GPUDIRECTTCPX_CTRL_DEV'] = facts.ctrlInterface;
  }
  if (facts.txBindings !== '') {
    variables['NCCL_GPUDIRECTTCPX_TX_BINDINGS'] = facts.txBindings;
  }
  if (facts.isSameHostAllowed) {
    variables[SAME_HOST_VARIABLE] = isSameHostSwitched(true, inherited) ? '1' : '0';
  }
  return { ...inherited, ...variables, ...unixPrefixVariable(facts.unixPrefix) };
}

function unixPrefixVariable(prefix: string): Variables {
  if (prefix === '') return {};
  return { NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX: prefix === 'off' ? undefined : prefix };
}
