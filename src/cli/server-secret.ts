// What a server that others shall find has besides its settings: a secret of its own where nobody
// gave it one, and the name of the program for the line that it prints.

import { randomBytes } from 'node:crypto';
import { type Config, loadConfig, processEnvironment } from '../base/config.js';

/** Without a secret of the user's, one is made for this run alone. */
export function withSecret(config: Config): { config: Config; secret: string | undefined } {
  const { values } = config;
  const hasOwn = values['trust.secret'] !== '' || values['trust.secretFile'] !== '';
  if (hasOwn || values['trust.mode'] === 'network') return { config, secret: undefined };
  const secret = randomBytes(24).toString('base64url');
  const fresh = loadConfig({ options: { ...values, 'trust.secret': secret } });
  return { config: { values: fresh.values, effective: config.effective }, secret };
}

/** In a clone there is no tcpx on the search path: whoever came by npx here does so there. */
export function ownProgram(): string {
  return processEnvironment()['npm_command'] === 'exec' ? 'npx tcpx' : 'tcpx';
}
