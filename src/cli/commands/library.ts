// `tcpx library`: where the C library for programs is, compiled at first use where it must be.

import type { Command } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { packageVersion } from '../package-version.js';
import { printCode, printJson } from '../print.js';

export const libraryCommand: Command = {
  name: 'library',
  group: 'serve',
  summary: 'Where libtcpx_p2p.so is, which programs attach through; compiled at first use.',
  settings: [],
  examples: [
    ['library', 'For TCPX_P2P_LIBRARY="$(tcpx library)" before a program in Python.'],
    ['library --json', 'The header and the Python module too.'],
  ],
  async run({ isJson, log }) {
    const { p2pFiles } = await import('../../ffi/p2p-library.js');
    const onCompile = (): void => log.info('libtcpx_p2p.so is compiled, for some seconds');
    const files = p2pFiles({ version: packageVersion(), onCompile });
    if (isJson) printJson({ schema: 'tcpx.library/1', ...files });
    else printCode(`${files.library}\n`);
    return ExitCode.Good;
  },
};
