// Things that nobody uses: files of src/ that nobody imports, settings that nobody reads, error
// codes that nobody raises. A sibling test alone does not make a file used.

import ts from 'typescript';
import type { Ratchet } from './ratchet.js';
import { importsOf, parse, visit } from './syntax.js';
import { isTestPath, isTypeScript, type TextFile, type Violation } from './violation.js';

export interface Declared {
  readonly settings: readonly string[];
  readonly errorCodes: readonly string[];
}

type Unused = Pick<Ratchet, 'unimported' | 'unusedSettings' | 'unusedErrorCodes'>;

const SETTINGS_PATH = 'src/base/settings.ts';
const CONFIG_PATH = 'src/base/config.ts';
const ERRORS_PATH = 'src/base/errors.ts';
const ENTRY_POINT = /^src\/(index|internal|cli\/main)\.ts$|-(worker|main)\.ts$/;

export function checkUnused(files: readonly TextFile[], declared: Declared, ratchet: Ratchet) {
  const unused = measureUnused(files, declared);
  const violations: Violation[] = [];
  for (const path of unused.unimported) {
    if (ratchet.unimported.includes(path)) continue;
    const message = 'nobody imports it; wire it up, or delete it';
    violations.push({ path, line: 1, rule: 'unimported', message });
  }
  for (const name of unused.unusedSettings) {
    if (ratchet.unusedSettings.includes(name)) continue;
    violations.push(declaration(files, SETTINGS_PATH, name, 'unused-setting', 'nobody reads it'));
  }
  for (const code of unused.unusedErrorCodes) {
    if (ratchet.unusedErrorCodes.includes(code)) continue;
    violations.push(declaration(files, ERRORS_PATH, code, 'unused-code', 'nobody raises it'));
  }
  return violations;
}

export function measureUnused(files: readonly TextFile[], declared: Declared): Unused {
  const sources = files.filter(isTypeScript);
  const used = literalsOf(
    sources.filter((file) => file.path.startsWith('src/') && !isTestPath(file.path)),
  );
  return {
    unimported: unimportedFiles(sources),
    unusedSettings: declared.settings.filter((name) => !used.settings.has(name)),
    unusedErrorCodes: declared.errorCodes.filter((code) => !used.errorCodes.has(code)),
  };
}

function unimportedFiles(sources: readonly TextFile[]): string[] {
  const imported = new Set<string>();
  for (const file of sources) {
    for (const { target } of importsOf(file)) {
      if (target !== undefined && !isSiblingTest(file.path, target)) imported.add(target);
    }
  }
  return sources
    .map((file) => file.path)
    .filter((path) => path.startsWith('src/') && !/\.(test|bench|fuzz|d)\.ts$/.test(path))
    .filter((path) => !ENTRY_POINT.test(path) && !imported.has(path));
}

function isSiblingTest(path: string, target: string): boolean {
  return path.replace(/\.(test|bench|fuzz)\.ts$/, '.ts') === target;
}

function literalsOf(product: readonly TextFile[]) {
  const settings = new Set<string>();
  const errorCodes = new Set<string>();
  for (const file of product) {
    visit(parse(file), (node) => {
      if (!ts.isStringLiteralLike(node)) return;
      // A comparison asks for a code, it does not raise it.
      const isRaised = file.path !== ERRORS_PATH && !ts.isBinaryExpression(node.parent);
      if (isRaised) errorCodes.add(node.text);
      const isTable = file.path === SETTINGS_PATH || file.path === CONFIG_PATH;
      if (!isTable && !isFlagList(node)) settings.add(node.text);
    });
  }
  return { settings, errorCodes };
}

// A command that lists a setting offers its flag; only code that reads the value uses it.
function isFlagList(literal: ts.Node): boolean {
  for (let node = literal.parent; !ts.isSourceFile(node); node = node.parent) {
    if (!ts.isPropertyAssignment(node) && !ts.isVariableDeclaration(node)) continue;
    return /settings$/i.test(node.name.getText());
  }
  return false;
}

function declaration(
  files: readonly TextFile[],
  path: string,
  name: string,
  rule: string,
  fault: string,
): Violation {
  const lines = files.find((file) => file.path === path)?.text.split('\n') ?? [];
  const index = lines.findIndex((line) => line.includes(name));
  const message = `${name} is declared but ${fault} in src/; use it, or remove it`;
  return { path, line: Math.max(1, index + 1), rule, message };
}
