// `tcpx diag latest`: the newest bundle.

import { TcpxError } from '../../base/errors.js';
import { BUNDLES_FOLDER, latestBundle } from '../../diag/bundle/bundle-folder.js';
import type { Command } from '../command.js';
import { OUT_FLAG } from '../diag-collect.js';
import { ExitCode } from '../exit-code.js';
import { printCode, printJson } from '../print.js';

export const diagLatestCommand: Command = {
  name: 'diag latest',
  group: 'diagnose',
  summary: 'Print the newest bundle’s folder.',
  settings: [],
  flags: [OUT_FLAG],
  examples: [
    ['diag latest', 'The newest in diagnostics.'],
    ['diag latest --out /var/tmp/bundles', 'The newest elsewhere.'],
  ],
  run(invocation) {
    const parent = invocation.text('out') ?? BUNDLES_FOLDER;
    const folder = latestBundle(parent);
    if (folder === undefined) {
      throw new TcpxError(
        'ERR_USAGE_NOT_FOUND',
        `no bundle in ${parent}; tcpx diag run -- COMMAND makes one, --out names another folder`,
      );
    }
    if (invocation.isJson) printJson({ schema: 'tcpx.diag-latest/1', folder });
    else printCode(`${folder}\n`);
    return Promise.resolve(ExitCode.Good);
  },
};
