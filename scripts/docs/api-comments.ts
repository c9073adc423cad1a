// Public names and members with their comments, as the types have them that the package ships. Read
// from the compiled declarations, which is what an editor shows.

import { join } from 'node:path';
import ts from 'typescript';
import { repositoryRoot } from '../repository.js';

const DOOR = join(repositoryRoot, 'dist/src/index.d.ts');
const OWN = join(repositoryRoot, 'dist/src/');

/** A public name, or a member as `Engine.open`, and what its comment says. */
export interface PublicName {
  readonly name: string;
  readonly comment: string;
  /** A class whose comment shows how it is used; undefined for all else. */
  readonly hasExample?: boolean;
}

/** Classes that show nobody how they are used. */
export function classesWithoutExample(door = DOOR): string[] {
  return publicSurface(door).flatMap(({ name, hasExample }) =>
    hasExample === false ? [name] : [],
  );
}

/** `Engine`, `Engine.open`, …: sorted, once each. */
export function uncommentedNames(door = DOOR): string[] {
  const missing = publicSurface(door).filter(({ comment }) => comment === '');
  return [...new Set(missing.map(({ name }) => name))].sort();
}

interface Door {
  readonly checker: ts.TypeChecker;
  readonly exports: readonly ts.Symbol[];
}

function openDoor(door: string): Door {
  const program = ts.createProgram([door], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(door);
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${door} is not there: npm run build`);
  return { checker, exports: checker.getExportsOfModule(module) };
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  return isAlias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** Types of ours that public declarations name and programs cannot: `Engine: LaneStats`. */
export function unnamedTypes(door = DOOR): string[] {
  const { checker, exports } = openDoor(door);
  const known = new Set(exports.map((exported) => resolved(exported, checker)));
  const missing = new Set<string>();
  const visit = (node: ts.Node, owner: string): void => {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : undefined;
    const found = name === undefined ? undefined : checker.getSymbolAtLocation(name);
    const symbol = found === undefined ? undefined : resolved(found, checker);
    const place = symbol?.declarations?.[0];
    const isOwn = place?.getSourceFile().fileName.startsWith(OWN) === true;
    const isParameter = place !== undefined && ts.isTypeParameterDeclaration(place);
    if (symbol !== undefined && isOwn && !isParameter && !known.has(symbol)) {
      missing.add(`${owner}: ${symbol.name}`);
    }
    ts.forEachChild(node, (child) => visit(child, owner));
  };
  for (const symbol of known) {
    for (const declaration of symbol.declarations ?? []) visit(declaration, symbol.name);
  }
  return [...missing].sort();
}

export function publicSurface(door = DOOR): PublicName[] {
  const { checker, exports } = openDoor(door);
  const commentOf = (symbol: ts.Symbol): string =>
    ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return exports.flatMap((exported) => {
    const symbol = resolved(exported, checker);
    const members = membersOf(symbol, checker).map((member) => ({
      name: `${exported.name}.${member.name}`,
      comment: commentOf(member),
    }));
    const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
    const isShown = symbol.getJsDocTags(checker).some(({ name }) => name === 'example');
    const example = isClass ? { hasExample: isShown } : {};
    return [{ name: exported.name, comment: commentOf(symbol), ...example }, ...members];
  });
}

/** What our own declarations list, inherited names of Error and the like apart. */
function membersOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol[] {
  const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
  const isShape = (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) !== 0;
  if (!isClass && !isShape) return [];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  // A union or an alias of something else has no members of its own.
  const instance = type.isUnion() ? [] : checker.getPropertiesOfType(type);
  const fixed = isClass ? checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol)) : [];
  return [...instance, ...fixed].filter((member) => isOwnPublic(member));
}

function isOwnPublic(member: ts.Symbol): boolean {
  const declaration = member.declarations?.[0];
  if (declaration === undefined || member.name === 'prototype') return false;
  if (!declaration.getSourceFile().fileName.startsWith(OWN)) return false;
  // How declarations say that a class has private fields.
  if (member.name.startsWith('#') || member.name.startsWith('__#')) return false;
  const modifiers = ts.getCombinedModifierFlags(declaration);
  return (modifiers & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) === 0;
}
