// What a server that others shall find has besides its settings: a secret of its own where nobody
// gave it one, and the name of the program for the line that it prints.

import { randomBytes } from 'node:crypto';
import { type Config, loadConfig, processEnvironment } from '../base/config.js';
import { isInstalled } from '../base/installed.js';
import { environmentName } from '../base/settings.js';

/** Without a secret of the user's, one is made for this run alone. */
export function withSecret(config: Config): { config: Config; secret: string | undefined } {
  const { values } = config;
  const hasOwn = values['trust.secret'] !== '' || values['trust.secretFile'] !== '';
  if (hasOwn || values['trust.mode'] === 'network') return { config, secret: undefined };
  const secret = randomBytes(24).toString('base64url');
  const fresh = loadConfig({ options: { ...values, 'trust.secret': secret } });
  return { config: { values: fresh.values, effective: config.effective }, secret };
}

/** By npx in a clone or a project, which puts a tcpx on the search path for itself alone. */
export function ownProgram(): string {
  const environment = processEnvironment();
  const isByNpx = environment['npm_command'] === 'exec';
  return isByNpx || !isInstalled('tcpx', environment) ? 'npx tcpx' : 'tcpx';
}

/** What the printed line leaves out: a secret of the user's is not printed. */
export function secretNote({ values }: Config): string | undefined {
  if (values['trust.secret'] === '') return undefined;
  return `the other node needs the same secret: set ${environmentName('trust.secret')} there too`;
}
