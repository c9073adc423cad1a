// The process of `tcpx plugin check`: holds the plugin, tries every rule, prints a line of JSON for
// each on stdout. The plugin may end it at any point; what was printed stays.

import { writeSync } from 'node:fs';
import { processEnvironment } from '../../../base/config.js';
import { isTcpxError } from '../../../base/errors.js';
import { GpuContext } from '../../../ffi/cuda/context.js';
import { deviceByOrdinal } from '../../../ffi/cuda/device.js';
import { gpuAbsence, openCudaDriver } from '../../../ffi/cuda/driver.js';
import { endProcessAfter } from '../../../ffi/libc/alarm.js';
import { NetPlugin } from '../../../ffi/nccl-net/net-plugin.js';
import { openPluginLogger } from '../../../ffi/nccl-net/plugin-logger.js';
import { checkPlugin } from './check-plugin.js';
import type { CheckLine } from './check-rules.js';
import type { CheckRequest } from './run-check.js';

const LOG_FD = 3;

function print(line: CheckLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

function main(request: CheckRequest): void {
  // Whatever the plugin does, this process ends.
  endProcessAfter(Math.ceil(request.timeoutMs / 1000));
  const variables = processEnvironment();
  print({ trying: 'load' });
  const plugin = NetPlugin.load({ path: request.path, name: request.name });
  const isHostOnly = plugin.library.isEmulated && variables['TCPX_EMU_MEMORY'] === 'host';
  const hasGpu = !isHostOnly && gpuAbsence() === undefined;
  if (hasGpu) makeCurrent(request.gpu);
  checkPlugin({
    plugin,
    logger: openPluginLogger({ fd: LOG_FD }),
    nic: request.nic,
    limitMs: request.limitMs,
    isScatterSafe: plugin.library.isEmulated && !hasGpu && variables['TCPX_EMU_SAME_HOST'] === '1',
    print,
  });
}

// The plugin takes the device that is current at listen, connect and accept.
function makeCurrent(gpu: number): void {
  const driver = openCudaDriver();
  new GpuContext(driver, deviceByOrdinal(driver, gpu)).makeCurrent();
}

try {
  // checked: written by run-check.ts, of the same build
  main(JSON.parse(process.argv[2] ?? '{}') as CheckRequest);
} catch (error) {
  if (!isTcpxError(error)) throw error;
  print({ result: { id: 'load', verdict: 'fail', seen: error.message } });
}
