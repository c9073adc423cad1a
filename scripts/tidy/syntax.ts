// Parsed sources: checks look at the syntax tree, so that comments and strings do not fool them.

import { posix } from 'node:path';
import ts from 'typescript';
import type { TextFile } from './violation.js';

export interface ImportUse {
  /** As written: `../base/errors.js`, `koffi`. */
  readonly specifier: string;
  readonly line: number;
  /** Repository path of the source that a relative specifier means. */
  readonly target: string | undefined;
}

const parsed = new WeakMap<TextFile, ts.SourceFile>();

export function parse(file: TextFile): ts.SourceFile {
  let source = parsed.get(file);
  if (source === undefined) {
    source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2023, true);
    parsed.set(file, source);
  }
  return source;
}

export function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

export function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  node.forEachChild((child) => {
    visit(child, see);
  });
}

/** Static, dynamic and type imports, re-exports, and workers named by `new URL('./x.js', …)`. */
export function importsOf(file: TextFile): ImportUse[] {
  const source = parse(file);
  const uses: ImportUse[] = [];
  visit(source, (node) => {
    const literal = specifierOf(node);
    if (literal === undefined) return;
    const specifier = literal.text;
    uses.push({ specifier, line: lineOf(source, literal), target: resolve(file.path, specifier) });
  });
  return uses;
}

function specifierOf(node: ts.Node): ts.StringLiteralLike | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    return asLiteral(node.moduleSpecifier);
  }
  if (ts.isImportTypeNode(node)) {
    return ts.isLiteralTypeNode(node.argument) ? asLiteral(node.argument.literal) : undefined;
  }
  if (ts.isCallExpression(node) && isLoader(node.expression)) return asLiteral(node.arguments[0]);
  if (ts.isNewExpression(node) && node.expression.getText() === 'URL') {
    const literal = asLiteral(node.arguments?.[0]);
    return literal?.text.endsWith('.js') === true ? literal : undefined;
  }
  return undefined;
}

function isLoader(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(callee) && callee.text === 'require')
  );
}

function asLiteral(node: ts.Node | undefined): ts.StringLiteralLike | undefined {
  return node !== undefined && ts.isStringLiteralLike(node) ? node : undefined;
}

function resolve(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const joined = posix.join(posix.dirname(from), specifier);
  return joined.replace(/\.js$/, '.ts');
}
