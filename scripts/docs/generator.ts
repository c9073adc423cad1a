// A generated page, or a generated block between two marks of a page that people write.

export interface Generator {
  readonly path: string;
  /** Name of the block; absent where the whole page is generated. */
  readonly marker?: string;
  render(): string;
}

export type Outcome =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

/** The page as it should be, given as it is. */
export function applyGenerator(generator: Generator, current: string | undefined): Outcome {
  const rendered = ensureNewline(generator.render());
  if (generator.marker === undefined) return { text: rendered };
  const begin = `<!-- generated:${generator.marker} -->`;
  const end = `<!-- /generated:${generator.marker} -->`;
  const page = current ?? '';
  const beginIndex = page.indexOf(begin);
  const endIndex = page.indexOf(end);
  if (beginIndex < 0 || endIndex < beginIndex) {
    return { fault: `the marks ${begin} and ${end} are missing; put them where the block belongs` };
  }
  const head = page.slice(0, beginIndex + begin.length);
  return { text: `${head}\n\n${rendered}\n${page.slice(endIndex)}` };
}

function ensureNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
