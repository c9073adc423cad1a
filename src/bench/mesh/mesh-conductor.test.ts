// A whole mesh in one process, with workers that only say what they are told: who comes, who does
// not, who contradicts, who dies.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { benchResult } from '../../../test/support/bench-result.js';
import { until } from '../../../test/support/until.js';
import { at } from '../../base/assert.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { nothingMeasured } from '../bench-run.js';
import { MeshConductor, type MeshConductorOptions } from './mesh-conductor.js';
import { meshDocument } from './mesh-figures.js';
import { localLinks, type MeshLink } from './mesh-link.js';
import { type MeshWorkers, takePart } from './mesh-member.js';
import { MESH_PROTOCOL, type MeshHello, type MeshOrder } from './mesh-message.js';

const TERMS = { 'bench.sizeBytes': '65536' };

function hello(rank: number, fields: Partial<MeshHello> = {}): MeshHello {
  const worker = (gpu: number) => ({ gpu, nic: `eth${gpu}`, port: 20_000 + gpu });
  return {
    ...{ kind: 'hello', protocol: MESH_PROTOCOL, version: '1.0.0', rank, size: 2 },
    ...{ hostname: `host-${rank}`, node: `node-${rank}`, terms: TERMS },
    workers: [worker(0), worker(1)],
    ...fields,
  };
}

function conductor(fields: Partial<MeshConductorOptions> = {}): MeshConductor {
  return new MeshConductor({
    ...{ size: 2, version: '1.0.0', terms: TERMS, firstHost: '10.0.0.1' },
    ...{ hosts: undefined, pairs: undefined, isAlone: false, waitMs: 2000 },
    onAssembled: () => undefined,
    onRound: () => undefined,
    ...fields,
  });
}

/** Warm at once; measured when started. */
class ScriptedWorkers implements MeshWorkers {
  readonly death: Promise<TcpxError>;
  readonly orders: (MeshOrder & { readonly round: number })[] = [];
  die: (error: TcpxError) => void = () => undefined;
  readonly #starts = new Map<number, () => void>();

  constructor() {
    this.death = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  measure(round: number, order: MeshOrder, onWarm: () => void) {
    this.orders.push({ ...order, round });
    const started = new Promise<void>((resolve) => {
      const before = this.#starts.get(round);
      this.#starts.set(round, () => {
        before?.();
        resolve();
      });
    });
    onWarm();
    const result = benchResult(1 + order.worker, { bytesMoved: 65_536 });
    return started.then(() => ({ window: { fromMs: 0, toMs: 1 }, result }));
  }

  start(round: number): void {
    this.#starts.get(round)?.();
  }

  stop(): void {
    assert.fail('nobody is told to stop');
  }
}

/** Measure until they are stopped: the first has something then, the others have nothing. */
class StoppableWorkers extends ScriptedWorkers {
  #onStop: (() => void)[] = [];

