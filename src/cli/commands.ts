// Every command, in the order in which help lists them.

import type { Command } from './command.js';
import { configCommand } from './commands/config.js';
import { devicesCommand } from './commands/devices.js';

export const COMMANDS: readonly Command[] = [configCommand, devicesCommand];
