// The CUDA driver functions that we call, as the C headers declare them. Addresses and handles are
// 64-bit integers here, so that a call takes plain Numbers and makes no object.

import koffi, { type LibraryHandle } from 'koffi';

export const IPC_HANDLE_BYTES = 64;
const IPC_HANDLE = koffi.struct({ reserved: koffi.array('uint8', IPC_HANDLE_BYTES, 'Typed') });

const U32 = 'uint32';
const I32 = 'int32';
const SIZE = 'size_t';
/** A device address, a host address or an opaque handle. */
const PTR = 'uint64';

/** Every driver since CUDA 11 has these; without one of them the library is unusable to us. */
const REQUIRED = {
  cuInit: [U32],
  cuDriverGetVersion: [PTR],
  cuGetErrorName: [I32, PTR],
  cuGetErrorString: [I32, PTR],
  cuDeviceGetCount: [PTR],
  cuDeviceGet: [PTR, I32],
  cuDeviceGetName: [PTR, I32, I32],
  cuDeviceGetAttribute: [PTR, I32, I32],
  cuDeviceTotalMem_v2: [PTR, I32],
  cuDeviceGetPCIBusId: [PTR, I32, I32],
  cuDevicePrimaryCtxRetain: [PTR, I32],
  cuDevicePrimaryCtxRelease_v2: [I32],
  cuCtxSetCurrent: [PTR],
  cuCtxGetCurrent: [PTR],
  cuCtxSynchronize: [],
  cuMemGetInfo_v2: [PTR, PTR],
  cuMemAlloc_v2: [PTR, SIZE],
  cuMemFree_v2: [PTR],
  cuMemGetAddressRange_v2: [PTR, PTR, PTR],
  cuPointerGetAttribute: [PTR, I32, PTR],
  cuMemHostAlloc: [PTR, SIZE, U32],
  cuMemFreeHost: [PTR],
  cuMemHostRegister_v2: [PTR, SIZE, U32],
  cuMemHostUnregister: [PTR],
  cuMemHostGetDevicePointer_v2: [PTR, PTR, U32],
  cuMemcpyHtoDAsync_v2: [PTR, PTR, SIZE, PTR],
  cuMemcpyDtoHAsync_v2: [PTR, PTR, SIZE, PTR],
  cuMemcpyDtoDAsync_v2: [PTR, PTR, SIZE, PTR],
  cuMemcpyHtoD_v2: [PTR, PTR, SIZE],
  cuMemcpyDtoH_v2: [PTR, PTR, SIZE],
  cuMemsetD8Async: [PTR, 'uint8', SIZE, PTR],
  cuStreamCreate: [PTR, U32],
  cuStreamDestroy_v2: [PTR],
  cuStreamSynchronize: [PTR],
  cuStreamQuery: [PTR],
  cuStreamWaitEvent: [PTR, PTR, U32],
  cuEventCreate: [PTR, U32],
  cuEventDestroy_v2: [PTR],
  cuEventRecord: [PTR, PTR],
  cuEventQuery: [PTR],
  cuEventSynchronize: [PTR],
  cuEventElapsedTime: [PTR, PTR, PTR],
  cuModuleLoadData: [PTR, PTR],
  cuModuleUnload: [PTR],
  cuModuleGetFunction: [PTR, PTR, 'str'],
  cuLaunchKernel: [PTR, U32, U32, U32, U32, U32, U32, U32, PTR, PTR, PTR],
  cuIpcGetMemHandle: [PTR, PTR],
  cuIpcOpenMemHandle_v2: [PTR, IPC_HANDLE, U32],
  cuIpcCloseMemHandle: [PTR],
} as const;

/** Absent on some drivers; calling an absent one is a CapabilityError. */
const OPTIONAL = {
  cuMemcpyAsync: [PTR, PTR, SIZE, PTR],
  cuStreamWriteValue32_v2: [PTR, PTR, U32, U32],
  cuLaunchKernelEx: [PTR, PTR, PTR, PTR],
  cuGraphCreate: [PTR, U32],
  cuGraphAddKernelNode: [PTR, PTR, PTR, SIZE, PTR],
  cuGraphInstantiateWithFlags: [PTR, PTR, 'uint64'],
  cuGraphExecKernelNodeSetParams: [PTR, PTR, PTR],
  cuGraphLaunch: [PTR, PTR],
  cuGraphExecDestroy: [PTR],
  cuGraphDestroy: [PTR],
  cuMemGetAllocationGranularity: [PTR, PTR, U32],
  cuMemCreate: [PTR, SIZE, PTR, 'uint64'],
  cuMemRelease: ['uint64'],
  cuMemAddressReserve: [PTR, SIZE, SIZE, PTR, 'uint64'],
  cuMemAddressFree: [PTR, SIZE],
  cuMemMap: [PTR, SIZE, SIZE, 'uint64', 'uint64'],
  cuMemUnmap: [PTR, SIZE],
  cuMemSetAccess: [PTR, SIZE, PTR, SIZE],
  cuMemRetainAllocationHandle: [PTR, PTR],
  cuMemExportToShareableHandle: [PTR, 'uint64', I32, 'uint64'],
  cuMemImportFromShareableHandle: [PTR, PTR, I32],
  cuMemGetHandleForAddressRange: [PTR, PTR, SIZE, I32, 'uint64'],
  cuMemPoolCreate: [PTR, PTR],
  cuMemPoolDestroy: [PTR],
  cuMemPoolSetAccess: [PTR, PTR, SIZE],
  cuMemAllocFromPoolAsync: [PTR, SIZE, PTR, PTR],
  cuMemAllocAsync: [PTR, SIZE, PTR],
  cuMemFreeAsync: [PTR, PTR],
  cuMemPoolExportToShareableHandle: [PTR, PTR, I32, 'uint64'],
  cuMemPoolImportFromShareableHandle: [PTR, PTR, I32, 'uint64'],
  cuMemPoolExportPointer: [PTR, PTR],
  cuMemPoolImportPointer: [PTR, PTR, PTR],
} as const;

type Argument<T> = T extends 'str'
  ? string
  : T extends string
    ? number
    : { readonly reserved: Uint8Array };
type Arguments<Words extends readonly unknown[]> = {
  -readonly [Index in keyof Words]: Argument<Words[Index]>;
};
type Bound<Table extends Readonly<Record<string, readonly unknown[]>>> = {
  readonly [Name in keyof Table]: (...words: Arguments<Table[Name]>) => number;
};

export type CudaFunctions = Bound<typeof REQUIRED> & Bound<typeof OPTIONAL>;
export type CudaCall = keyof CudaFunctions;

export interface BoundFunctions {
  readonly functions: CudaFunctions;
  /** Required names that the library lacks. */
  readonly missing: readonly string[];
}

/** `onAbsent` is what calling an optional function does when the library lacks it. */
export function bindFunctions(
  library: LibraryHandle,
  onAbsent: (name: string) => never,
): BoundFunctions {
  const functions: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const [name, words] of Object.entries({ ...REQUIRED, ...OPTIONAL })) {
    try {
      functions[name] = library.func(name, I32, [...words]);
    } catch {
      if (name in REQUIRED) missing.push(name);
      functions[name] = () => onAbsent(name);
    }
  }
  return { functions: functions as unknown as CudaFunctions, missing };
}
