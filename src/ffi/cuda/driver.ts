// Opens libcuda.so.1 and checks results. What is absent becomes a CapabilityError that says what
// was probed; what the driver refuses becomes a DriverError that says which call and on what.

import koffi, { type LibraryHandle } from 'koffi';
import { TcpxError } from '../../base/errors.js';
import { FixedMemory, textAt } from './fixed-memory.js';
import { bindFunctions, type CudaCall, type CudaFunctions } from './functions.js';

export const CUDA_LIBRARY = 'libcuda.so.1';

/** Results that are answers, not failures. */
export const CudaResult = {
  Success: 0,
  /** An address that the driver does not know, among others. */
  InvalidValue: 1,
  /** A query found work that is still running. */
  NotReady: 600,
} as const;

const SCRATCH_BYTES = 512;

export interface CudaDriver {
  readonly functions: CudaFunctions;
  /** Out-parameters of one call; read before the next call. One per thread, as drivers are. */
  readonly scratch: FixedMemory;
  /** 1000 × major + 10 × minor of the newest CUDA that the driver serves. */
  readonly version: number;
  readonly libraryName: string;
}

let opened: CudaDriver | undefined;

/** The driver, opened once per thread. */
export function openCudaDriver(libraryName = CUDA_LIBRARY): CudaDriver {
  if (opened?.libraryName === libraryName) return opened;
  const driver = openLibrary(libraryName);
  opened = driver;
  return driver;
}

/** Why there is no GPU to use here, in one line; undefined where there is one. */
export function gpuAbsence(libraryName = CUDA_LIBRARY): string | undefined {
  try {
    const { functions, scratch } = openCudaDriver(libraryName);
    const result = functions.cuDeviceGetCount(scratch.addr);
    if (result !== CudaResult.Success) return `cuDeviceGetCount gave ${result}`;
    return scratch.int32(0) > 0 ? undefined : 'the driver knows no device';
  } catch (error) {
    if (error instanceof TcpxError) return error.message;
    throw error;
  }
}

function openLibrary(libraryName: string): CudaDriver {
  const library = loadLibrary(libraryName);
  const bound = bindFunctions(library, (name) => {
    throw gpuError(`this driver's ${libraryName} has no ${name}`, { library: libraryName, name });
  });
  const scratch = new FixedMemory(SCRATCH_BYTES);
  if (bound.missing.length > 0) {
    throw gpuError(
      `open ${libraryName}: it lacks ${bound.missing.slice(0, 3).join(', ')}` +
        (bound.missing.length > 3 ? ` and ${bound.missing.length - 3} more` : ''),
      { library: libraryName, missing: bound.missing.length },
    );
  }
  const { functions } = bound;
  const result = functions.cuInit(0);
  if (result !== CudaResult.Success) {
    const name = resultName(functions, scratch, result);
    throw gpuError(`cuInit of ${libraryName}: ${name}`, { library: libraryName, result });
  }
  const driver = { functions, scratch, version: 0, libraryName };
  checkCuda(driver, functions.cuDriverGetVersion(scratch.addr), 'cuDriverGetVersion', libraryName);
  return { ...driver, version: scratch.int32(0) };
}

function loadLibrary(libraryName: string): LibraryHandle {
  try {
    return koffi.load(libraryName);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw gpuError(`open ${libraryName}: ${reason}`, { library: libraryName });
  }
}

export function gpuError(message: string, facts: TcpxError['facts'] = {}): TcpxError {
  return new TcpxError('ERR_CAP_GPU', message, { facts });
}

/** Throws unless the result is success; `subject` says what the call was about. */
export function checkCuda(
  driver: Pick<CudaDriver, 'functions' | 'scratch'>,
  result: number,
  call: CudaCall,
  subject: string,
): void {
  if (result === CudaResult.Success) return;
  throw cudaError(driver, result, call, subject);
}

export function cudaError(
  driver: Pick<CudaDriver, 'functions' | 'scratch'>,
  result: number,
  call: CudaCall,
  subject: string,
): TcpxError {
  const name = resultName(driver.functions, driver.scratch, result);
  return new TcpxError('ERR_CUDA_CALL', `${call} ${subject}: ${name}`, {
    facts: { call, result, name, subject },
  });
}

// `CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)`; the driver knows names before cuInit.
function resultName(functions: CudaFunctions, scratch: FixedMemory, result: number): string {
  const last = scratch.bytes - 8;
  const name = namedBy(functions.cuGetErrorName(result, scratch.addr + last), scratch, last);
  const text = namedBy(functions.cuGetErrorString(result, scratch.addr + last), scratch, last);
  if (name === undefined) return `unknown CUDA result ${result}`;
  return `${name} (${result}${text === undefined ? '' : `: ${text}`})`;
}

function namedBy(result: number, scratch: FixedMemory, offset: number): string | undefined {
  const addr = scratch.uint64(offset);
  return result === CudaResult.Success && addr !== 0 ? textAt(addr) : undefined;
}
