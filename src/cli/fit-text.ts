// Text broken so that no line is wider than the terminal. Pure.

/** Lines of at most so many columns, broken at spaces; a longer word after a comma or the like. */
export function wrapWords(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of text.split(' ').flatMap((word) => cutWord(word, columns))) {
    const joined = line === '' ? piece.text : `${line}${piece.isWord ? ' ' : ''}${piece.text}`;
    if (line !== '' && joined.length > columns) {
      lines.push(line);
      line = piece.text;
    } else line = joined;
  }
  lines.push(line);
  return lines;
}

interface Piece {
  readonly text: string;
  /** Whether a space stood before it. */
  readonly isWord: boolean;
}

const SEPARATOR = /(?<=[,;:/=|])/;

function cutWord(word: string, columns: number): Piece[] {
  if (word.length <= columns) return [{ text: word, isWord: true }];
  const pieces = word.split(SEPARATOR).flatMap((part) => chunksOf(part, columns));
  return pieces.map((text, index) => ({ text, isWord: index === 0 }));
}

function chunksOf(text: string, columns: number): string[] {
  const count = Math.ceil(text.length / columns);
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * columns, (index + 1) * columns),
  );
}

/** Every line within the columns; what goes on is indented below where its text began. */
export function fitText(text: string, columns: number): string {
  if (!Number.isFinite(columns)) return text;
  return text
    .split('\n')
    .flatMap((line) => fitLine(line, columns))
    .join('\n');
}

// A label with two spaces or a colon behind it, or the branches of a drawn tree.
const LABEL = /^(?:[│├└─ ]*)(?:\S+(?: \S+)*? {2,}|\S+: )?/;

function fitLine(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  const label = LABEL.exec(line)?.[0] ?? '';
  const lead = /^[│├└─ ]*/.exec(line)?.[0] ?? '';
  // A label that leaves no room stands in the text like any other word.
  const head = label.length <= columns / 2 ? label : lead.length <= columns / 2 ? lead : '';
  const indent = lead.replaceAll(/[├]/g, '│').replaceAll(/[└─]/g, ' ').padEnd(head.length);
  const hanging = head === lead ? `${indent}  ` : indent;
  const room = columns - Math.max(head.length, hanging.length);
  return wrapWords(line.slice(head.length).trimEnd(), room).map((part, index) =>
    (index === 0 ? head + part : hanging + part).trimEnd(),
  );
}

/** A command line for a shell: broken only between words, where a backslash joins it again. */
export function fitShellWords(line: string, columns: number): string {
  if (line.length <= columns) return line;
  const indent = /^ */.exec(line)?.[0] ?? '';
  const room = Math.max(1, columns - indent.length - 4);
  const lines = wrapWholeWords(line.trim(), room);
  return lines.map((part, index) => `${indent}${index === 0 ? '' : '  '}${part}`).join(' \\\n');
}

function wrapWholeWords(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
