// The layer matrix: who in src/ may import whom, type imports included, and no cycles.
// Tests may import anything; the entry points (files directly in src/) may import any layer.

import { type Layer, PROVIDER_FOLDER } from '../layers.js';
import { type ImportUse, importsOf } from './syntax.js';
import { isTestPath, isTypeScript, type TextFile, type Violation } from './violation.js';

export interface LayerRules {
  readonly layers: Readonly<Record<string, Layer>>;
  readonly closedLayers: readonly string[];
}

interface Edge {
  readonly file: TextFile;
  readonly use: ImportUse;
  readonly from: string;
  readonly to: string;
}

const FFI_LIBRARY = 'koffi';
const RULE = 'layer';

export function checkLayers(files: readonly TextFile[], rules: LayerRules): Violation[] {
  const sources = files.filter(isTypeScript);
  const unknown = productFiles(files).flatMap((file) => checkFolderKnown(file, rules));
  const violations = [...sources.flatMap(checkFfiLibrary), ...unknown];
  const lawful: Edge[] = [];
  for (const edge of edgesOf(files)) {
    const message = refusal(edge.file.path, edge.use.target ?? '', rules);
    // Refused already: it would drag every lawful import opposite to it into a cycle.
    if (message === undefined) lawful.push(edge);
    else violations.push(violation(edge.file, edge.use, message));
  }
  return [...violations, ...checkCycles(lawful)];
}

/** A grant that nobody uses would let the next import pass unseen. */
export function checkLayerTable(files: readonly TextFile[], rules: LayerRules): Violation[] {
  const used = new Set(edgesOf(files).map((edge) => `${edge.from} ${edge.to}`));
  const folders = new Set(productFiles(files).map((file) => layerOf(file.path)));
  return Object.entries(rules.layers).flatMap(([from, { mayImport }]) => {
    if (!folders.has(from)) return [tableViolation(`src/${from} does not exist`)];
    return mayImport
      .filter((to) => to !== '*' && !used.has(`${from} ${to}`))
      .map((to) => tableViolation(`src/${from} imports nothing of src/${to}; take the grant back`));
  });
}

function tableViolation(message: string): Violation {
  return { path: 'scripts/layers.ts', line: 1, rule: RULE, message };
}

function productFiles(files: readonly TextFile[]): TextFile[] {
  return files.filter(
    (file) => isTypeScript(file) && file.path.startsWith('src/') && !isTestPath(file.path),
  );
}

function edgesOf(files: readonly TextFile[]): Edge[] {
  return productFiles(files).flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target !== undefined)
      .map((use) => ({
        file,
        use,
        from: layerOf(file.path) ?? '',
        to: layerOf(use.target ?? '') ?? '',
      })),
  );
}

/** `src/flow/window.ts` → `flow`; undefined for entry points and anything outside src/. */
function layerOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts[0] === 'src' && parts.length > 2 ? parts[1] : undefined;
}

function refusal(path: string, target: string, rules: LayerRules): string | undefined {
  const from = layerOf(path);
  const to = layerOf(target);
  if (!target.startsWith('src/')) {
    return `${target} lies outside src/ and is not packaged; move what is needed into src/`;
  }
  if (/\.(test|bench|fuzz)\.ts$/.test(target)) {
    return `${target} is a test; move what is shared into test/support`;
  }
  if (from === undefined) return undefined;
  if (to === undefined) return `${target} is an entry point; import the file that it names`;
  if (from === to) return refusalOfProvider(path, target);
  if (rules.closedLayers.includes(to)) {
    return `nobody but tests imports src/${to}; move what is shared to a lower layer`;
  }
  const allowed = rules.layers[from]?.mayImport ?? [];
  if (allowed.includes('*') || allowed.includes(to)) return undefined;
  const list = allowed.length === 0 ? 'nothing' : allowed.join(', ');
  return `src/${from} may not import src/${to} (it may import ${list}); pass it in as an argument`;
}

function refusalOfProvider(path: string, target: string): string | undefined {
  const own = providerOf(path);
  const other = providerOf(target);
  if (own === undefined || other === undefined || own === other) return undefined;
  const common = `src/${PROVIDER_FOLDER}`;
  return `provider ${own} may not import provider ${other}; move what is shared to ${common}`;
}

function providerOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts[1] === PROVIDER_FOLDER && parts.length > 3 ? parts[2] : undefined;
}

function checkFfiLibrary(file: TextFile): Violation[] {
  if (file.path.startsWith('src/ffi/')) return [];
  return importsOf(file)
    .filter((use) => use.specifier === FFI_LIBRARY || use.specifier.startsWith(`${FFI_LIBRARY}/`))
    .map((use) => violation(file, use, `${FFI_LIBRARY} is imported in src/ffi only; call src/ffi`));
}

function checkFolderKnown(file: TextFile, rules: LayerRules): Violation[] {
  const layer = layerOf(file.path);
  if (layer === undefined || rules.layers[layer] !== undefined) return [];
  const message = `src/${layer} is not in scripts/layers.ts; declare what it may import`;
  return [{ path: file.path, line: 1, rule: RULE, message }];
}

// Every import that lies on a cycle of folders is named: one of them has to go.
function checkCycles(edges: readonly Edge[]): Violation[] {
  const across = edges.filter(
    (edge) => edge.from !== '' && edge.to !== '' && edge.from !== edge.to,
  );
  const next = new Map<string, Set<string>>();
  for (const edge of across) {
    next.set(edge.from, (next.get(edge.from) ?? new Set()).add(edge.to));
  }
  return across
    .filter((edge) => reaches(next, edge.to, edge.from))
    .map((edge) =>
      violation(
        edge.file,
        edge.use,
        `src/${edge.from} and src/${edge.to} import each other in a circle; ` +
          'move what is shared to the lower one',
        'cycle',
      ),
    );
}

function reaches(next: ReadonlyMap<string, Set<string>>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const folder of seen) {
    if (folder === to) return true;
    for (const further of next.get(folder) ?? []) seen.add(further);
  }
  return false;
}

function violation(file: TextFile, use: ImportUse, message: string, rule = RULE): Violation {
  return { path: file.path, line: use.line, rule, message };
}
