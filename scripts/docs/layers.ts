// The layer table of docs/architecture.md from scripts/layers.ts.

import { CLOSED_LAYERS, LAYERS } from '../layers.js';
import { markdownTable } from './markdown-table.js';

export function renderLayers(): string {
  const rows = Object.entries(LAYERS).map(([name, layer]) => [
    `\`src/${name}\``,
    layer.purpose,
    importsText(layer.mayImport),
  ]);
  const closed = CLOSED_LAYERS.map((name) => `\`src/${name}\``).join(' and ');
  return (
    `${markdownTable(['folder', 'purpose', 'may import'], rows)}\n` +
    `Nobody but tests imports ${closed}. Folders below \`src/provider\` never import each\n` +
    'other. Type imports count like others. The table is kept as data in `scripts/layers.ts`;\n' +
    '`npm run check` enforces it.\n'
  );
}

function importsText(mayImport: readonly string[]): string {
  if (mayImport.includes('*')) return 'everything';
  return mayImport.length === 0 ? 'nothing' : mayImport.join(', ');
}
