// How the lanes are told whose host memory it is that they copy.

import { TcpxError } from '../base/errors.js';
import { besideUrl } from '../base/launch.js';
import type { OtherProcess } from './process-copies.js';

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
