// A Markdown table whose cells may hold any text.

export function markdownTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const lines = [heading, heading.map(() => '---'), ...rows.map((row) => row.map(escapeCell))];
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

export const GENERATED_NOTE = (source: string): string =>
  `<!-- Generated from ${source} by npm run docs; do not edit. -->\n`;
