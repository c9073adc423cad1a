// Headings and links of a Markdown page, as GitHub renders them. Code is not looked into.

export interface MarkdownLink {
  readonly target: string;
  readonly line: number;
}

const FENCE = /^\s*(```+|~~~+)/;

/** The lines with fenced code and inline code blanked, so that numbers stay right. */
function proseLines(text: string): string[] {
  let fence: string | undefined;
  return text.split('\n').map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) === true) fence = undefined;
      return '';
    }
    if (mark !== undefined) {
      fence = mark;
      return '';
    }
    return line.replace(/(`+)(?!`).+?(?<!`)\1(?!`)/g, (code) => ' '.repeat(code.length));
  });
}

export function linksOf(text: string): MarkdownLink[] {
  const links: MarkdownLink[] = [];
  for (const [index, line] of proseLines(text).entries()) {
    const patterns = [
      /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g,
      /^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)/g,
      /<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"/g,
    ];
    for (const pattern of patterns) {
      for (const match of line.matchAll(pattern)) {
        links.push({ target: match[1] ?? '', line: index + 1 });
      }
    }
  }
  return links;
}

/** Every anchor of a page: slugs of its headings, counted up where they repeat, and HTML ids. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const counts = new Map<string, number>();
  const lines = text.split('\n');
  for (const [index, prose] of proseLines(text).entries()) {
    for (const match of prose.matchAll(/<[^>]*\b(?:id|name)="([^"]+)"/g)) {
      anchors.add(match[1] ?? '');
    }
    if (!/^ {0,3}#{1,6}\s/.test(prose)) continue;
    // The raw line: inline code in a heading is part of its slug.
    const heading = (lines[index] ?? '').replace(/^\s*#+\s+/, '').replace(/\s+#+\s*$/, '');
    const slug = slugOf(heading);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

export function slugOf(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
