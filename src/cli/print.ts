// Output of commands: what was asked for on stdout, where it can be piped; notes, progress and
// errors on stderr. With --json one document on stdout, for failures too.

import { isTcpxError } from '../base/errors.js';
import { plainJson, plainLines, plainText } from '../base/foreign-text.js';
import { errorDocument } from './error-document.js';
import { fitShellWords, fitText } from './fit-text.js';
import type { HelpWish } from './help.js';
import { layTable } from './table.js';
import { columnsOf, isColoured, paint, paintVerdicts } from './terminal.js';

/** What has gone to stdout as JSON: nothing, a document, or lines of one each. */
let jsonPrinted: 'none' | 'document' | 'lines' = 'none';

export function beginOutput(): void {
  jsonPrinted = 'none';
}

export function printJson(document: unknown): void {
  jsonPrinted = 'document';
  process.stdout.write(`${plainJson(document, 2)}\n`);
}

/** One of many documents, each in a line. */
export function printJsonLine(document: unknown): void {
  jsonPrinted = 'lines';
  process.stdout.write(`${plainJson(document)}\n`);
}

/** A result for people. */
export function printText(text: string): void {
  writeFitted(process.stdout, text);
}

/** Words that are ours alone, painted already. */
export function printOwn(text: string): void {
  process.stdout.write(text);
}

/** Lines that a shell shall read: as they are, whatever the width. */
export function printCode(text: string): void {
  process.stdout.write(plainLines(text));
}

/** The same beside a result. */
export function printCodeNote(text: string): void {
  process.stderr.write(plainLines(text));
}

/** What accompanies a result: a warning, a hint, where a file went. */
export function printNote(text: string): void {
  writeFitted(process.stderr, text);
}

/** As `printText` breaks it. */
export function formatFitted(text: string): string {
  return fitText(text, columnsOf(process.stdout));
}

function writeFitted(stream: NodeJS.WriteStream, text: string): void {
  const plain = plainLines(text);
  const fitted = fitText(plain.endsWith('\n') ? plain : `${plain}\n`, columnsOf(stream));
  stream.write(isColoured(stream) ? paintVerdicts(fitted) : fitted);
}

/** A command line that people copy. */
export function formatShellLine(line: string): string {
  return fitShellWords(line, columnsOf(process.stdout));
}

/** How help is drawn on stdout. */
export function helpWish(isLong: boolean): HelpWish {
  const isPainted = isColoured(process.stdout);
  const heading = (text: string) => (isPainted ? paint('bold', text) : text);
  return { columns: columnsOf(process.stdout), isLong, heading };
}

export interface ErrorWish {
  readonly hasStack: boolean;
  readonly isJson: boolean;
}

/** One clear line with the code; the stack only where asked; a document where JSON was. */
export function printError(error: unknown, { hasStack, isJson }: ErrorWish): void {
  // A result that was printed already says itself what failed.
  if (isJson && jsonPrinted === 'none') printJson(errorDocument(error));
  else if (isJson && jsonPrinted === 'lines') printJsonLine(errorDocument(error));
  const line = isTcpxError(error)
    ? `${error.code}: ${error.message}`
    : `internal error: ${error instanceof Error ? error.message : String(error)}`;
  printNote(line);
  if (hasStack && error instanceof Error && error.stack !== undefined) {
    process.stderr.write(`${plainLines(error.stack)}\n`);
  }
}

/** Aligned columns that fit on stdout; numbers to the right. The first row is the heading. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  return layTable(rows, columnsOf(process.stdout));
}

/** A progress line on a terminal, nothing in a pipe. */
export function showProgress(text: string): void {
  showProgressLines([text]);
}

/** Several, each cut to the width; the cursor stays at the first, so that the next replace them. */
export function showProgressLines(lines: readonly string[]): void {
  if (!process.stderr.isTTY) return;
  const columns = columnsOf(process.stderr) - 1;
  const text = lines.map((line) => plainText(line).slice(0, columns)).join('\n');
  const back = lines.length > 1 ? `\u001b[${lines.length - 1}A` : '';
  process.stderr.write(`\r\u001b[J${text}${back}\r`);
}

/** On a terminal: what is printed next takes the place of the last rows. */
export function replaceRows(rows: number): void {
  if (process.stdout.isTTY && rows > 0) process.stdout.write(`\u001b[${rows}A\u001b[J`);
}

export function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[J');
}