  override async measure(round: number, order: MeshOrder, onWarm: () => void) {
    const stopped = new Promise<void>((resolve) => this.#onStop.push(resolve));
    await super.measure(round, order, onWarm);
    await stopped;
    if (order.worker > 0) throw nothingMeasured();
    const partial = { bytesMoved: 65_536, partial: 'stopped by the user' };
    return { window: { fromMs: 0, toMs: 1 }, result: benchResult(1, partial) };
  }

  override stop(): void {
    for (const resolve of this.#onStop) resolve();
  }
}

/** Nobody is told to stop. */
const NEVER = new Promise<TcpxError>(() => undefined);

function linkTo(one: MeshConductor, host: string): MeshLink {
  const [own, theirs] = localLinks();
  one.admit({ ...theirs, host });
  return own;
}

function part(
  one: MeshConductor,
  said: MeshHello,
  workers: MeshWorkers = new ScriptedWorkers(),
  stopped = NEVER,
) {
  const ended = takePart(linkTo(one, `10.0.0.${said.rank + 1}`), said, workers, stopped);
  ended.catch(() => undefined);
  return ended;
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return `${error.code}: ${error.message}`;
  }
  throw new Error('it did not fail');
}

describe('mesh: all goes well', () => {
  test('every pair of two nodes once, in rounds, over the receiver’s rail', async () => {
    const rounds: number[] = [];
    const one = conductor({ onRound: (_, runs) => rounds.push(runs.length) });
    const workers = [new ScriptedWorkers(), new ScriptedWorkers()];
    const parts = workers.map((own, rank) => part(one, hello(rank), own));
    const outcome = await one.run();
    assert.deepEqual(await Promise.all(parts), [true, true]);
    assert.deepEqual(rounds, [4, 4]);
    assert.equal(outcome.runs.length, 8);
    assert.deepEqual(at(workers, 0).orders, [
      { round: 0, worker: 0, host: '10.0.0.2', port: 20_000, nic: 'eth0', railGpu: 0 },
      { round: 0, worker: 1, host: '10.0.0.2', port: 20_001, nic: 'eth1', railGpu: 1 },
      { round: 1, worker: 0, host: '10.0.0.2', port: 20_001, nic: 'eth1', railGpu: 1 },
      { round: 1, worker: 1, host: '10.0.0.2', port: 20_000, nic: 'eth0', railGpu: 0 },
    ]);
  });

  test('a process that comes by loopback is reached where rank 0 is', async () => {
    const one = conductor();
    const workers = new ScriptedWorkers();
    void takePart(linkTo(one, ''), hello(0, { node: 'a' }), new ScriptedWorkers(), NEVER);
    void takePart(linkTo(one, '127.0.0.1'), hello(1, { node: 'a' }), workers, NEVER);
    await one.run();
    const hosts = new Set(workers.orders.map(({ host }) => host));
    assert.deepEqual([...hosts], ['10.0.0.1']);
  });
});

describe('mesh: who does not fit', () => {
  const CASES: readonly [string, MeshHello, RegExp][] = [
    [
      'another version',
      hello(1, { version: '2.0.0' }),
      /CONFIG_MISMATCH: mesh: rank 1 \(10\.0\.0\.2\) runs version 2\.0\.0.* rank 0 version 1\.0\.0/,
    ],
    ['another protocol', hello(1, { protocol: 9 }), /CONFIG_MISMATCH: .*protocol 9/],
    ['another size of the mesh', hello(1, { size: 3 }), /is of 3 processes, rank 0 of 2/],
    ['a rank beyond', hello(5), /CONFIG_MISMATCH: .*rank 5/],
    ['a rank that is there', hello(0), /two processes are rank 0: at 10\.0\.0\.1 and at/],
    [
      'other settings',
      hello(1, { terms: { 'bench.sizeBytes': '1' } }),
      /bench\.sizeBytes: rank 1 \(10\.0\.0\.2\) has 1, rank 0 65536/,
    ],
  ];
  for (const [name, said, message] of CASES) {
    test(`${name}: all are told`, async () => {
      const one = conductor();
      const first = part(one, hello(0));
      const running = one.run();
      running.catch(() => undefined);
      await new Promise(setImmediate);
      const second = part(one, said);
      for (const ended of [running, first, second]) assert.match(await failureOf(ended), message);
    });
  }

  test('one that never comes is named, by the list of nodes where there is one', async () => {
    const hosts = ['10.0.0.1', '10.0.0.2', 'node-c'];
    const one = conductor({ size: 3, hosts, waitMs: 60 });
    const first = part(one, hello(0, { size: 3 }));
    const message =
      /ERR_PEER_TIMEOUT: mesh: 2 of 3 .* in 60 ms: rank 1 \(10\.0\.0\.2\), rank 2 \(node-c\)/;
    assert.match(await failureOf(one.run()), message);
    assert.match(await failureOf(first), message);
    assert.match(await failureOf(part(one, hello(1, { size: 3 }))), message, 'who comes too late');
  });

  test('strangers on the port change nothing', async () => {
    const one = conductor();
    await linkTo(one, '10.9.9.9').send({ kind: 'go', round: 0 });
    linkTo(one, '10.9.9.8').close();
    const parts = [part(one, hello(0)), part(one, hello(1))];
    await one.run();
    assert.deepEqual(await Promise.all(parts), [true, true]);
  });

  test('one worker alone has nobody to measure against', async () => {
    const one = conductor({ size: 1 });
    const only = part(one, hello(0, { size: 1, workers: [{ gpu: 0, nic: '', port: 1 }] }));
    assert.match(await failureOf(one.run()), /ERR_USAGE_ARGUMENT: mesh: no pairs: 1 workers/);
    await failureOf(only);
  });
});

describe('mesh: failures in mid-run', () => {
  test('a worker that dies is the cause, though its peer was heard first', async () => {
    const one = conductor();
    const dying = new ScriptedWorkers();
    const peers = new ScriptedWorkers();
    peers.measure = () => Promise.reject(new TcpxError('ERR_PEER_LOST', 'session ended'));
    const parts = [part(one, hello(0), peers), part(one, hello(1), dying)];
    setTimeout(
      () => dying.die(new TcpxError('ERR_PEER_LOST', 'worker of GPU 1 ended: SIGKILL')),
      60,
    );
    const message = /ERR_PEER_LOST: rank 1 \(10\.0\.0\.2\): worker of GPU 1 ended: SIGKILL/;
    assert.match(await failureOf(one.run()), message);
    for (const ended of parts) assert.match(await failureOf(ended), message);
  });

  test('a pair that fails, and nothing else: that', async () => {
    const one = conductor();
    const failing = new ScriptedWorkers();
    failing.measure = () => Promise.reject(new TcpxError('ERR_XFER_DEADLINE', 'not confirmed'));
    const parts = [part(one, hello(0)), part(one, hello(1), failing)];
    assert.match(await failureOf(one.run()), /ERR_XFER_DEADLINE: rank 1 \(10\.0\.0\.2\): not/);
    for (const ended of parts) await failureOf(ended);
  });

  test('a process that is gone is named; one whose conductor is gone says so', async () => {
    const one = conductor();
    const staying = part(one, hello(0), new ScriptedWorkers());
    const link = linkTo(one, '10.0.0.2');
    await link.send(hello(1));
    const running = one.run();
    running.catch(() => undefined);
    await new Promise(setImmediate);
    link.close();
    assert.match(await failureOf(running), /ERR_PEER_LOST: rank 1 \(10\.0\.0\.2\) is gone/);
    assert.match(await failureOf(staying), /rank 1 \(10\.0\.0\.2\) is gone/);
    const [own, other] = localLinks();
    const left = takePart(own, hello(1), new ScriptedWorkers(), NEVER);
    other.close();
    assert.match(await failureOf(left), /ERR_PEER_LOST: rank 0 is gone/);
  });

  test('an answer out of turn ends it', async () => {
    const one = conductor();
    const parts = [part(one, hello(0))];
    const link = linkTo(one, '10.0.0.2');
    await link.send(hello(1));
    await link.send({ kind: 'warm', round: 7, worker: 0 });
    assert.match(await failureOf(one.run()), /ERR_WIRE_STATE: rank 1 .* warm of round 7/);
    for (const ended of parts) await failureOf(ended);
  });
});

describe('mesh: stopped in mid-run', () => {
  test('one is told to stop: pairs end, what they have counts, all hear why', async () => {
    const one = conductor();
    const reason = new TcpxError('ERR_XFER_CANCELLED', 'mesh: stopped by SIGINT');
    const workers = [new StoppableWorkers(), new StoppableWorkers()] as const;
    let stop: (error: TcpxError) => void = () => undefined;
    const stopped = new Promise<TcpxError>((resolve) => {
      stop = resolve;
    });
    const parts = [part(one, hello(0), workers[0]), part(one, hello(1), workers[1], stopped)];
    const running = one.run();
    await until('all are warm', 2000, () => workers.every(({ orders }) => orders.length === 2));
    stop(reason);
    const outcome = await running;
    const { runs, failure, pairs } = outcome;
    const message = 'ERR_XFER_CANCELLED: rank 1 (10.0.0.2): mesh: stopped by SIGINT';
    assert.equal(`${failure?.code ?? ''}: ${failure?.message ?? ''}`, message);
    // Of four pairs of the first round the first worker of each process had measured something.
    assert.deepEqual([runs.length, pairs], [2, 8]);
    for (const ended of parts) assert.equal(await failureOf(ended), message);
    const document = meshDocument(outcome, '');
    assert.match(document.partial ?? '', /SIGINT; 2 of 8 pairs measured, 2 of them cut short$/);
    assert.equal(document.rounds.length, 1);
  });
});
