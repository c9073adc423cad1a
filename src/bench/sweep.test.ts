// Sweeps: which points they have, which are dropped early, how they go on, and what is best.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import {
  expandAxis,
  outcomesSoFar,
  pointsOf,
  runSweep,
  type SweepPoint,
  type SweepRuns,
} from './sweep.js';

const KIB = 1024;

describe('sweep: axes', () => {
  test('a range doubles from its first to its last, which it always has', () => {
    const sizes = [4, 8, 16].map((kib) => String(kib * KIB));
    assert.deepEqual(expandAxis('bench.sizeBytes', '4KiB..16KiB'), sizes);
    assert.deepEqual(expandAxis('flow.channels', '1..6'), ['1', '2', '4', '6']);
    assert.deepEqual(expandAxis('flow.channels', '3'), ['3']);
    assert.deepEqual(expandAxis('socket.sendBy', 'copy,zerocopy'), ['copy', 'zerocopy']);
  });

  test('what is no value of the setting is refused', () => {
    for (const [name, text] of [
      ['flow.channels', '1..99'],
      ['flow.channels', '4..1'],
      ['flow.channels', '1,x'],
      ['socket.sendBy', 'copy..zerocopy'],
      ['bench.sizeBytes', '4KiB..'],
      ['bench.sizeBytes', ''],
    ] as const) {
      const expected = /^ERR_(CONFIG_VALUE|USAGE_ARGUMENT)$/;
      assert.throws(
        () => expandAxis(name, text),
        (error: { code?: string }) => expected.test(error.code ?? ''),
        `${name} ${text}`,
      );
    }
  });

  test('points: every combination, and not without end', () => {
    const axes = { 'bench.sizeBytes': ['1', '2'], 'flow.channels': ['1', '2', '4'] };
    const points = pointsOf(axes);
    assert.equal(points.length, 6);
    assert.deepEqual(points[0]?.settings, { 'bench.sizeBytes': '1', 'flow.channels': '1' });
    const many = Array.from({ length: 100 }, (_, index) => String(index + 1));
    const huge = { 'bench.sizeBytes': many, 'flow.windowChunks': many };
    assert.throws(() => pointsOf(huge), withCode('ERR_USAGE_ARGUMENT', /10000/));
  });
});

/** A machine on which each point has a speed, with a little noise. */
function machine(speedOf: (point: SweepPoint) => number) {
  const asked: string[] = [];
  const measure = (point: SweepPoint) => {
    asked.push(point.key);
    const speed = speedOf(point);
    const rates = Array.from({ length: 40 }, (_, index) => speed * (1 + (index % 5) / 1000));
    const wireBytes = { acknowledged: 2, received: 2 };
    return Promise.resolve({
      rates,
      latencyP50Us: 1 / speed,
      bytes: 1,
      wireBytes,
      evidence: 'measured' as const,
    });
  };
  return { asked, measure };
}

const AXES = { 'bench.sizeBytes': ['1', '2'], 'flow.channels': ['1', '2', '4', '8'] };
const channels = ({ settings }: SweepPoint) => Number(settings['flow.channels']);
const OPTIONS = { rounds: 3, prune: 0.2, onRun: () => undefined };

describe('sweep: running', () => {
  test('the best for each size, with its margin to the next', async () => {
    const { measure } = machine((point) => channels(point));
    const outcome = await runSweep(pointsOf(AXES), measure, {}, OPTIONS);
    assert.deepEqual(
      outcome.map(({ best }) => best.settings['flow.channels']),
      ['8', '8'],
    );
    assert.ok(outcome.every(({ margin }) => Math.abs((margin?.ratio ?? 0) - 2) < 0.01));
  });

  test('what is far behind after the first round is not measured again', async () => {
    const { asked, measure } = machine((point) => (channels(point) >= 4 ? 10 : 1));
    await runSweep(pointsOf(AXES), measure, {}, OPTIONS);
    const count = (part: string) => asked.filter((key) => key.includes(part)).length;
    assert.equal(count('flow.channels=1'), 2, 'once for each size');
    assert.equal(count('flow.channels=4'), 6, 'in every round');
  });

  test('rounds are interleaved: no point has its runs in a row', async () => {
    const { asked, measure } = machine(() => 5);
    await runSweep(pointsOf({ 'flow.channels': ['1', '2'] }), measure, {}, OPTIONS);
    assert.equal(asked[0] === asked[1], false);
    assert.equal(asked.length, 6);
  });

  test('interrupted and begun again: what was measured is not measured twice', async () => {
    const runs: SweepRuns = {};
    const first = machine((point) => channels(point));
    let left = 5;
    const failing = (point: SweepPoint) => {
      if (left-- === 0) return Promise.reject(new Error('interrupted'));
      return first.measure(point);
    };
    await assert.rejects(runSweep(pointsOf(AXES), failing, runs, OPTIONS), /interrupted/);
    const soFar = outcomesSoFar(pointsOf(AXES), runs, OPTIONS).map(({ size, best, points }) => {
      return [size, best.settings['flow.channels'], points];
    });
    assert.deepEqual(soFar, [
      ['1', '8', 4],
      ['2', '1', 1],
    ]);
    assert.deepEqual(outcomesSoFar(pointsOf(AXES), {}, OPTIONS), []);
    const again = machine((point) => channels(point));
    const saved = JSON.parse(JSON.stringify(runs)) as SweepRuns;
    const outcome = await runSweep(pointsOf(AXES), again.measure, saved, OPTIONS);
    const whole = machine((point) => channels(point));
    assert.deepEqual(outcome, await runSweep(pointsOf(AXES), whole.measure, {}, OPTIONS));
    assert.equal(again.asked.length + 5, whole.asked.length);
  });

  test('one point alone has no margin', async () => {
    const { measure } = machine(() => 5);
    const [only] = await runSweep(pointsOf({ 'bench.sizeBytes': ['1'] }), measure, {}, OPTIONS);
    assert.equal(only?.margin, undefined);
  });
});
