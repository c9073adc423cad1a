// How an engine may be called: its name reaches peers, their logs and terminals.

import { checkText } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import { hasUnseen } from '../base/foreign-text.js';
import { NAME_BYTES_MAX } from '../wire/control-frame.js';

export function checkEngineName(name: string): string {
  checkText('name', name);
  const bytes = Buffer.byteLength(name);
  if (hasUnseen(name)) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `name ${JSON.stringify(name)}: control characters or invisible ones`,
    );
  }
  if (bytes > 0 && bytes <= NAME_BYTES_MAX) return name;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `name of ${bytes} bytes: an agent's name has 1 to ${NAME_BYTES_MAX}`,
  );
}
