// Calls that have a better replacement here. Tests are exempt where the replacement is for the
// product; `Math.random` is refused there too, because such a test does not replay.

import ts from 'typescript';
import { lineOf, parse, visit } from './syntax.js';
import { isTestPath, isTypeScript, type TextFile, type Violation } from './violation.js';

interface Ban {
  /** `object.member`, `object.*` or a plain function name. */
  readonly name: string;
  readonly folders: readonly string[];
  readonly replacement: string;
  readonly includesTests?: boolean;
  /** A comment on the line or the one above that lifts the ban, saying who checks the result. */
  readonly liftedBy?: RegExp;
}

const BANS: readonly Ban[] = [
  {
    name: 'Buffer.concat',
    folders: ['src/provider/tcp/lane/'],
    replacement: 'it copies per chunk: write into a slot, or pass an iov list',
  },
  {
    name: 'setTimeout',
    folders: ['src/flow/', 'src/wire/', 'src/provider/tcp/lane/'],
    replacement: 'take the time as an argument, or wait in the lane loop',
  },
  {
    name: 'Math.random',
    folders: ['src/'],
    includesTests: true,
    replacement: 'use seededRandom of base/random, or node:crypto for keys',
  },
  {
    name: 'console.*',
    folders: ['src/'],
    replacement: 'use base/log, or cli/print in a command',
  },
  {
    name: 'JSON.parse',
    folders: ['src/'],
    replacement: 'check what was read, and say who does with a comment `// checked: NAME`',
    liftedBy: /\/\/ checked: \S/,
  },
];

export function checkBannedCalls(files: readonly TextFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const file of files.filter(isTypeScript)) {
    const bans = BANS.filter((ban) => applies(ban, file.path));
    if (bans.length === 0) continue;
    const source = parse(file);
    const lines = file.text.split('\n');
    visit(source, (node) => {
      const names = namesUsed(node);
      const ban = bans.find((candidate) => names.includes(candidate.name));
      if (ban === undefined) return;
      const line = lineOf(source, node);
      const around = `${lines[line - 2] ?? ''}\n${lines[line - 1] ?? ''}`;
      if (ban.liftedBy?.test(around) === true) return;
      const message = `${ban.name} is not for this folder: ${ban.replacement}`;
      violations.push({ path: file.path, line, rule: 'banned-call', message });
    });
  }
  return violations;
}

function applies(ban: Ban, path: string): boolean {
  if (!ban.folders.some((folder) => path.startsWith(folder))) return false;
  return ban.includesTests === true || !isTestPath(path);
}

function namesUsed(node: ts.Node): string[] {
  if (ts.isPropertyAccessExpression(node)) {
    const object = node.expression.getText().replace(/^globalThis\./, '');
    const plain = object === 'globalThis' ? [node.name.text] : [];
    return [`${object}.${node.name.text}`, `${object}.*`, ...plain];
  }
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) return [node.expression.text];
  return [];
}
