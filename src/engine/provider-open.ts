// Which provider an engine can offer: opens the plugin where the settings ask for it, or where
// `auto` finds everything that it needs, and says why not where it does not.

import { type Environment, processEnvironment } from '../base/config.js';
import { isTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import { readNicGpus } from '../host/topo/nic-gpus.js';
import type { ControlSet } from '../os/control-set.js';
import { hostId } from '../os/host-id.js';
import type { MatchHandler } from '../provider/tcpx/match-connection.js';
import { TcpxProvider, type TcpxProviderOptions } from '../provider/tcpx/tcpx-provider.js';
import { readDevmemPackets } from './devmem-counters.js';
import type { ProviderOffer } from './provider-choice.js';
import { obstacleToTcpx } from './provider-outlook.js';

const SAME_HOST_VARIABLE = 'TCPX_EMU_SAME_HOST';

export interface OpenedProvider {
  readonly tcpx: TcpxProvider | undefined;
  /** Why tcpx is offered, or not. */
  readonly reason: string;
  readonly offer: ProviderOffer;
}

type OpenOptions = Omit<TcpxProviderOptions, 'devmemPackets'>;

/** `gpu`: whose memory will be moved, where that is known. */
export async function openProvider(
  options: OpenOptions,
  gpu: number | undefined,
): Promise<OpenedProvider> {
  const { values, log } = options;
  const wish = values['engine.provider'];
  const offer = { hasTcp: wish !== 'tcpx', hasTcpx: false, isSameHostServed: false };
  const without = (reason: string): OpenedProvider => ({
    tcpx: undefined,
    reason,
    offer: { ...offer, hostId: hostId() },
  });
  if (wish === 'tcp') return without('engine.provider is tcp');
  const obstacle = wish === 'auto' ? obstacleToTcpx(values) : '';
  if (obstacle !== '') return without(obstacle);
  try {
    const variables = { ...processEnvironment(), ...options.pluginEnvironment };
    const nicGpus = readNicGpus(variables, values['session.ctrlInterface']);
    const rails = {
      ...(gpu === undefined ? {} : { gpu }),
      ...(nicGpus === undefined ? {} : { nicGpus }),
    };
    const tcpx = await TcpxProvider.open({
      rails,
      devmemPackets: (nics, isEmulated) => readDevmemPackets(nics, isEmulated, variables),
      ...options,
    });
    const isSameHostServed = isServed(tcpx, variables);
    return {
      tcpx,
      reason: `plugin ${tcpx.plugin.name}, NICs ${tcpx.rails.nics.join(', ')}`,
      offer: { ...offer, hasTcpx: true, isSameHostServed, hostId: hostId() },
    };
  } catch (error) {
    if (wish === 'tcpx' || !isTcpxError(error)) throw error;
    warnOfPlugin(log, error.message);
    return without(error.message);
  }
}

function warnOfPlugin(log: Log, reason: string): void {
  log.warn('the plugin cannot be used; data goes over tcp', { reason });
}

// Only the emulator, and only where it was told to.
function isServed(tcpx: TcpxProvider, variables: Environment): boolean {
  return tcpx.rails.facts.isEmulated && variables[SAME_HOST_VARIABLE] === '1';
}

/** How the connection of matched transfers is taken over, where the tcpx provider is open. */
export function matchOpener(
  tcpx: TcpxProvider | undefined,
  values: SettingValues,
  control: ControlSet,
) {
  const { 'session.controlTimeoutMs': silentMs, 'lane.progress': progress } = values;
  // Where callers drive, no thread looks at the control sockets but theirs.
  const watcher = progress === 'lanes' ? control : undefined;
  return (
    tcpx && ((fd: number, handler: MatchHandler) => tcpx.openStream(fd, silentMs, handler, watcher))
  );
}

/** Whatever a constructor throws, no process of the plugin stays behind. */
export async function constructed<T>({ tcpx }: OpenedProvider, construct: () => T): Promise<T> {
  try {
    return construct();
  } catch (error) {
    await tcpx?.close();
    throw error;
  }
}
