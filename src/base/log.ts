// One line per event on stderr: `key=value` for people, JSON for machines. Never on stdout.

import { writeSync } from 'node:fs';
import { plainJson, plainText } from './foreign-text.js';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** What goes with an event, by name. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where an engine or an agent writes its events. Implement it to send them elsewhere. */
export interface Log {
  /** Something failed that nobody else reports. */
  error(event: string, fields?: LogFields): void;
  /** Something works less well than it should. */
  warn(event: string, fields?: LogFields): void;
  /** A session came or went, and the like. */
  info(event: string, fields?: LogFields): void;
  /** Steps within a session. */
  debug(event: string, fields?: LogFields): void;
  /** Everything; still never a line per chunk. */
  trace(event: string, fields?: LogFields): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  /** Where lines go; stderr unless a test listens. */
  readonly write?: (line: string) => void;
}

export function createLog(options: LogOptions): Log {
  const threshold = LOG_LEVELS.indexOf(options.level);
  const write = options.write ?? writeStderr;
  const at = (level: LogLevel) => (event: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(level) > threshold) return;
    write(`${formatLine(options.format, level, event, fields ?? {})}\n`);
  };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
  };
}

export const silentLog: Log = createLog({ level: 'error', format: 'text', write: () => undefined });

// A full disk or a closed stderr must not take the data path down: the line is lost, nothing else.
function writeStderr(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    return;
  }
}

function formatLine(format: 'text' | 'json', level: LogLevel, event: string, fields: LogFields) {
  const time = new Date().toISOString();
  if (format === 'json') return plainJson({ time, level, event, ...fields });
  let line = `${time} ${level} ${event}`;
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${key}=${quoteIfNeeded(String(value))}`;
  }
  return plainText(line);
}

function quoteIfNeeded(text: string): string {
  return /^[\w.:/+\-@[\]]+$/.test(text) ? text : JSON.stringify(text);
}
