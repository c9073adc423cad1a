// The pure parts of a mesh: rounds, rails, the map of GPUs, messages, figures and what is printed.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import { benchResult } from '../../../test/support/bench-result.js';
import { withCode } from '../../../test/support/expect-error.js';
import { virtioHost } from '../../../test/support/odd-hosts.js';
import { openFixture } from '../../../test/support/open-fixture.js';
import { at } from '../../base/assert.js';
import { formatMesh, formatMeshCsv } from '../../cli/bench-mesh-text.js';
import type { HostModel } from '../../host/read/model.js';
import { readHost } from '../../host/read/read-host.js';
import { type GpuMapWish, mapGpus, parseGpuList } from './gpu-map.js';
import { lightResult } from './light-result.js';
import type { MeshRun, MeshWorker } from './mesh-conductor.js';
import { meshDocument } from './mesh-figures.js';
import { cutPieces, PieceJoiner } from './mesh-link.js';
import { meshClientLines, meshLogName } from './mesh-log.js';
import { decodeMeshMessage, encodeMeshMessage, type MeshMessage } from './mesh-message.js';
import { defaultPairs, type PairRail, placeWorkers, planRounds, railOf } from './mesh-plan.js';

function wayOf({ nic, gpu }: PairRail): readonly (string | number)[] {
  return [nic, gpu];
}

describe('rounds', () => {
  const nodesOf = (counts: readonly number[]) =>
    placeWorkers(counts.flatMap((count, node) => new Array<string>(count).fill(`n${node}`)));

  test('2 × 4 workers: 32 pairs in 4 rounds of 8, rails first', () => {
    const rounds = planRounds(nodesOf([4, 4]), 'nodes', false);
    assert.deepEqual(
      rounds.map(({ length }) => length),
      [8, 8, 8, 8],
    );
    assert.deepEqual(at(rounds, 0)[0], { from: 0, to: 4 });
    assert.deepEqual(planRounds(nodesOf([4, 4]), 'rails', false), [at(rounds, 0)]);
  });

  test('on one node all pairs of its workers; alone one in a round', () => {
    assert.equal(defaultPairs(nodesOf([4])), 'all');
    assert.equal(defaultPairs(nodesOf([4, 4])), 'nodes');
    assert.equal(planRounds(nodesOf([4]), 'all', false).length, 3);
    assert.equal(planRounds(nodesOf([4]), 'all', true).length, 12);
    assert.deepEqual(planRounds(nodesOf([1]), 'all', false), []);
  });

  test('whatever the nodes have: each pair once, no worker twice in a role of a round', () => {
    const counts = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(counts, fc.constantFrom('nodes', 'rails', 'all'), (sizes, pairs) => {
        const workers = nodesOf(sizes);
        const rounds = planRounds(workers, pairs, false);
        for (const round of rounds) {
          assert.equal(new Set(round.map(({ from }) => from)).size, round.length);
          assert.equal(new Set(round.map(({ to }) => to)).size, round.length);
        }
        const keys = rounds.flat().map(({ from, to }) => `${from} ${to}`);
        assert.equal(new Set(keys).size, keys.length);
        const total = workers.length;
        const within = sizes.reduce((sum, size) => sum + size * size, 0);
        if (pairs === 'all') assert.equal(keys.length, total * (total - 1));
        if (pairs === 'nodes') assert.equal(keys.length, total * total - within);
      }),
      { numRuns: 50 },
    );
  });

  test('the way of a pair is the rail of the receiver, by name or by its place', () => {
    const worker = (node: string, gpu: number, nic: string) => ({ node, gpu, nic });
    const a = [0, 1, 2].map((gpu) => worker('a', gpu, `eth${1 + Math.floor(gpu / 2)}`));
    const b = [0, 1, 2].map((gpu) => worker('b', gpu, `ens${1 + Math.floor(gpu / 2)}`));
    const c = [worker('c', 0, 'eth2'), worker('c', 1, '')];
    const all = [...a, ...b, ...c];
    const way = (from: number, to: number) => wayOf(railOf(all, at(all, from), at(all, to)));
    assert.deepEqual(way(0, 3), ['eth1', 0], 'its own');
    assert.deepEqual(way(0, 5), ['eth2', 2], 'the second, with the GPU behind it');
    assert.deepEqual(way(0, 6), ['eth2', 2], 'by name, whatever the number of NICs');
    assert.deepEqual(way(6, 0), ['eth2', 0], 'no opposite: its own');
    assert.deepEqual(way(0, 2), ['eth1', 0], 'within a node its own');
    assert.deepEqual(way(0, 7), ['eth1', 0], 'to one that is bound to none its own');
  });
});

