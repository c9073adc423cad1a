// Backends of one process over the emulated plugin: parameters as an agent's user gives them, and
// the plugin's own variables in the environment, where its users have them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { silentLog } from '../../src/base/log.js';
import { memoryRange } from '../../src/memory/region.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { TcpxBackend } from '../../src/nixl/tcpx-backend.js';
import { emulatorVariables, requireNative } from '../native/plugin-environment.js';
import { pluginParams, type Texts } from '../native/plugin-params.js';
import type { ContractMemory, ContractPeer, ContractWorld } from './backend-world.js';

/** For the whole file: the emulator in the environment, and parameters that name it. */
export function usePlugin(more: Texts = {}): Texts {
  requireNative();
  Object.assign(process.env, emulatorVariables, more);
  const stateDir = mkdtempSync(join(tmpdir(), 'tcpx-nixl-'));
  after(() => rmSync(stateDir, { recursive: true, force: true }));
  return pluginParams({ 'tcpx.stateDir': stateDir });
}

export type Allocate = (
  backend: TcpxBackend,
  memType: MemType,
  byteCount: number,
) => ContractMemory;

export function pluginWorld(
  params: Texts,
  allocate: Allocate,
  memTypes: readonly MemType[] = [MemType.DRAM],
): ContractWorld {
  const open = new Map<ContractPeer, TcpxBackend>();
  return {
    memTypes,
    openPeer: async (agent) => {
      const backend = await TcpxBackend.open({
        localAgent: agent,
        type: 'TCPX',
        params,
        log: silentLog,
      });
      const peer: ContractPeer = {
        agent,
        backend,
        allocate: (memType, byteCount) => allocate(backend, memType, byteCount),
      };
      open.set(peer, backend);
      return peer;
    },
    killPeer: async (peer) => {
      const backend = open.get(peer);
      open.delete(peer);
      await backend?.close();
    },
    close: async () => {
      await Promise.all([...open.values()].map((backend) => backend.close()));
    },
  };
}

/** Memory that the plugin of the backend reaches. */
export const sharedMemory: Allocate = (backend, _, byteCount) =>
  hostMemory(new Uint8Array(backend.allocateMem(byteCount).buffer));

function hostMemory(bytes: Uint8Array): ContractMemory {
  const { addr } = memoryRange(bytes);
  return {
    memType: MemType.DRAM,
    addr,
    len: bytes.length,
    devId: 0,
    write: (offset, source) => bytes.set(source, offset),
    read: (offset, len) => bytes.slice(offset, offset + len),
  };
}
