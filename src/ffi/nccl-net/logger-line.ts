// Lines of the logger shim: `level<TAB>flags in hex<TAB>where<TAB>line<TAB>text`. Pure.

export interface LoggerLine {
  /** 2 warning, 3 information, 5 trace. */
  readonly level: number;
  readonly flags: number;
  readonly where: string;
  readonly line: number;
  readonly text: string;
}

export const LEVEL_WARN = 2;

export interface SplitLines {
  readonly lines: LoggerLine[];
  /** An unfinished line at the end. */
  readonly rest: string;
}

export function splitLoggerLines(text: string): SplitLines {
  const parts = text.split('\n');
  const rest = parts.pop() ?? '';
  return { lines: parts.filter((part) => part !== '').map(parseLoggerLine), rest };
}

/** A line that does not have the form is kept as text of level warning: nothing is lost. */
export function parseLoggerLine(text: string): LoggerLine {
  const match = /^(\d+)\t([0-9a-f]+)\t([^\t]*)\t(-?\d+)\t(.*)$/s.exec(text);
  if (match === null) return { level: LEVEL_WARN, flags: 0, where: '', line: 0, text };
  const [, level, flags, where = '', line, body = ''] = match;
  return {
    level: Number(level),
    flags: Number.parseInt(flags ?? '0', 16),
    where,
    line: Number(line),
    text: body,
  };
}