describe('GPUs and NICs', () => {
  const a3High = readHost(openFixture(a3HighSpec()));
  const bare = readHost(openFixture(virtioHost()));
  const wish = (fields: Partial<GpuMapWish>): GpuMapWish => ({
    gpus: [0, 1, 2, 3, 4, 5, 6, 7],
    map: '',
    data: { named: '', listed: '', control: 'eth0' },
    hostIndex: (gpu) => gpu,
    ...fields,
  });
  const mapped = (model: HostModel, fields: Partial<GpuMapWish> = {}) =>
    mapGpus(model, wish(fields))
      .map(({ gpu, nic }) => `${gpu}=${nic}`)
      .join();
  const A3_HIGH = '0=eth1,1=eth1,2=eth2,3=eth2,4=eth3,5=eth3,6=eth4,7=eth4';

  test('A3 High: two GPUs to a NIC, by the PCI tree and by its names alone', () => {
    assert.equal(mapped(a3High), A3_HIGH);
    assert.match(at(mapGpus(a3High, wish({})), 0).reason, /PIX/);
    const treeless: HostModel = { ...a3High, gpus: [] };
    assert.equal(mapped(treeless), A3_HIGH);
    assert.equal(at(mapGpus(treeless, wish({})), 0).reason, 'the map of A3 High');
  });

  test('what is said counts: a pair, the NICs; without a tree they are shared out', () => {
    assert.equal(mapped(a3High, { map: '1=eth4,0=eth2', gpus: [0, 1, 2] }), '0=eth2,1=eth4,2=eth2');
    const named = { named: 'a,b', listed: '', control: '' };
    assert.equal(mapped(bare, { data: named, gpus: [0, 1, 2, 3] }), '0=a,1=a,2=b,3=b');
    assert.equal(mapped(bare, { data: named, gpus: [5] }), '5=a');
    assert.equal(mapped(bare, { gpus: [0] }), '0=');
  });

  test('lists of GPUs, and what is none', () => {
    assert.deepEqual(parseGpuList('0-2,5'), [0, 1, 2, 5]);
    assert.deepEqual(parseGpuList('0 1 2'), [0, 1, 2]);
    for (const text of ['', 'a', '3-1', '64', '0,0']) {
      assert.throws(() => parseGpuList(text), withCode('ERR_USAGE_ARGUMENT', /--gpus/));
    }
    for (const map of ['eth1', '0=', '0=eth1,0=eth2', '64=eth1']) {
      assert.throws(() => mapped(bare, { map }), withCode('ERR_USAGE_ARGUMENT', /--map/));
    }
  });
});

describe('messages of a mesh', () => {
  const result = benchResult(5, { bytesMoved: 1 });
  const window = { fromMs: 1, toMs: 2 };

  test('come as they went, in pieces too', () => {
    const message: MeshMessage = { kind: 'result', round: 0, worker: 1, window, result };
    const pieces = cutPieces(encodeMeshMessage(message).padEnd(40_000));
    assert.equal(pieces.length, 3);
    const joiner = new PieceJoiner();
    const texts = pieces.map((piece) => joiner.take(piece));
    assert.deepEqual(texts.slice(0, 2), [undefined, undefined]);
    assert.deepEqual(decodeMeshMessage(texts[2] ?? ''), JSON.parse(JSON.stringify(message)));
    assert.throws(() => joiner.take('no mark'), withCode('ERR_WIRE_FRAME', /mark/));
    const more = `+${'x'.repeat(1024 * 1024)}`;
    const flood = () => Array.from({ length: 17 }, () => joiner.take(more));
    assert.throws(flood, withCode('ERR_WIRE_LIMIT', /more than/));
  });

  test('what is not as it should be is refused by its field', () => {
    for (const [text, field] of [
      ['{', 'JSON'],
      ['null', 'kind'],
      ['{"kind":"toString"}', 'kind'],
      ['{"kind":"warm","round":-1,"worker":0}', 'warm.round'],
      ['{"kind":"failed","code":"ERR_NONE","message":"","isCause":true}', 'failed.code'],
      ['{"kind":"round","round":0,"orders":[{"worker":0,"host":"a","port":0}]}', 'round.orders'],
      [
        JSON.stringify({ kind: 'result', round: 0, worker: 0, window, result: {} }),
        'result.result',
      ],
      ['{"kind":"hello","protocol":2,"version":"1","rank":0,"hostname":"a"}', 'hello.size'],
    ] as const) {
      assert.throws(() => decodeMeshMessage(text), withCode('ERR_WIRE_FRAME', new RegExp(field)));
    }
  });

  test('a hello of another protocol is read as far as all have it', () => {
    const hello = { kind: 'hello', protocol: 9, version: '9.0.0', rank: 1, hostname: 'b' };
    assert.deepEqual(decodeMeshMessage(JSON.stringify(hello)), hello);
  });
});

