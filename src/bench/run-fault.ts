// Why a result is not `ok`, in words and as the error that a command ends with. Pure.

import { TcpxError } from '../base/errors.js';
import type { BenchResult } from './bench-result.js';

/** undefined of a result that is. */
export function runFault({ ok, verified, devmem }: BenchResult): TcpxError | undefined {
  if (ok) return undefined;
  const { mismatches, iterations } = verified;
  if (mismatches === 0 && devmem?.verdict === 'failed') {
    return new TcpxError('ERR_XFER_PATH', `${devmem.reason} (rx_devmem_pkts)`);
  }
  return new TcpxError(
    'ERR_XFER_VERIFY',
    `${mismatches} of ${iterations} verified iterations differ at the target`,
  );
}
