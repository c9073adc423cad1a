// Which NICs a benchmark of the tcpx provider uses where none are named: those of its GPU.

import { type Config, processEnvironment } from '../base/config.js';
import type { TcpxProviderOptions } from '../engine/tcpx/tcpx-provider.js';
import { readNicGpus } from '../host/topo/nic-gpus.js';

export function benchRails({ values }: Config): NonNullable<TcpxProviderOptions['rails']> {
  const nicGpus = readNicGpus(processEnvironment(), values['session.ctrlInterface']);
  return { gpu: values['bench.gpu'], ...(nicGpus === undefined ? {} : { nicGpus }) };
}
