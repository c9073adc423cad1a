// man/tcpx.1, which the package carries, from the list that `tcpx --help` prints.

import { COMMANDS } from '../../src/cli/commands.js';
import { manPage } from '../../src/cli/man-page.js';

export function renderManPage(): string {
  return manPage(COMMANDS);
}
