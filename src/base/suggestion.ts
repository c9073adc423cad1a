// The known name that a person most likely meant: few letters changed, swapped or left out.

import { at } from './assert.js';

/** At most a third of the letters may differ; one always may. */
function limitFor(word: string): number {
  return Math.max(1, Math.floor(word.length / 3));
}

/** Undefined where nothing known is near enough to be worth a word. */
export function nearestName(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase();
  let nearest: string | undefined;
  let nearestEdits = limitFor(wanted) + 1;
  for (const name of known) {
    const edits = editsBetween(wanted, name.toLowerCase());
    if (edits < nearestEdits) {
      nearest = name;
      nearestEdits = edits;
    }
  }
  return nearest;
}

/** Ends a message about an unknown name: `; did you mean X?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const nearest = nearestName(word, known);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/** Letters to insert, delete, replace or swap with their neighbour. */
export function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let edits = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      );
      const isSwap =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}
