// File and function sizes, held by the ratchet. Generated files and golden vectors are exempt.

import ts from 'typescript';
import type { Ratchet } from './ratchet.js';
import { lineOf, parse, visit } from './syntax.js';
import { isTypeScript, type TextFile, type Violation } from './violation.js';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

interface Measure {
  readonly key: string;
  readonly path: string;
  readonly line: number;
  readonly lines: number;
}

export function checkSizes(files: readonly TextFile[], ratchet: Ratchet): Violation[] {
  const violations: Violation[] = [];
  for (const { key, path, lines } of overlongFiles(files)) {
    const allowed = ratchet.files[key] ?? FILE_LINES_MAX;
    if (lines <= allowed) continue;
    const message = `${lines} lines, at most ${allowed}; split it by noun into two files`;
    violations.push({ path, line: 1, rule: 'file-size', message });
  }
  for (const { key, path, line, lines } of overlongFunctions(files)) {
    const allowed = ratchet.functions[key] ?? FUNCTION_LINES_MAX;
    if (lines <= allowed) continue;
    const name = key.slice(key.indexOf('#') + 1);
    const message = `${name} has ${lines} lines, at most ${allowed}; move straight work to helpers`;
    violations.push({ path, line, rule: 'function-size', message });
  }
  return violations;
}

/** Today's overlong files and functions, as the ratchet writes them. */
export function measureSizes(files: readonly TextFile[]): Pick<Ratchet, 'files' | 'functions'> {
  return { files: toLimits(overlongFiles(files)), functions: toLimits(overlongFunctions(files)) };
}

function toLimits(measures: readonly Measure[]): Record<string, number> {
  return Object.fromEntries(measures.map(({ key, lines }) => [key, lines]));
}

function overlongFiles(files: readonly TextFile[]): Measure[] {
  return files
    .filter(isMeasured)
    .map(({ path, text }) => ({ key: path, path, line: 1, lines: countLines(text) }))
    .filter(({ lines }) => lines > FILE_LINES_MAX);
}

function overlongFunctions(files: readonly TextFile[]): Measure[] {
  const measures: Measure[] = [];
  for (const file of files.filter(isMeasured)) {
    const source = parse(file);
    visit(source, (node) => {
      if (!isFunction(node) || isSuiteBody(node)) return;
      const line = lineOf(source, node);
      const lines = source.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - line;
      if (lines <= FUNCTION_LINES_MAX) return;
      measures.push({ key: `${file.path}#${nameOf(node)}`, path: file.path, line, lines });
    });
  }
  return measures;
}

function isMeasured(file: TextFile): boolean {
  const isGenerated = file.text.startsWith('// Generated') || file.path.includes('/vectors/');
  return isTypeScript(file) && !isGenerated;
}

function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.isAccessor(node)
  );
}

// A function that declares tests is a list of them, not work; each test is measured by itself.
function isSuiteBody(node: ts.FunctionLikeDeclaration): boolean {
  if (node.body === undefined || !ts.isBlock(node.body)) return false;
  return node.body.statements.some(
    (statement) =>
      ts.isExpressionStatement(statement) &&
      /^(describe|suite|test|it)\b[.\w]*\(/.test(statement.getText()),
  );
}

function nameOf(node: ts.FunctionLikeDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name !== undefined) return node.name.getText();
  const holder = node.parent;
  if (ts.isVariableDeclaration(holder) || ts.isPropertyAssignment(holder)) {
    return holder.name.getText();
  }
  if (ts.isCallExpression(holder)) return `${holder.expression.getText()} callback`;
  return 'anonymous';
}
