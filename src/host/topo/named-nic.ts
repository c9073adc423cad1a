// NICs that a person names.

import { TcpxError } from '../../base/errors.js';
import type { HostModel, Nic } from '../read/model.js';

/** One that is not there is an error that lists those that are, not a silence. */
export function namedNic(model: HostModel, name: string): Nic {
  const nic = model.nics.find((candidate) => candidate.name === name);
  if (nic !== undefined) return nic;
  const known = model.nics.map((candidate) => candidate.name).join(', ') || 'none';
  throw new TcpxError('ERR_USAGE_ARGUMENT', `no interface ${name}; there are: ${known}`);
}

/** Names with commas between; one written twice is more likely a slip than a wish. */
export function namedNics(model: HostModel, text: string): readonly Nic[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${twice} is named twice in ${text}`);
  }
  return names.map((name) => namedNic(model, name));
}
