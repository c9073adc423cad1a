// What an engine stands on before it starts anything: its name, its settings, its log.

import { hostname } from 'node:os';
import { loadConfig, processEnvironment } from '../base/config.js';
import { createLog } from '../base/log.js';
import { checkEngineName } from './engine-name.js';
import type { EngineOptions } from './engine-options.js';

/** As the options say; else from the environment and the table of settings. */
export function basisOf(options: EngineOptions) {
  const config =
    options.config ??
    loadConfig({ options: options.settings ?? {}, environment: processEnvironment() });
  const { 'log.level': level, 'log.format': format } = config.values;
  const log = options.log ?? createLog({ level, format });
  const name = checkEngineName(options.name ?? `${hostname()}:${process.pid}`);
  return { name, config, log };
}
