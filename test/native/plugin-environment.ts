// Where the native parts lie, and the environment that emulated runs share: NICs on loopback
// addresses, and no waiting where the original waits for hardware.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../e2e/child.js';

const nativeFolder = join(packageRoot, 'build/native');
export const emulatorPath = join(nativeFolder, 'libnccl-net-tcpx-emulator.so');
export const driverPath = join(nativeFolder, 'nccl-net-driver');
export const fakeCudaPath = join(nativeFolder, 'libfake-cuda.so');

export type Variables = Readonly<Record<string, string>>;

const NICS = ['eth1', 'eth2', 'eth3', 'eth4'].map((name, i) => `${name},addr=127.0.0.${11 + i}`);

export const emulatorVariables: Variables = {
  TCPX_EMU_NICS: NICS.join(';'),
  TCPX_EMU_SAME_HOST: '1',
  TCPX_EMU_SETUP_STEP_MICROS: '1000',
  // Few bytes are moved: with huge pages most time goes into zeroing the pools.
  TCPX_EMU_HUGE_PAGES: '0',
  // A GPU of the host that runs the tests is left alone.
  TCPX_EMU_MEMORY: 'host',
  NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: '1000',
  NCCL_DYNAMIC_CHUNK_SIZE: '524288',
};

/** This process' environment without settings of NCCL, ours, the emulator or a test runner. */
export function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(NIXL_|UCCL_|NCCL_|TCPX_|NODE_TEST_)/.test(name),
    ),
  );
}

export function requireNative(): void {
  if (existsSync(emulatorPath)) return;
  throw new Error('the native parts are not built: npm run build:native');
}
