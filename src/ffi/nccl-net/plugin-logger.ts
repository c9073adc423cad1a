// The logger that a plugin is given. A native shim formats lines and writes them to a pipe without
// waiting, from any thread; where there is no shim the plugin logs into nothing, and `silence` says
// why. Never a JavaScript callback: a plugin thread that waits for the event loop,
// while the event loop waits for that thread in a call, is a deadlock.

import koffi from 'koffi';
import { closeFd, createPipe, readFd } from '../libc/file-descriptor.js';
import { checkCall } from '../libc/library.js';
import { type Mapping, mapMemory, viewMapping } from '../libc/mapping.js';
import { type LoggerLine, splitLoggerLines } from './logger-line.js';
import { findLoggerShim, type LoggerShim } from './logger-shim.js';

const READ_BYTES = 64 * 1024;
/** As the shim keeps them. */
const WARNING_BYTES = 512;

export interface LoggerOptions {
  /** Where lines go, for example a pipe to a supervisor; without it a pipe of our own. */
  readonly fd?: number;
  /** Highest plugin level that is written: 2 warnings, 3 information, 5 all. */
  readonly levelMax?: number;
  /** Another shim, for tests. */
  readonly shim?: LoggerShim;
}

export interface PluginLogger {
  /** Address of a C function with the logger's signature. */
  readonly address: number;
  /** Why the plugin's lines are lost; empty when they are not. */
  readonly silence: string;
  /** Lines written since the last call; always empty when they go to a given fd. */
  take(): LoggerLine[];
  /** The plugin's last warning, as soon as the call that gave it returns; empty without one. */
  lastWarning(): string;
  /** Lines lost because the pipe was full. */
  dropped(): number;
  /** Stops writing; the plugin may go on to call the logger. */
  close(): void;
}

const LEVEL_INFO = 3;

export function openPluginLogger(options: LoggerOptions = {}): PluginLogger {
  const { path, absence } = options.shim ?? findLoggerShim();
  return path === '' ? silentLogger(absence) : openShim(path, options);
}

function openShim(path: string, options: LoggerOptions): PluginLogger {
  const shim = koffi.load(path);
  const open = shim.func('int tcpx_logger_open(int fd, int level)');
  const stop = shim.func('void tcpx_logger_close()');
  const dropped = shim.func('long tcpx_logger_dropped()');
  const warning = shim.func('unsigned int tcpx_logger_last_warning(uintptr_t target, int bytes)');
  const words = mapMemory(WARNING_BYTES);
  const pipe = options.fd === undefined ? createPipe() : undefined;
  const fd = options.fd ?? pipe?.writeFd ?? -1;
  const opened = Number(open(fd, options.levelMax ?? LEVEL_INFO));
  checkCall('fcntl', `log descriptor ${fd}`, opened);
  const takeBytes = pipe === undefined ? () => '' : pipeReader(pipe.readFd);
  let rest = '';
  return {
    address: Number(shim.symbol('tcpx_logger')),
    silence: '',
    take() {
      const split = splitLoggerLines(rest + takeBytes());
      rest = split.rest;
      return split.lines;
    },
    lastWarning: () => (Number(warning(words.addr, WARNING_BYTES)) === 0 ? '' : textOf(words)),
    dropped: () => Number(dropped()),
    close() {
      stop();
      if (pipe === undefined) return;
      closeFd(pipe.writeFd);
      closeFd(pipe.readFd);
    },
  };
}

function textOf(words: Mapping): string {
  const bytes = Buffer.from(viewMapping(words));
  return bytes.toString('utf8', 0, bytes.indexOf(0));
}

function pipeReader(fd: number): () => string {
  const mapping = mapMemory(READ_BYTES);
  const bytes = Buffer.from(viewMapping(mapping));
  return () => {
    const count = readFd(fd, mapping.addr, READ_BYTES);
    return count <= 0 ? '' : bytes.toString('utf8', 0, count);
  };
}

// Any C function that takes no argument will do: on the supported processors the caller cleans up.
function silentLogger(silence: string): PluginLogger {
  const libc = koffi.load('libc.so.6');
  return {
    address: Number(libc.symbol('getppid')),
    silence,
    take: () => [],
    lastWarning: () => '',
    dropped: () => 0,
    close: () => undefined,
  };
}
