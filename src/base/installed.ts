// Whether a program is on the search path.

import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from './config.js';

export function isInstalled(program: string, environment: Environment): boolean {
  return (environment['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
