// Every command, in the order in which help lists them.

import type { Command } from './command.js';
import { benchClientCommand } from './commands/bench-client.js';
import { benchLoopbackCommand } from './commands/bench-loopback.js';
import { benchServerCommand } from './commands/bench-server.js';
import { configCommand } from './commands/config.js';

export const COMMANDS: readonly Command[] = [
  benchLoopbackCommand,
  benchServerCommand,
  benchClientCommand,
  configCommand,
];
