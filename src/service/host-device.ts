// Which device number stands for a client's host memory, and how the lanes are told whose it is.

import { TcpxError } from '../base/errors.js';
import { besideUrl } from '../base/launch.js';
import { GPUS_MAX } from '../gpu/staging-device.js';
import type { OtherProcess } from './process-copies.js';

/** The last number that tables by device have room for; no host has so many GPUs. */
export const HOST_DEVICE = GPUS_MAX - 1;

/** The module that an engine's lanes load for the memory of this client. */
export function memoryModuleOf({ pid, pidfd }: OtherProcess): URL {
  const module = besideUrl('service/client-memory-main.js');
  module.search = `pid=${pid}&pidfd=${pidfd}`;
  return module;
}

export function processOf(module: URL): OtherProcess {
  const pid = Number(module.searchParams.get('pid') ?? '');
  const pidfd = Number(module.searchParams.get('pidfd') ?? '-1');
  if (Number.isSafeInteger(pid) && pid > 0 && Number.isSafeInteger(pidfd) && pidfd >= 0) {
    return { pid, pidfd };
  }
  throw new TcpxError('ERR_USAGE_ARGUMENT', `${module.search}: no process`);
}
