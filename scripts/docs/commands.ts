// The table of commands in README.md from the list that `tcpx --help` prints.

import { COMMANDS } from '../../src/cli/commands.js';
import { markdownTable } from './markdown-table.js';

export function renderCommands(): string {
  const rows = COMMANDS.map((command) => {
    const words = ['tcpx', command.name, command.positionals ?? ''];
    return [`\`${words.filter((word) => word !== '').join(' ')}\``, command.summary];
  });
  return markdownTable(['command', 'does'], rows);
}
