// Turns and roofs of a comparison, with contenders that are functions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpxError } from '../../base/errors.js';
import type { PeerFigure } from '../peers/peer-figure.js';
import { Arena } from './compare-run.js';
import type { Contender } from './contenders.js';
import { gpuRoof } from './roofs.js';

const OPTIONS = {
  limitMs: Number.POSITIVE_INFINITY,
  stop: new AbortController().signal,
  onTurn: () => undefined,
};
const noRoofs = () => Promise.resolve();

function contender(name: string, run: () => PeerFigure, isOurs = false): Contender {
  return { name, work: 'write', isOurs, program: '', run: () => Promise.resolve().then(run) };
}

const ours = contender('ours', () => ({ bytesPerSecond: 6e9 }), true);

test('compare: a peer without a finite figure is out with its reason', async () => {
  const figures = [Number.NaN, Number.POSITIVE_INFINITY, 0, undefined];
  const peers = figures.map((bytesPerSecond, index) =>
    contender(`peer ${index}`, () => (bytesPerSecond === undefined ? {} : { bytesPerSecond })),
  );
  const refused = contender('refused', () => {
    throw new TcpxError('ERR_PEER_REFUSED', 'no document');
  });
  const arena = new Arena([ours, ...peers, refused], { ...OPTIONS, rounds: 2 });
  assert.equal(await arena.play(noRoofs), 2);
  assert.deepEqual(arena.failures(), [
    { name: 'peer 0', reason: 'peer 0: its figure is NaN' },
    { name: 'peer 1', reason: 'peer 1: its figure is Infinity' },
    { name: 'peer 2', reason: 'peer 2: its figure is 0' },
    { name: 'peer 3', reason: 'peer 3: its figure is missing' },
    { name: 'refused', reason: 'no document' },
  ]);
  assert.deepEqual(
    arena.series().map(({ name }) => name),
    ['ours'],
  );
  const broken = contender('ours', () => ({ bytesPerSecond: Number.NaN }), true);
  const alone = new Arena([broken], { ...OPTIONS, rounds: 1 });
  await assert.rejects(alone.play(noRoofs), { code: 'ERR_PEER_REFUSED' });
});

test('compare: a peer that is far behind has two turns', async () => {
  let turns = 0;
  const slow = contender('slow', () => {
    turns++;
    return { bytesPerSecond: 1e9 };
  });
  const arena = new Arena([ours, slow], { ...OPTIONS, rounds: 6 });
  await arena.play(noRoofs);
  assert.equal(turns, 2);
});

test('compare: the GPU roof is of GPU memory alone, and a GPU that refuses is its detail', () => {
  const rates = { toDeviceGBps: 50, toHostGBps: 40 };
  const never = () => assert.fail('host memory has no such roof');
  assert.deepEqual(gpuRoof('dram', never), {
    ...{ name: 'GPU copy', figures: [], detail: 'not in this path', applies: false },
  });
  assert.deepEqual(gpuRoof('vram', () => rates).figures, [40e9]);
  const refusing = () => {
    throw new TcpxError('ERR_CUDA_CALL', 'cuCtxCreate: out of memory');
  };
  const { figures, detail, applies } = gpuRoof('vram', refusing);
  assert.deepEqual([figures, detail, applies], [[], 'cuCtxCreate: out of memory', true]);
});
