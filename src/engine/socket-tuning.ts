// Socket options of data connections, from the settings.

import type { Config } from '../base/config.js';
import type { SocketTuning } from '../os/dial.js';

export function socketTuning(config: Config): SocketTuning {
  return {
    bufferBytes: config.values['socket.bufferBytes'],
    userTimeoutMs: config.values['socket.userTimeoutMs'],
    isZeroCopy: config.values['socket.sendBy'] === 'zerocopy',
  };
}
