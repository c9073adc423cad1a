// Services whose engines move data through the NCCL net plugin, in the place of which stands the
// emulator, over four NICs; and what their programs have told of the rails.

import { emulatorPath, emulatorVariables } from '../native/plugin-environment.js';
import type { RunningService, ServiceWorld } from './service-world.js';

export const NICS = ['eth1', 'eth2', 'eth3', 'eth4'];

/** `more`: where its programs find a driver for GPUs, mostly. */
export function emulatedService(
  world: ServiceWorld,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const env = {
    ...more,
    ...emulatorVariables,
    TCPX_EMU_MEMORY: 'cuda',
    NIXL_TCPX_PLUGIN_PATH: emulatorPath,
    NIXL_TCPX_SESSION_NICS: NICS.join(','),
    NIXL_TCPX_FLOW_CHANNELS: '4',
    NIXL_TCPX_TCPX_SOCKETS: '1',
    NIXL_TCPX_TCPX_STEERING_WAIT_US: '1000',
    // One process for four NICs: what is tested here is beside how many there are.
    NIXL_TCPX_TCPX_PROCESSES: 'one',
    NIXL_TCPX_TCPX_STATE_DIR: world.newFolder(),
  };
  return world.service({ env });
}

export interface SeenTelemetry {
  readonly provider: string;
  readonly providerReason: string;
  readonly rails: readonly { readonly nic: string; readonly provider: string }[];
}

export function railsOf({ rails }: SeenTelemetry, provider: string): string[] {
  return rails.filter((rail) => rail.provider === provider).map(({ nic }) => nic);
}
