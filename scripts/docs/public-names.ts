// The table of every public name and the file that declares it, from src/index.ts.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository.js';
import { markdownTable } from './markdown-table.js';

const EXPORT_LINE = /export (?:type )?\{([^}]*)\} from '\.\/([^']+)\.js';/g;

export interface PublicNames {
  readonly file: string;
  readonly names: readonly string[];
}

/** Names as importers see them, by declaring file. */
export function publicNames(source: string): PublicNames[] {
  return [...source.matchAll(EXPORT_LINE)].map((match) => ({
    file: `src/${match[2] ?? ''}.ts`,
    names: (match[1] ?? '')
      .split(',')
      .map((name) => name.replace('type ', '').split(' as ').at(-1)?.trim() ?? '')
      .filter((name) => name !== ''),
  }));
}

export function renderPublicNames(): string {
  const source = readFileSync(join(repositoryRoot, 'src/index.ts'), 'utf8');
  const rows = publicNames(source).map(({ file, names }) => [
    names.map((name) => `\`${name}\``).join(', '),
    // Not a link: the package has the declarations, a fresh clone has the source.
    `\`${file.replace(/^src\/(.*)\.ts$/, 'dist/src/$1.d.ts')}\``,
  ]);
  return markdownTable(['names', 'declared in'], rows);
}
