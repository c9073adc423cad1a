// The process that owns a plugin: its comms, its registered buffers, its threads. Started by
// plugin-host.ts with one argument (HostOptions as JSON) and these descriptors; it ends when told,
// when its parent has gone, or when the plugin ends it.

import { processEnvironment } from '../../../base/config.js';
import { isTcpxError, TcpxError, toTcpxError } from '../../../base/errors.js';
import { GpuContext } from '../../../ffi/cuda/context.js';
import { deviceByOrdinal } from '../../../ffi/cuda/device.js';
import { gpuAbsence, openCudaDriver } from '../../../ffi/cuda/driver.js';
import { endProcessAfter } from '../../../ffi/libc/alarm.js';
import { writeByte } from '../../../ffi/libc/file-descriptor.js';
import { emulatorFacts } from '../../../ffi/nccl-net/emulator-facts.js';
import { NetPlugin, POINTER_CUDA, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import { openPluginLogger, type PluginLogger } from '../../../ffi/nccl-net/plugin-logger.js';
import type { DeviceProperties } from '../../../ffi/nccl-net/properties.js';
import { openUnpackLibrary } from '../../../ffi/unpack-library.js';
import { judgePlacement, readHelperThreads, threadIds } from '../helper-threads.js';
import { PLUGIN_CALLS, WORD_CALL } from '../host-layout.js';
import { HostLink, putText } from '../host-link.js';
import type { HostEvent, HostFacts, HostOptions } from '../host-message.js';
import { CallTrace } from '../trace/call-trace.js';
import { CpuMover } from './chunk-mover.js';
import { GpuSide } from './gpu-side.js';
import { GuardedPlugin } from './guarded-plugin.js';
import { PluginHostLoop } from './plugin-host-loop.js';
import { RegionMapper } from './region-mapper.js';
import { RxdmWatch } from './rxdm-watch.js';

export const LOG_FD = 3;
const WAKE_FD = 4;
const SHARED_FD = 5;
/** A Unix socket over which descriptors of GPU memory come. */
const DESCRIPTOR_FD = 6;
const BELL_FD = 7;

const PAGE_BYTES = 4096;
const START_SECONDS = 660;
/** For closing all comms at the end: joined threads, and RxDM's answer for every socket. */
const CLOSE_SECONDS = 5;

function runHost(options: HostOptions, link: HostLink): void {
  stayForTheApplication();
  // Until the loop looks after itself: longer than anybody waits for the plugin's start.
  endProcessAfter(START_SECONDS);
  link.memory.int32[WORD_CALL] = PLUGIN_CALLS.indexOf('load');
  const plugin = NetPlugin.load({ path: options.pluginPath, name: options.pluginName });
  const absence = railGpuAbsence(plugin.library.isEmulated);
  const context = absence === '' ? makeContextCurrent(options.gpu) : undefined;
  const trace = options.tracePath === undefined ? undefined : new CallTrace(options.tracePath);
  const guarded = new GuardedPlugin(plugin, link.memory.int32, trace);
  const logger = openLogger(options, link);
  const devices = guarded.init(logger);
  const threadsBefore = threadIds();
  const emulator = emulatorFacts(plugin.library);
  requireDeviceMemory(options, emulator !== undefined, absence);
  const gpu = context && new GpuSide(context, options.unpack, options.chunkBytes);
  const mapper = new RegionMapper(gpu, absence, DESCRIPTOR_FD);
  const parentPid = Number(process.argv[3]);
  const loop = new PluginHostLoop({
    link,
    wakeFd: WAKE_FD,
    surroundings: {
      plugin: guarded,
      options,
      float64: link.memory.float64,
      pointerType: options.isHostRecv ? POINTER_HOST : POINTER_CUDA,
      cpu: new CpuMover(options.unpack, options.chunkBytes, openUnpackLibrary()),
      gpu,
      lastWarning: () => logger.lastWarning(),
      rxdm: new RxdmWatch(options.rxdmTimeoutMs),
      bounceBytes: () => {
        const pages = emulator?.pages(options.gpu) ?? 0;
        return options.bounceBytes === 0 ? pages * PAGE_BYTES : options.bounceBytes;
      },
    },
    deviceOf: (nic) => {
      const dev = deviceOf(devices, nic, plugin.library.path);
      requirePciDevice(devices, dev, options, plugin.library.isEmulated);
      return dev;
    },
    mapRegion: (memory) => mapper.map(memory),
    pages: () => ({
      pages: emulator?.pages(options.gpu) ?? 0,
      freePages: emulator?.freePages(options.gpu) ?? 0,
    }),
    placement: () =>
      judgePlacement(readHelperThreads(threadsBefore), bindingTexts(), namesOf(devices)),
    hasParent: () => process.ppid === parentPid,
  });
  const facts: HostFacts = {
    path: plugin.library.path,
    name: plugin.name,
    tableVersion: plugin.tableVersion,
    isEmulated: plugin.library.isEmulated,
    emulatorVersion: emulator?.version ?? '',
    devices,
    pointerType: options.isHostRecv ? 'host' : 'cuda',
    gpuContext: context?.subject ?? '',
    unpackedBy: unpackerOf(options, gpu !== undefined),
  };
  loop.emit({ kind: 'started', facts });
  endProcessAfter(0);
  loop.run(() => endProcessAfter(CLOSE_SECONDS));
  trace?.close();
  endProcessAfter(0);
}

// A signal to the whole group (Ctrl-C, the end of a service) is the application's to obey: this
// process closes its comms when it is told, or when the application has gone.
function stayForTheApplication(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => undefined);
  }
}

