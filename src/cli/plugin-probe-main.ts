// The child of `tcpx devices`: loads the plugin, asks it, and prints one JSON line on stdout. The
// plugin may end this process; log lines have then already left through descriptor 3.

import { writeSync } from 'node:fs';
import { isTcpxError } from '../base/errors.js';
import { NetPlugin } from '../ffi/nccl-net/net-plugin.js';
import { openPluginLogger } from '../ffi/nccl-net/plugin-logger.js';
import type { ProbeAnswer } from './plugin-probe.js';

const LOG_FD = 3;

function probe(path: string, name: string): ProbeAnswer {
  try {
    const plugin = NetPlugin.load({ path, name });
    const logger = openPluginLogger({ fd: LOG_FD });
    plugin.init(logger);
    const devices = Array.from({ length: plugin.deviceCount() }, (_, dev) =>
      plugin.properties(dev),
    );
    return {
      found: {
        path: plugin.library.path,
        name: plugin.name,
        tableVersion: plugin.tableVersion,
        isEmulated: plugin.library.isEmulated,
        logSilence: logger.silence,
        devices,
      },
    };
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    return { failed: { code: error.code, message: error.message } };
  }
}

const [path = '', name = ''] = process.argv.slice(2);
writeSync(1, `${JSON.stringify(probe(path, name))}\n`);
