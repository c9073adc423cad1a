// Tables that fit: aligned columns; where they are wider than the terminal, long cells go on in
// the next line, and columns for which there is still no room follow below, beside the first one
// again. Pure.

import { at } from '../base/assert.js';
import { wrapWords } from './fit-text.js';

type Rows = readonly (readonly string[])[];

const GAP = 2;
/** Below that a cell is not broken further: it would read as noise. */
const WIDTH_MIN = 8;

/** Numbers stand to the right. The first row is the heading. */
export function layTable(rows: Rows, columns: number): string {
  const widths = naturalWidths(rows);
  if (tableWidth(widths) <= columns) return drawRows(rows, widths);
  const squeezed = squeeze(widths, leastWidths(rows), columns);
  if (tableWidth(squeezed) <= columns) return drawRows(rows, squeezed);
  return splitTable(rows, columns);
}

function naturalWidths(rows: Rows): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    }
  }
  return widths;
}

/** The longest word of each column, up to where words may be broken too. */
function leastWidths(rows: Rows): number[] {
  return naturalWidths(
    rows.map((row) =>
      row.map((cell) => {
        const words = cell.split(' ').flatMap((word) => word.split(/(?<=[,;:/=|])/));
        return words.reduce((longest, word) => (word.length > longest.length ? word : longest), '');
      }),
    ),
  ).map((width, index) => Math.max(width, index === 0 ? 0 : WIDTH_MIN));
}

function tableWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(0, widths.length - 1);
}

/** The widest columns give way first. */
function squeeze(natural: readonly number[], least: readonly number[], columns: number): number[] {
  const widths = [...natural];
  while (tableWidth(widths) > columns) {
    let widest = -1;
    for (const [index, width] of widths.entries()) {
      if (width > at(least, index) && (widest < 0 || width > at(widths, widest))) widest = index;
    }
    if (widest < 0) return widths;
    widths[widest] = at(widths, widest) - 1;
  }
  return widths;
}

/** As many columns as fit in one table, the rest in further ones with the same first column. */
function splitTable(rows: Rows, columns: number): string {
  const widths = naturalWidths(rows);
  const least = leastWidths(rows);
  const key = Math.min(at(widths, 0), Math.floor(columns / 2));
  const blocks: number[][] = [];
  let used = columns;
  for (const index of widths.keys()) {
    if (index === 0) continue;
    const wanted = GAP + Math.min(at(least, index), columns - key - GAP);
    if (used + wanted > columns) {
      blocks.push([]);
      used = key;
    }
    at(blocks, blocks.length - 1).push(index);
    used += wanted;
  }
  if (blocks.length === 0) return drawRows(rows, [columns]);
  return blocks.map((block) => drawBlock(rows, key, block, columns)).join('\n');
}

function drawBlock(rows: Rows, key: number, block: readonly number[], columns: number): string {
  const cells = rows.map((row) => block.map((index) => row[index] ?? ''));
  const room = columns - key - GAP;
  const least = leastWidths(cells).map((width) => Math.min(width, room));
  const widths = squeeze(naturalWidths(cells), least, room);
  return drawRows(
    rows.map((row, index) => [row[0] ?? '', ...at(cells, index)]),
    [key, ...widths],
  );
}

function drawRows(rows: Rows, widths: readonly number[]): string {
  return `${rows.flatMap((row) => drawRow(row, widths)).join('\n')}\n`;
}

function drawRow(row: readonly string[], widths: readonly number[]): string[] {
  const cells = row.map((cell, index) => {
    const width = at(widths, index);
    return cell.length <= width ? [cell] : wrapWords(cell, width);
  });
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, index) => alignCell(lines[line] ?? '', row[index] ?? '', at(widths, index)))
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

function alignCell(text: string, cell: string, width: number): string {
  return /^[\d.,+-]+$/.test(cell) ? text.padStart(width) : text.padEnd(width);
}
