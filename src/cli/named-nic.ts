// A NIC that the command line names.

import { TcpxError } from '../base/errors.js';
import type { HostModel, Nic } from '../host/read/model.js';

/** One that is not there is an error that lists those that are, not a silence. */
export function namedNic(model: HostModel, name: string): Nic {
  const nic = model.nics.find((candidate) => candidate.name === name);
  if (nic !== undefined) return nic;
  const known = model.nics.map((candidate) => candidate.name).join(', ');
  throw new TcpxError('ERR_USAGE_ARGUMENT', `no interface ${name}; there are: ${known}`);
}
