// GPUs of this host: by ordinal, by PCI address, with the properties that the engine asks for.

import { TcpxError } from '../../base/errors.js';
import { type CudaDriver, checkCuda, gpuError } from './driver.js';

/** Numbers of CUdevice_attribute. */
export const DeviceAttribute = {
  MultiprocessorCount: 16,
  CanMapHostMemory: 19,
  L2CacheBytes: 38,
  UnifiedAddressing: 41,
  ComputeMajor: 75,
  ComputeMinor: 76,
  HostRegisterSupported: 99,
  VirtualMemorySupported: 102,
  PosixFdHandleSupported: 103,
  DmaBufSupported: 124,
} as const;
export type DeviceAttribute = (typeof DeviceAttribute)[keyof typeof DeviceAttribute];

export interface GpuDevice {
  readonly ordinal: number;
  /** The driver's handle. */
  readonly handle: number;
  readonly name: string;
  /** `0000:3b:00.0`, lower case, as /sys/bus/pci/devices spells it. */
  readonly pciAddress: string;
  readonly memoryBytes: number;
  readonly multiprocessors: number;
  /** 10 × major + minor: 90 for Hopper. */
  readonly computeCapability: number;
  readonly l2CacheBytes: number;
}

const NAME_BYTES = 128;
/** compute_80, which the committed kernels are built for. */
const COMPUTE_MINIMUM = 80;

export function listDevices(driver: CudaDriver): GpuDevice[] {
  const { functions, scratch } = driver;
  checkCuda(driver, functions.cuDeviceGetCount(scratch.addr), 'cuDeviceGetCount', 'of this host');
  const count = scratch.int32(0);
  return Array.from({ length: count }, (_, ordinal) => describeDevice(driver, ordinal));
}

export function deviceByOrdinal(driver: CudaDriver, ordinal: number): GpuDevice {
  const devices = listDevices(driver);
  const device = devices[ordinal];
  if (device === undefined) {
    throw gpuError(`GPU ${ordinal}: the driver knows ${devices.length} of them`, {
      ordinal,
      count: devices.length,
    });
  }
  return device;
}

export function deviceByPciAddress(driver: CudaDriver, text: string): GpuDevice {
  const wanted = canonicalPciAddress(text);
  if (wanted === undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${JSON.stringify(text)} is not a PCI address`);
  }
  const devices = listDevices(driver);
  const device = devices.find((candidate) => candidate.pciAddress === wanted);
  if (device === undefined) {
    const known = devices.map((candidate) => candidate.pciAddress).join(', ');
    throw gpuError(`GPU at PCI ${wanted}: the driver knows ${known || 'none'}`, { wanted, known });
  }
  return device;
}

/** Accepts `3b:00.0`, `0000:3B:00.0` and `00000000:3b:00.0`; undefined when it is none of them. */
export function canonicalPciAddress(text: string): string | undefined {
  const match = /^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?$/i.exec(text);
  if (match === null) return undefined;
  const domain = Number.parseInt(match[1] ?? '0', 16)
    .toString(16)
    .padStart(4, '0');
  return `${domain}:${match[2]}:${match[3]}.${match[4] ?? '0'}`.toLowerCase();
}

/** Says why the committed kernels cannot run there; undefined when they can. */
export function kernelObstacle(device: GpuDevice): string | undefined {
  if (device.computeCapability >= COMPUTE_MINIMUM) return undefined;
  return `${device.name} has compute capability ${device.computeCapability / 10}, kernels need 8.0`;
}

export function deviceAttribute(
  driver: CudaDriver,
  handle: number,
  attribute: DeviceAttribute,
): number {
  const { functions, scratch } = driver;
  const result = functions.cuDeviceGetAttribute(scratch.addr, attribute, handle);
  checkCuda(driver, result, 'cuDeviceGetAttribute', `${attribute} of device ${handle}`);
  return scratch.int32(0);
}

function describeDevice(driver: CudaDriver, ordinal: number): GpuDevice {
  const { functions, scratch } = driver;
  const subject = `of GPU ${ordinal}`;
  checkCuda(driver, functions.cuDeviceGet(scratch.addr, ordinal), 'cuDeviceGet', subject);
  const handle = scratch.int32(0);
  const named = functions.cuDeviceGetName(scratch.addr, NAME_BYTES, handle);
  checkCuda(driver, named, 'cuDeviceGetName', subject);
  const name = scratch.text(0, NAME_BYTES);
  const located = functions.cuDeviceGetPCIBusId(scratch.addr, NAME_BYTES, handle);
  checkCuda(driver, located, 'cuDeviceGetPCIBusId', subject);
  const pciText = scratch.text(0, NAME_BYTES);
  const sized = functions.cuDeviceTotalMem_v2(scratch.addr, handle);
  checkCuda(driver, sized, 'cuDeviceTotalMem_v2', subject);
  const memoryBytes = scratch.uint64(0);
  const attribute = (which: DeviceAttribute) => deviceAttribute(driver, handle, which);
  return {
    ordinal,
    handle,
    name,
    pciAddress: canonicalPciAddress(pciText) ?? pciText.toLowerCase(),
    memoryBytes,
    multiprocessors: attribute(DeviceAttribute.MultiprocessorCount),
    computeCapability:
      10 * attribute(DeviceAttribute.ComputeMajor) + attribute(DeviceAttribute.ComputeMinor),
    l2CacheBytes: attribute(DeviceAttribute.L2CacheBytes),
  };
}
