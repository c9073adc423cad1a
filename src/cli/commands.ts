// Every command, in the order in which help lists them.

import type { Command } from './command.js';
import { benchClientCommand } from './commands/bench-client.js';
import { benchLoopbackCommand } from './commands/bench-loopback.js';
import { benchServerCommand } from './commands/bench-server.js';
import { configCommand } from './commands/config.js';
import { devicesCommand } from './commands/devices.js';
import { topoCommand } from './commands/topo.js';
import { watchCommand } from './commands/watch.js';

export const COMMANDS: readonly Command[] = [
  benchLoopbackCommand,
  benchServerCommand,
  benchClientCommand,
  topoCommand,
  devicesCommand,
  watchCommand,
  configCommand,
];
