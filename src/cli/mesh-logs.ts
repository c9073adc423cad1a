// Logs of a mesh, one for each role of each GPU, as UCCL's full-mesh runs leave them; written where
// its variables or a folder ask for them.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, isByHand, processEnvironment } from '../base/config.js';
import { toTcpxError } from '../base/errors.js';
import { makeFolder } from '../base/make-folder.js';
import { printNote } from './print.js';

export class MeshLogs {
  readonly #folder: string | undefined;
  readonly #time = new Date();

  /** `isAsked`: the command has the form of UCCL's. */
  constructor(config: Config, isAsked: boolean) {
    const variables = Object.entries(processEnvironment());
    const isUccl = variables.some(([name, text]) => /^UCCL_TCPX_/.test(name) && text !== '');
    const isWanted = isAsked || isUccl || isByHand(config, 'bench.logDir');
    this.#folder = isWanted ? config.values['bench.logDir'] : undefined;
  }

  /** `name` is made from the time of the start. */
  append(name: (time: Date) => string, lines: () => readonly string[]): void {
    if (this.#folder === undefined) return;
    const path = join(this.#folder, name(this.#time));
    try {
      makeFolder(this.#folder);
      writeFileSync(path, `${lines().join('\n')}\n`, { flag: 'a' });
    } catch (error) {
      // A run is not lost with its log.
      printNote(toTcpxError(error, 'ERR_SYS_CALL', `log ${path}`).message);
    }
  }
}
