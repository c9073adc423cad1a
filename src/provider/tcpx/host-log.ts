// Lines of a plugin and its process: into our log, and the last of them kept for the error that
// follows. The plugin's version is only said there.

import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Log } from '../../base/log.js';
import { LEVEL_WARN, type LoggerLine, splitLoggerLines } from '../../ffi/nccl-net/logger-line.js';
import { TRACE_PREFIX } from './trace/call-trace.js';

const KEPT_MAX = 20;
const LAST_WORDS = 3;
const LOG_STREAM = 3;
/** The plugin's helper threads warn of it, also at the end of a session that went well. */
const NORMAL_END = /Connection closed by remote peer/;

export class HostLog {
  readonly warnings: string[] = [];
  pluginVersion = '';
  readonly #name: string;
  readonly #log: Log;
  readonly #isIdle: () => boolean;
  readonly #said: string[] = [];
  readonly #times = new Map<string, number>();
  #rest = '';

  /** `isIdle` says whether no chunk is under way. */
  constructor(name: string, log: Log, isIdle: () => boolean) {
    this.#name = name;
    this.#log = log;
    this.#isIdle = isIdle;
  }

  attach(child: ChildProcess): void {
    (child.stdio[LOG_STREAM] as Readable).on('data', (bytes: Buffer) =>
      this.#onLog(bytes.toString()),
    );
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#onText(text));
    }
  }

  /** Warnings, or else what the process itself printed. */
  lastWords(): string[] {
    return (this.warnings.length > 0 ? this.warnings : this.#said).slice(-LAST_WORDS);
  }

  #onLog(text: string): void {
    const { lines, rest } = splitLoggerLines(this.#rest + text);
    this.#rest = rest;
    for (const line of lines) this.#onLine(line);
  }

  #onLine(line: LoggerLine): void {
    const version = /NET\/GPUDirectTCPX ver\. (\S+)/.exec(line.text)?.[1];
    if (version !== undefined) this.pluginVersion = version;
    const fields = { nic: this.#name, where: line.where, text: line.text };
    if (line.level > LEVEL_WARN || (NORMAL_END.test(line.text) && this.#isIdle())) {
      this.#log.info('plugin', fields);
      return;
    }
    const times = (this.#times.get(line.text) ?? 0) + 1;
    this.#times.set(line.text, times);
    if (times === 1) keep(this.warnings, line.text);
    // Some warnings come with every poll of a healthy transfer: the 1st, 10th, 100th … is enough.
    if (!Number.isInteger(Math.log10(times))) return;
    this.#log.warn('plugin', times === 1 ? fields : { ...fields, times });
  }

  #onText(text: string): void {
    for (const line of text.split('\n').filter((part) => part !== '')) {
      if (line.startsWith(TRACE_PREFIX)) {
        // Asked for by name: shown at the level that is on by default.
        this.#log.warn('plugin call', { nic: this.#name, call: line.slice(TRACE_PREFIX.length) });
        continue;
      }
      keep(this.#said, line);
      this.#log.warn('plugin process', { nic: this.#name, text: line });
    }
  }
}

function keep(list: string[], text: string): void {
  list.push(text);
  if (list.length > KEPT_MAX) list.shift();
}