function openLogger(options: HostOptions, link: HostLink): PluginLogger {
  const shim = options.isLogLost === true ? { shim: { path: '', absence: 'as asked' } } : {};
  const logger = openPluginLogger({ fd: LOG_FD, ...shim });
  // Told at once: the plugin may end the process before it is initialised.
  if (logger.silence !== '') tell(link, { kind: 'silent', reason: logger.silence });
  return logger;
}

function tell(link: HostLink, event: HostEvent): void {
  putText(link.events, JSON.stringify(event));
  writeByte(WAKE_FD);
}

function unpackerOf(options: HostOptions, hasGpu: boolean): HostFacts['unpackedBy'] {
  if (options.isHostRecv || options.unpack === 'none') return 'none';
  return hasGpu ? 'gpu' : 'cpu';
}

// Without a GPU the emulator takes host memory for device memory; a plugin does not.
function requireDeviceMemory(options: HostOptions, isEmulated: boolean, absence: string): void {
  if (isEmulated || options.isHostRecv || absence === '') return;
  throw new TcpxError(
    'ERR_CAP_GPU',
    `the plugin receives into GPU memory, and there is none: ${absence}; use --host-recv`,
  );
}

/** Why the rail GPU is left alone; empty when it is used. */
function railGpuAbsence(isEmulated: boolean): string {
  const isKeptOut = isEmulated && processEnvironment()['TCPX_EMU_MEMORY'] === 'host';
  return isKeptOut ? 'TCPX_EMU_MEMORY=host' : (gpuAbsence() ?? '');
}

// The plugin takes the device of the calling thread at listen, connect, accept and registration;
// one thread makes all calls, so the rail GPU stays current.
function makeContextCurrent(gpu: number): GpuContext {
  const driver = openCudaDriver();
  return new GpuContext(driver, deviceByOrdinal(driver, gpu));
}

function deviceOf(devices: readonly DeviceProperties[], nic: string, path: string): number {
  const dev = devices.findIndex((device) => device['name'] === nic);
  if (dev >= 0) return dev;
  const present = namesOf(devices).join(', ');
  throw new TcpxError(
    'ERR_CAP_NET_DEVICE',
    `interface ${nic}: not among the devices of ${path} (${present})`,
    { facts: { nic, present } },
  );
}

// The plugin looks a NIC up by its PCI path when GPU memory is registered, and does not expect that
// there is none. The emulator gets along, unless it is told to behave as the original.
function requirePciDevice(
  devices: readonly DeviceProperties[],
  dev: number,
  options: HostOptions,
  isEmulated: boolean,
): void {
  const isStrict = !isEmulated || processEnvironment()['TCPX_EMU_STRICT_PCI'] === '1';
  const device = devices[dev];
  if (options.isHostRecv || !isStrict || typeof device?.['pciPath'] === 'string') return;
  throw new TcpxError(
    'ERR_CAP_NET_DEVICE',
    `interface ${String(device?.['name'])}: a virtual one without PCI device, over which the ` +
      'plugin crashes as soon as GPU memory is registered; name a physical NIC, or use --host-recv',
    { facts: { nic: String(device?.['name']) } },
  );
}

function namesOf(devices: readonly DeviceProperties[]): string[] {
  return devices.map((device) => String(device['name']));
}

function bindingTexts() {
  const variables = processEnvironment();
  return {
    tx: variables['NCCL_GPUDIRECTTCPX_TX_BINDINGS'] ?? '',
    rx: variables['NCCL_GPUDIRECTTCPX_RX_BINDINGS'] ?? '',
  };
}

const link = HostLink.open(SHARED_FD, BELL_FD);
try {
  // checked: written by plugin-host.ts, of the same build
  runHost(JSON.parse(process.argv[2] ?? '{}') as HostOptions, link);
} catch (error) {
  if (!isTcpxError(error)) throw error;
  const { code, message, facts } = toTcpxError(error, 'ERR_NCCLNET_CALL', 'plugin host');
  tell(link, { kind: 'refused', id: 0, failure: { code, message, facts } });
}
