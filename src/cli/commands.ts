// Every command, loaded, in the order in which help lists them.

import type { Command } from './command.js';
import { COMMAND_LOADERS } from './command-loaders.js';

export const COMMANDS: readonly Command[] = await Promise.all(
  Object.values(COMMAND_LOADERS).map((load) => load()),
);
