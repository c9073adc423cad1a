// The other process of the IPC test: maps an allocation, checks the pattern at an offset, leaves
// another one, and prints what it saw. Arguments: handle in hex, offset, bytes.

import { IpcMapping } from '../../src/ffi/cuda/ipc.js';
import { GpuKernels } from '../../src/gpu/gpu-kernels.js';
import { KernelQueue } from '../../src/gpu/kernel-queue.js';
import { openGpu } from './gpu.js';

const [handle, offset, bytes] = process.argv.slice(2);
const context = openGpu();
const kernels = new GpuKernels(context);
const queue = new KernelQueue(kernels);
const mapping = new IpcMapping(context, Buffer.from(handle ?? '', 'hex'));
const span = { addr: mapping.baseAddr + Number(offset), bytes: Number(bytes) };
const seen = queue.verify(span, 1, 0);
queue.wait(queue.fill(span, 2, 0));
queue.destroy();
mapping.close();
kernels.unload();
context.close();
process.stdout.write(JSON.stringify({ mismatches: seen.count }));
