import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BusyEngine } from './busy-engine.js';

const LOOK_US = 100;

/** `moved`: what each turn does; `canRest`: whether it may be let go of. */
function engineWith(moved: number[] = [], canRest: boolean[] = [], hasOwnLane = true) {
  const steps: string[] = [];
  const time = { us: 0 };
  const engine = {
    hasOwnLane,
    toldCount: 0,
    turn: () => {
      steps.push('turn');
      return moved.shift() ?? 0;
    },
    hold: () => void steps.push('hold'),
    letGo: () => {
      steps.push('let go');
      return canRest.shift() ?? true;
    },
  };
  return { steps, time, engine, busy: new BusyEngine(engine, LOOK_US, { nowUs: () => time.us }) };
}

test('busy engine: one that is quiet gets no turn', () => {
  const { busy, steps } = engineWith();
  assert.equal(busy.turn(false, false), false);
  assert.deepEqual(steps, []);
});

test('busy engine: a command holds it until nothing has come for a while', () => {
  const { busy, time, steps } = engineWith([0, 0, 1]);
  assert.equal(busy.turn(true, true), false, 'nothing has moved yet');
  time.us += LOOK_US;
  assert.equal(busy.turn(false, true), false);
  assert.equal(busy.turn(false, true), true);
  time.us += LOOK_US;
  busy.turn(false, false);
  time.us++;
  busy.turn(false, false);
  assert.equal(busy.turn(false, false), false);
  assert.deepEqual(steps, ['hold', 'turn', 'turn', 'turn', 'turn', 'turn', 'let go']);
});

test('busy engine: what comes while nobody holds it holds it', () => {
  const { busy, engine, steps } = engineWith();
  engine.toldCount++;
  assert.equal(busy.turn(false, false), true);
  assert.deepEqual(steps, ['hold', 'turn']);
});

test('busy engine: transfers of lanes get turns, and hold nothing', () => {
  const { busy, steps } = engineWith([0, 1]);
  assert.equal(busy.turn(false, true), false);
  assert.equal(busy.turn(false, true), true);
  assert.deepEqual(steps, ['turn', 'turn']);
});

test('busy engine: one that cannot rest yet is held on', () => {
  const { busy, steps } = engineWith([], [false]);
  busy.turn(true, false);
  assert.equal(busy.sleep(), false);
  assert.equal(busy.sleep(), true);
  assert.equal(busy.sleep(), true);
  assert.deepEqual(steps, ['hold', 'turn', 'let go', 'hold', 'let go']);
});

test('busy engine: one without a lane of this thread gets turns while it has transfers', () => {
  const { busy, steps } = engineWith([0, 1], [], false);
  assert.equal(busy.turn(true, false), false);
  assert.equal(busy.turn(true, true), false);
  assert.equal(busy.turn(false, true), true);
  assert.deepEqual(steps, ['turn', 'turn'], 'nobody holds it');
});