const worker = (node: string, gpu: number): MeshWorker => ({
  ...{ rank: 0, worker: gpu, node, hostname: 'vm', host: `10.0.0.${node}`, port: 1, gpu },
  nic: `eth${gpu + 1}`,
});
const workers = [worker('1', 0), worker('1', 1), worker('2', 0), worker('2', 1)];
const run = (from: number, to: number, round: number, rate: number): MeshRun => ({
  ...{ from, to, round, window: { fromMs: 0, toMs: 100 } },
  result: benchResult(rate, {
    bytesMoved: 1e8,
    warnings: [`fastest was ${rate} times`],
    kernel: { tcp: {}, nics: {}, channels: [], peerChannels: [] },
  }),
});
const runs = [run(0, 2, 0, 4), run(1, 3, 0, 2), run(2, 0, 0, 4), run(3, 1, 0, 6)];

describe('figures of a mesh', () => {
  const mesh = meshDocument(
    { workers, rounds: 2, pairs: 5, runs: [...runs, run(0, 3, 1, 1)] },
    '2026-01-01T00:00:00.000Z',
  );

  test('matrix, sums by round, the slowest pair, warnings once', () => {
    assert.deepEqual(mesh.matrixGBps, [
      [null, null, 4, 1],
      [null, null, null, 2],
      [4, null, null, null],
      [null, 6, null, null],
    ]);
    assert.deepEqual([mesh.slowest.from, mesh.slowest.to], [0, 3]);
    assert.deepEqual(mesh.total.roundGBps, { mean: 16, min: 16, max: 16 }, 'of full rounds');
    assert.equal(at(mesh.rounds, 0).wallGBps, 4, 'all bytes over the time of the round');
    assert.deepEqual(mesh.nodes, ['10.0.0.1', '10.0.0.2'], 'one host name for both says nothing');
    assert.deepEqual(mesh.warnings, ['fastest was 4 times; of this kind 5 in 5 pairs']);
    assert.deepEqual(at(mesh.pairs, 0).wireBytes, { acknowledged: -1, received: -1 });
  });

  test('for people: a matrix for each two nodes, the slowest by name', () => {
    const text = formatMesh(mesh);
    assert.match(text, /^GB\/s, 10\.0\.0\.1 → 10\.0\.0\.2$/m);
    assert.match(text, /^GPU 0 eth1 +4\.00 +1\.00$/m);
    assert.match(text, /^GPU 1 eth2 +- +2\.00$/m);
    assert.match(
      text,
      /^slowest +10\.0\.0\.1 GPU 0 \(eth1\) → 10\.0\.0\.2 GPU 1 \(eth2\): 1\.00 GB/m,
    );
  });

  test('a pair that is wrong has its reason: bytes that differ, or the way they came', () => {
    const differs = { ok: false, verified: { iterations: 20, mismatches: 3 } };
    const devmem = { verdict: 'failed', packets: 0, reason: 'eth1: no packet', nics: [] } as const;
    const wrong = [differs, { ok: false, devmem }].map((fields, index) => {
      const one = at(runs, index);
      return { ...one, result: { ...one.result, ...fields } };
    });
    const text = formatMesh(meshDocument({ workers, rounds: 1, pairs: 2, runs: wrong }, ''));
    assert.match(text, /^WRONG +10\.0\.0\.1 GPU 0 .*: 3 of 20 verified iterations differ/m);
    assert.match(text, /^WRONG +10\.0\.0\.1 GPU 1 .*: eth1: no packet \(rx_devmem_pkts\)$/m);
  });

  test('as rows: one for each pair', () => {
    const rows = formatMeshCsv(mesh).trim().split('\n');
    assert.equal(rows.length, 6);
    assert.match(at(rows, 1), /^10\.0\.0\.1,0,eth1,10\.0\.0\.2,0,eth1,0,4\.000000,/);
  });

  test('a light result keeps a part of the samples from all of their time', () => {
    const values = Array.from({ length: 1000 }, (_, index) => index);
    const samples = { bandwidthGBps: { every: 2, values }, latencyUs: { every: 1, values: [1] } };
    const light = lightResult(benchResult(5, { samples, intervals: [] }));
    assert.equal(light.intervals, undefined);
    assert.deepEqual(light.samples?.bandwidthGBps.values.slice(0, 3), [0, 5, 10]);
    assert.equal(light.samples.bandwidthGBps.every, 10);
    assert.deepEqual(light.samples.latencyUs, { every: 1, values: [1] });
  });

  test('logs have the names and lines of UCCL’s full mesh', () => {
    const time = new Date(2026, 0, 31, 23, 59, 58);
    assert.equal(meshLogName('client', 3, time), 'fullmesh_client_gpu3_20260131_235958.log');
    const lines = meshClientLines(benchResult(5, { bytesMoved: 6e7 }), 3, '10.0.0.2:20003');
    assert.equal(lines[0], '[PERF] to 10.0.0.2:20003');
    assert.ok(lines.some((line) => /PERF.*Avg.*BW:/.test(line)));
  });
});
