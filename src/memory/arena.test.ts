import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ARENA_ALIGNMENT, Arena } from './arena.js';

const ARENA_BYTES = 64 * 1024;

type Step = { readonly allocate: number } | { readonly freeIndex: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ allocate: fc.integer({ min: 0, max: 20_000 }) }),
    fc.record({ freeIndex: fc.nat() }),
  ),
  { maxLength: 200 },
);

function play(arena: Arena, sequence: readonly Step[]) {
  const held: { offset: number; bytes: number }[] = [];
  for (const step of sequence) {
    if ('allocate' in step) {
      const offset = arena.allocate(step.allocate);
      if (offset < 0) continue;
      assert.equal(offset % ARENA_ALIGNMENT, 0);
      assert.ok(offset + step.allocate <= ARENA_BYTES);
      for (const other of held) {
        const isApart =
          offset + Math.max(1, step.allocate) <= other.offset ||
          other.offset + Math.max(1, other.bytes) <= offset;
        assert.ok(isApart, `${offset}+${step.allocate} over ${other.offset}+${other.bytes}`);
      }
      held.push({ offset, bytes: step.allocate });
    } else if (held.length > 0) {
      const [range] = held.splice(step.freeIndex % held.length, 1);
      arena.free(range!.offset, range!.bytes);
    }
  }
  return held;
}

test('arena: ranges never overlap, and all of it comes back in one piece', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const arena = new Arena(ARENA_BYTES);
      const held = play(arena, sequence);
      for (const range of held) arena.free(range.offset, range.bytes);
      assert.equal(arena.usedBytes, 0);
      assert.equal(arena.allocate(ARENA_BYTES), 0, 'the free ranges have merged');
    }),
    { numRuns: 200 },
  );
});

test('arena: full is −1, and counts what it holds in whole units', () => {
  const arena = new Arena(4 * ARENA_ALIGNMENT);
  const first = arena.allocate(1);
  assert.equal(arena.usedBytes, ARENA_ALIGNMENT);
  assert.equal(arena.allocate(4 * ARENA_ALIGNMENT), -1);
  assert.notEqual(arena.allocate(3 * ARENA_ALIGNMENT), -1);
  assert.equal(arena.allocate(0), -1);
  arena.free(first, 1);
  assert.equal(arena.allocate(0), first);
});

test('arena: a hole in the middle is used again, neighbours merge on both sides', () => {
  const arena = new Arena(3 * ARENA_ALIGNMENT);
  const [a, b, c] = [arena.allocate(64), arena.allocate(64), arena.allocate(64)];
  arena.free(a, 64);
  arena.free(c, 64);
  assert.equal(arena.allocate(128), -1);
  arena.free(b, 64);
  assert.equal(arena.allocate(192), 0);
});

test('arena: a double free, an overlapping free and one outside are assertions', () => {
  const arena = new Arena(1024);
  const offset = arena.allocate(128);
  const next = arena.allocate(128);
  arena.free(offset, 128);
  assert.throws(() => arena.free(offset, 128), /double free/);
  assert.throws(() => arena.free(offset + 64, 64), /double free/);
  assert.throws(() => arena.free(next, 1024), /lies in the arena/);
  assert.throws(() => arena.free(-64, 64), /lies in the arena/);
  assert.throws(() => arena.free(next, 512), /double free/);
});
