// Benchmarks in the form of UCCL's: what a GPU word or its variables change, and logs for its
// tools, one for each role and one with what is known of the host.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, processEnvironment } from '../base/config.js';
import { toTcpxError } from '../base/errors.js';
import { makeFolder } from '../base/make-folder.js';
import type { BenchReport } from '../bench/bench-message.js';
import type { BenchResult } from '../bench/bench-result.js';
import { openFolderFiles } from '../host/read/host-files.js';
import { verboseEnd, verboseStart } from './bench-verbose.js';
import { printNote } from './print.js';

export interface UcclForm {
  readonly config: Config;
  /** Undefined where nothing asks for that form, and nothing is logged. */
  readonly logs: UcclLogs | undefined;
}

export async function ucclForm(given: Config, hasGpu: boolean): Promise<UcclForm> {
  const { applyUcclForm } = await import('../bench/uccl-form.js');
  await noteIdleVariables();
  const config = applyUcclForm(given, { hasGpu, environment: processEnvironment() });
  if (config === undefined) return { config: given, logs: undefined };
  return { config, logs: new UcclLogs(config, new Date()) };
}

/** What somebody has set and nothing reads. */
export async function noteIdleVariables(): Promise<void> {
  const { idleVariables } = await import('../bench/uccl-form.js');
  const line = idleVariables(processEnvironment());
  if (line !== undefined) printNote(line);
}

export class UcclLogs {
  readonly #config: Config;
  readonly #time: Date;

  constructor(config: Config, time: Date) {
    this.#config = config;
    this.#time = time;
  }

  async client(result: BenchResult): Promise<void> {
    const { clientLines, logName } = await import('../bench/uccl-form.js');
    const lines = clientLines(result, this.#config.values['bench.gpu']);
    this.#append(logName('client', this.#time), lines);
    const { host, peer, kernel, interrupts, load } = result;
    const facts = JSON.stringify({ host, peer, kernel, interrupts, load }, null, 2);
    this.#append(logName('info', this.#time), [...this.#topology(), ...verboseEnd(result), facts]);
    printNote(`logs: ${join(this.#folder, logName('client', this.#time))}`);
  }

  async server(peer: string, report: BenchReport): Promise<void> {
    const { logName, serverLines } = await import('../bench/uccl-form.js');
    const lines = serverLines(peer, report, this.#config.values['bench.gpu']);
    this.#append(logName('server', this.#time), lines);
    this.#append(logName('info', this.#time), this.#topology());
  }

  get #folder(): string {
    return this.#config.values['bench.logDir'];
  }

  #topology(): string[] {
    return verboseStart(this.#config, processEnvironment(), openFolderFiles('/'));
  }

  #append(name: string, lines: readonly string[]): void {
    const path = join(this.#folder, name);
    try {
      makeFolder(this.#folder);
      writeFileSync(path, `${lines.join('\n')}\n`, { flag: 'a' });
    } catch (error) {
      // A run is not lost with its log.
      printNote(toTcpxError(error, 'ERR_SYS_CALL', `log ${path}`).message);
    }
  }
}
