// The target process of `tcpx bench loopback`: started by it, ends with it.

import { loadConfig, processEnvironment } from '../base/config.js';
import { isTcpxError } from '../base/errors.js';
import { createLog } from '../base/log.js';
import { openBenchService } from './bench-service.js';

const config = loadConfig({ environment: processEnvironment() });
const { values } = config;
const log = createLog({ level: values['log.level'], format: values['log.format'] });
// The parent is gone, whatever the reason: leave, and let the kernel close what is open.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// A terminal tells both processes; the parent ends its run in order, and this with it.
process.on('SIGINT', () => undefined);
void serve();

async function serve(): Promise<void> {
  try {
    const service = await openBenchService({ config, log, port: 0 });
    process.send?.({ port: service.port });
    await service.finished;
    await service.close();
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    // Told by the parent, which knows how.
    process.send?.({ code: error.code, message: error.message });
  }
  process.disconnect();
}
