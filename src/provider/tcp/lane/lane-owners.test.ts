// A field of a channel is written only by the part that owns it: in the file of its class, and in
// the files named here. Asked of the compiler, so that no alias hides a write.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { repositoryRoot } from '../../../../scripts/repository.js';
import { LanePair } from '../../../../test/support/lane-pair.js';

const FOLDER = join(repositoryRoot, 'src/provider/tcp/lane');

/** By class: files that may write its fields, and what its arrays hold, besides its own file. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  Channel: ['stager.ts'],
  Arrivals: [],
  ChannelCredit: [],
  ChannelHealth: [],
  ChannelReady: [],
  HeldSlots: ['held-slots.hot.ts'],
  Intake: ['intake.hot.ts', 'channel-receive.hot.ts'],
  Landing: ['landing.hot.ts'],
  OutCopies: ['out-copies.hot.ts'],
  OwnReads: ['own-reads.hot.ts'],
  OwnWrites: ['own-writes.hot.ts'],
  Refusals: ['refusals.hot.ts'],
  SendVector: ['send-vector.hot.ts'],
  ServedReads: ['served-reads.hot.ts', 'served-copies.hot.ts'],
};

/** Calls that write into an array. */
const WRITING_CALLS = new Set(['copyWithin', 'fill', 'set']);

interface Write {
  /** Class and field. */
  readonly target: string;
  readonly by: string;
  readonly at: string;
  readonly isAllowed: boolean;
}

function writesIn(program: ts.Program, source: ts.SourceFile): Write[] {
  const checker = program.getTypeChecker();
  const writes: Write[] = [];
  const visit = (node: ts.Node): void => {
    const written = writtenBy(node);
    const field = written === undefined ? undefined : fieldOf(written);
    if (field !== undefined) note(field);
    ts.forEachChild(node, visit);
  };
  const note = (field: ts.PropertyAccessExpression): void => {
    const declaration = checker.getSymbolAtLocation(field.name)?.valueDeclaration;
    if (declaration === undefined || !ts.isClassLike(declaration.parent)) return;
    const owner = declaration.parent.name?.text ?? '';
    const writers = WRITERS[owner];
    if (writers === undefined) return;
    const by = basename(source.fileName);
    const home = basename(declaration.getSourceFile().fileName);
    const line = source.getLineAndCharacterOfPosition(field.getStart(source)).line + 1;
    writes.push({
      target: `${owner}.${field.name.text}`,
      by,
      at: `${by}:${line}`,
      isAllowed: by === home || writers.includes(by),
    });
  };
  visit(source);
  return writes;
}

// The left side of an assignment, what ++ and −− change, and the array of a call that writes to it.
function writtenBy(node: ts.Node): ts.Expression | undefined {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const isAssigned =
      kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
    return isAssigned ? node.left : undefined;
  }
  if (ts.isPostfixUnaryExpression(node)) return node.operand;
  if (ts.isPrefixUnaryExpression(node)) {
    const { operator } = node;
    const { PlusPlusToken, MinusMinusToken } = ts.SyntaxKind;
    return operator === PlusPlusToken || operator === MinusMinusToken ? node.operand : undefined;
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) {
    return undefined;
  }
  const { name, expression } = node.expression;
  return WRITING_CALLS.has(name.text) ? expression : undefined;
}

function fieldOf(written: ts.Expression): ts.PropertyAccessExpression | undefined {
  const holder = ts.isElementAccessExpression(written) ? written.expression : written;
  return ts.isPropertyAccessExpression(holder) ? holder : undefined;
}

function readWrites(): Write[] {
  const names = readdirSync(FOLDER).filter((name) => /(?<!\.(test|bench|fuzz))\.ts$/.test(name));
  const readFile = (path: string): string | undefined => ts.sys.readFile(path);
  const config = ts.readConfigFile(join(repositoryRoot, 'tsconfig.json'), readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, repositoryRoot);
  const program = ts.createProgram(
    names.map((name) => join(FOLDER, name)),
    { ...options, noEmit: true },
  );
  const sources = names.map((name) => program.getSourceFile(join(FOLDER, name)));
  return sources.flatMap((source) => (source === undefined ? [] : writesIn(program, source)));
}

test('owners: every part of a channel has its writers named', () => {
  const pair = new LanePair({});
  const [channel] = pair.a.core.channels;
  assert.ok(channel !== undefined);
  const { port, stagers, ...rest } = channel;
  assert.ok(port.fd < 0 && stagers.length > 0, 'these two are no parts');
  const parts = Object.values(rest).filter((value) => typeof value === 'object');
  const names = [channel, ...parts].map(({ constructor }) => constructor.name);
  assert.deepEqual(names.sort(), Object.keys(WRITERS).sort());
  pair.destroy();
});

test('owners: a field of a channel is written by its part alone', () => {
  const writes = readWrites();
  const foreign = writes.filter((write) => !write.isAllowed);
  assert.deepEqual(
    foreign.map(({ at, target }) => `${at} writes ${target}`),
    [],
  );
  // Whoever may write does: a file that no longer writes leaves the list.
  for (const [owner, writers] of Object.entries(WRITERS)) {
    for (const writer of writers) {
      const isUsed = writes.some(({ by, target }) => by === writer && target.startsWith(owner));
      assert.ok(isUsed, `${writer} writes no field of ${owner}`);
    }
  }
});
