// A loaded plugin: set-up calls that throw typed errors, and the per-message calls. Handles, comms
// and requests are addresses as Numbers; they mean something to the plugin alone.

import koffi from 'koffi';
import type { Address, ByteCount, CommHandle, MemoryHandle } from '../../base/quantity.js';
import { mapMemory, viewMapping } from '../libc/mapping.js';
import { type BoundCall, type BoundCalls, bindCalls } from './bound-calls.js';
import { netCallError } from './net-result.js';
import {
  AREA_CONFIG,
  AREA_DEVICE,
  AREA_OUT,
  AREA_PROPERTIES,
  PluginCalls,
} from './plugin-calls.hot.js';
import { loadPluginLibrary, type PluginChoice, type PluginLibrary } from './plugin-library.js';
import type { PluginLogger } from './plugin-logger.js';
import { type DeviceProperties, decodeProperties } from './properties.js';
import { memberOffset } from './table-layout.js';

export const HANDLE_BYTES = 128;
export const DEVICE_HANDLE_BYTES = 32;
/** Pointer types of registrations. */
export const POINTER_HOST = 1;
export const POINTER_CUDA = 2;

const AREA_BYTES = 4096;
const TRAFFIC_CLASS_UNDEFINED = -1;

export class NetPlugin {
  readonly library: PluginLibrary;
  /** As the table names itself, for example `GPUDirectTCPX_v7`. */
  readonly name: string;
  readonly messages: PluginCalls;
  private readonly calls: BoundCalls;
  private readonly areaAddr: number;
  private readonly area: DataView;
  /** Of plugins since v11; 0 before. */
  private context = 0;

  constructor(library: PluginLibrary) {
    this.library = library;
    this.calls = bindCalls(library);
    this.name = readText(library.tableView.getBigUint64(memberOffset(library.table, 'name'), true));
    const mapping = mapMemory(AREA_BYTES);
    const buffer = viewMapping(mapping);
    this.areaAddr = mapping.addr;
    this.area = new DataView(buffer);
    this.area.setInt32(AREA_CONFIG, TRAFFIC_CLASS_UNDEFINED, true);
    this.messages = new PluginCalls(this.calls, mapping.addr, new Uint32Array(buffer));
  }

  static load(choice: PluginChoice): NetPlugin {
    return new NetPlugin(loadPluginLibrary(choice));
  }

  get tableVersion(): number {
    return this.library.table.version;
  }

  /** Once per process. After a failure no other call may follow: the original crashes. */
  init(logger: PluginLogger): void {
    const { init } = this.calls;
    this.context = this.out('init', '', init, logger.address, this.outAddr, this.configAddr);
    if (this.tableVersion < 11) this.context = 0;
  }

  deviceCount(): number {
    this.area.setInt32(AREA_OUT, 0, true);
    this.check('devices', '', this.calls.devices(this.outAddr));
    return this.area.getInt32(AREA_OUT, true);
  }

  properties(dev: number): DeviceProperties {
    const addr = this.areaAddr + AREA_PROPERTIES;
    this.check('getProperties', `device ${dev}`, this.calls.getProperties(dev, addr));
    const { properties } = this.library.table;
    const view = new DataView(this.area.buffer, AREA_PROPERTIES, properties.bytes);
    return decodeProperties(properties, view, (text) => readText(BigInt(text)));
  }

  /** Fills the 128 bytes at `handleAddr`; returns the listen comm. */
  listen(dev: number, handleAddr: Address): CommHandle {
    const { listen } = this.calls;
    return this.out('listen', `device ${dev}`, listen, this.context, dev, handleAddr, this.outAddr);
  }

  /** 0 while not connected: call again with the same 128 writable bytes. */
  connect(dev: number, handleAddr: Address): CommHandle {
    const device = this.deviceSlot(0);
    const { connect } = this.calls;
    return this.out(
      'connect',
      `device ${dev}`,
      connect,
      this.context,
      dev,
      handleAddr,
      this.outAddr,
      device,
      this.configAddr,
    );
  }

  /** 0 while nobody came. `deviceHandleAddr` names 32 bytes that the plugin fills when done. */
  accept(listenComm: CommHandle, deviceHandleAddr: Address): CommHandle {
    const device = this.deviceSlot(deviceHandleAddr);
    return this.out('accept', '', this.calls.accept, listenComm, this.outAddr, device);
  }

  registerMemory(
    comm: CommHandle,
    addr: Address,
    bytes: ByteCount,
    pointerType: number,
  ): MemoryHandle {
    const what = `${bytes} bytes, type ${pointerType}`;
    return this.out('regMr', what, this.calls.regMr, comm, addr, bytes, pointerType, this.outAddr);
  }

  deregisterMemory(comm: CommHandle, mhandle: MemoryHandle): void {
    this.check('deregMr', '', this.calls.deregMr(comm, mhandle));
  }

  closeSend(comm: CommHandle): void {
    this.check('closeSend', '', this.calls.closeSend(comm));
  }

  closeReceive(comm: CommHandle): void {
    this.check('closeRecv', '', this.calls.closeRecv(comm));
  }

  closeListen(listenComm: CommHandle): void {
    this.check('closeListen', '', this.calls.closeListen(listenComm));
  }

  /** Ends the plugin's context; nothing before v11. */
  finalize(): void {
    this.check('finalize', '', this.calls.finalize(this.context));
  }

  private get outAddr(): number {
    return this.areaAddr + AREA_OUT;
  }

  private get configAddr(): number {
    return this.areaAddr + AREA_CONFIG;
  }

  private deviceSlot(deviceHandleAddr: Address): number {
    this.area.setBigUint64(AREA_DEVICE, BigInt(deviceHandleAddr), true);
    return this.areaAddr + AREA_DEVICE;
  }

  private out(name: string, object: string, call: BoundCall, ...values: number[]): number {
    this.area.setBigUint64(AREA_OUT, 0n, true);
    this.check(name, object, call(...values));
    return Number(this.area.getBigUint64(AREA_OUT, true));
  }

  private check(call: string, object: string, result: number): void {
    if (result !== 0) throw netCallError(call, object, result);
  }
}

function readText(addr: bigint): string {
  return addr === 0n ? '' : String(koffi.decode(addr, 'char', -1));
}
