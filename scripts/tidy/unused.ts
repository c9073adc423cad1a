// Things that nobody uses and that knip does not see: settings that nobody reads, error codes that
// nobody raises, members of classes that nobody names.

import ts from 'typescript';
import { lineOf, parse, visit } from './syntax.js';
import {
  isMarkdown,
  isTestPath,
  isTypeScript,
  type TextFile,
  type Violation,
} from './violation.js';

export interface Declared {
  readonly settings: readonly string[];
  readonly errorCodes: readonly string[];
}

const SETTINGS_PATH = 'src/base/settings.ts';
const CONFIG_PATH = 'src/base/config.ts';
const ERRORS_PATH = 'src/base/errors.ts';

export function checkUnused(files: readonly TextFile[], declared: Declared): Violation[] {
  const sources = files.filter(isTypeScript);
  const used = literalsOf(
    sources.filter((file) => file.path.startsWith('src/') && !isTestPath(file.path)),
  );
  const settings = declared.settings.filter((name) => !used.settings.has(name));
  const errorCodes = declared.errorCodes.filter((code) => !used.errorCodes.has(code));
  return [
    ...settings.map((name) =>
      declaration(files, SETTINGS_PATH, name, 'unused-setting', 'nobody reads it'),
    ),
    ...errorCodes.map((code) =>
      declaration(files, ERRORS_PATH, code, 'unused-code', 'nobody raises it'),
    ),
    ...checkMembers(files),
  ];
}

/**
 * By name alone: a class may be used through an interface that it does not mention, so a member
 * counts as used wherever its name stands for anything but a member of a class, pages included.
 */
function checkMembers(files: readonly TextFile[]): Violation[] {
  const pages = files.filter((file) => file.path.startsWith('docs/') && isMarkdown(file));
  const named = new Set(pages.flatMap(({ text }) => text.match(/\w+/g) ?? []));
  const members: { readonly name: string; readonly path: string; readonly line: number }[] = [];
  for (const file of files.filter(isTypeScript)) {
    const source = parse(file);
    visit(source, (node) => {
      if (ts.isStringLiteralLike(node)) named.add(node.text);
      if (!ts.isIdentifier(node)) return;
      if (!ts.isClassElement(node.parent) || node.parent.name !== node) named.add(node.text);
      // A stand-in of a test has what its model has.
      else if (!isTestPath(file.path))
        members.push({ name: node.text, path: file.path, line: lineOf(source, node) });
    });
  }
  return members
    .filter(({ name }) => !named.has(name))
    .map(({ name, path, line }) => {
      const message = `${name} is a member of a class that nobody names; use it, or remove it`;
      return { path, line, rule: 'unused-member', message };
    });
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
