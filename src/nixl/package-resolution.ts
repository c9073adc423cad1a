// Where a package installed by the application begins, also one that only offers `import`
// (which require.resolve refuses, and import() from here would look for beside this package).

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

/** The entry file of package `name` as seen from `directory`; undefined if not installed. */
export async function resolvePackage(name: string, directory: string): Promise<string | undefined> {
  try {
    return createRequire(join(resolve(directory), 'package.json')).resolve(name);
  } catch {
    return resolveImportOnly(name, resolve(directory));
  }
}

async function resolveImportOnly(name: string, directory: string): Promise<string | undefined> {
  for (let at = directory; ; at = dirname(at)) {
    const root = join(at, 'node_modules', name);
    const text = await readFile(join(root, 'package.json'), 'utf8').catch(() => undefined);
    if (text !== undefined) {
      const entry = entryOf(JSON.parse(text) as unknown); // checked: entryOf
      return entry === undefined ? undefined : join(root, entry);
    }
    if (dirname(at) === at) return undefined;
  }
}

function entryOf(manifest: unknown): string | undefined {
  const exported = propertyOf(manifest, 'exports');
  const root = propertyOf(exported, '.') ?? exported;
  return textOf(root) ?? textOf(propertyOf(manifest, 'main'));
}

/** `"./a.js"`, `{ import: "./a.js" }` and `{ import: { default: "./a.js" } }` all name a file. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' || value === undefined) return value;
  return textOf(propertyOf(value, 'import') ?? propertyOf(value, 'default'));
}

function propertyOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}
