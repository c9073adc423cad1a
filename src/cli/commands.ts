// Every command, in the order in which help lists them.

import type { Command } from './command.js';
import { configCommand } from './commands/config.js';
import { topoCommand } from './commands/topo.js';
import { watchCommand } from './commands/watch.js';

export const COMMANDS: readonly Command[] = [topoCommand, watchCommand, configCommand];
