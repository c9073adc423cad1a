// Output of commands: data on stdout, everything for people on stderr.

import { isTcpxError } from '../base/errors.js';
import { plainJson, plainLines, plainText } from '../base/foreign-text.js';

export function printJson(document: unknown): void {
  process.stdout.write(`${plainJson(document, 2)}\n`);
}

/** One document per line. */
export function printJsonLine(document: unknown): void {
  process.stdout.write(`${plainJson(document)}\n`);
}

/** Lines for other programs, or what was asked for. */
export function printData(text: string): void {
  process.stdout.write(plainLines(text));
}

export function printText(text: string): void {
  const plain = plainLines(text);
  process.stderr.write(plain.endsWith('\n') ? plain : `${plain}\n`);
}

/** One clear line with the code; the stack only where asked. */
export function printError(error: unknown, withStack: boolean): void {
  if (isTcpxError(error)) printText(`${error.code}: ${error.message}`);
  else printText(`internal error: ${error instanceof Error ? error.message : String(error)}`);
  if (withStack && error instanceof Error && error.stack !== undefined) printText(error.stack);
}

/** Aligned columns; numbers to the right. The first row is the heading. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    }
  }
  const lines = rows.map((row) =>
    row
      .map((cell, index) => {
        const width = widths[index] ?? 0;
        return /^[\d.,+-]+$/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** A progress line on a terminal, nothing in a pipe. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${plainText(text)}`);
}

/** On a terminal: what is printed next takes the place of the last rows. */
export function replaceRows(rows: number): void {
  if (process.stderr.isTTY && rows > 0) process.stderr.write(`\u001b[${rows}A\u001b[J`);
}

export function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}
