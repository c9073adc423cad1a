// Who takes part in a comparison: ourselves, and every program that is installed here and does the
// same work. Each is run once in every round.

import type { Config, Environment } from '../../base/config.js';
import { isInstalled } from '../../base/installed.js';
import type { Log } from '../../base/log.js';
import type { BenchResult } from '../bench-result.js';
import { nothingMeasured } from '../bench-run.js';
import { runBench } from '../bench-session.js';
import { deriveConfig, type SettingChanges } from '../derived-config.js';
import { runLoopback } from '../loopback.js';
import { runIperf3 } from '../peers/iperf3.js';
import type { PeerFigure } from '../peers/peer-figure.js';
import { libfabric, ncclTests, nixlbench, runRowPeer, sockperf } from '../peers/row-figures.js';
import { runUcx } from '../peers/ucx.js';
import type { Work } from './comparison.js';

export interface Contender {
  readonly name: string;
  readonly work: Work;
  readonly isOurs: boolean;
  /** The program that must be installed; empty for ourselves. */
  readonly program: string;
  run(): Promise<PeerFigure>;
}

export interface CompareShape {
  readonly config: Config;
  readonly log: Log;
  /** Undefined for both ends on this machine. */
  readonly host: string | undefined;
  /** Of a turn; 0 takes few iterations of ours, to try it. */
  readonly seconds: number;
  readonly congestion: string;
  /** Ends whatever has its turn. */
  readonly stop: AbortSignal;
  /** Told of each of our own results. */
  onOwn(work: Work, result: BenchResult): void;
  /** Streams that a peer gets: as many as we have channels. */
  channels(): number;
}

const PORT = 25_301;
const LATENCY_BYTES = 4096;
const PINGS = 20_000;
const PINGS_FEW = 500;
/** A put of 64 MiB takes two seconds in some versions of UCX. */
const UCX_PUTS = 2;
const UCX_GETS = 10;
/** Both of its ends poll: with fewer free cores than that a ping takes a millisecond. */
const LIBFABRIC_PINGS = 2000;

export function ownContenders(shape: CompareShape): Contender[] {
  const timed = {
    'bench.seconds': shape.seconds,
    'bench.warmupSeconds': shape.seconds,
    'bench.verify': 'none',
  };
  const count = shape.seconds === 0 ? PINGS_FEW : PINGS;
  const pings = { 'bench.warmup': count, 'bench.iterations': count, 'lane.progress': 'caller' };
  const works: readonly (readonly [Work, SettingChanges])[] = [
    ['write', { ...timed, 'bench.op': 'write' }],
    ['read', { ...timed, 'bench.op': 'read' }],
    ['latency', { ...pings, 'bench.op': 'pingpong', 'bench.sizeBytes': LATENCY_BYTES }],
  ];
  // A target elsewhere polls or not as it was started: only the initiator's side is ours.
  const own = shape.host === undefined ? works : works.slice(0, 2);
  return own.map(([work, changes]) => ({
    name: 'nixl-tcpx',
    work,
    isOurs: true,
    program: '',
    run: async () => {
      const result = await runOwn(shape, changes);
      shape.onOwn(work, result);
      if (work === 'latency') return { halfTripUs: result.latencyUs.p50 };
      return { bytesPerSecond: result.bandwidthGBps.mean * 1e9 };
    },
  }));
}

/** Once, with every byte compared: what is fast and wrong is not fast. */
export async function checkOwn(shape: CompareShape): Promise<BenchResult> {
  const quick = { 'bench.warmup': 0, 'bench.warmupSeconds': 0, 'bench.iterations': 2 };
  return await runOwn(shape, { ...quick, 'bench.seconds': 0, 'bench.verify': 'all' });
}

async function runOwn(
  { config, log, host, congestion, stop }: CompareShape,
  changes: SettingChanges,
) {
  const own = deriveConfig(config, { ...changes, 'socket.congestion': congestion }, 'compare');
  const onProgress = (): void => undefined;
  const port = own.values['session.port'];
  const options = { config: own, log, onProgress, stop };
  const result =
    host === undefined ? await runLoopback(options) : await runBench({ ...options, host, port });
  // Half a turn would stand beside whole ones.
  if (stop.aborted) throw nothingMeasured();
  return result;
}

const IPERF3_PORT = 5201;

/** Against a host elsewhere only a server that stays can be a peer. */
export function peerContenders(shape: CompareShape): Contender[] {
  const sizeBytes = shape.config.values['bench.sizeBytes'];
  const peer = (program: string, work: Work, name: string, run: () => Promise<PeerFigure>) => {
    return { name, work, isOurs: false, program, run };
  };
  const iperf = (work: 'write' | 'read', blockBytes: number) => () =>
    runIperf3({
      port: shape.host === undefined ? PORT : IPERF3_PORT,
      seconds: Math.max(1, shape.seconds),
      streams: shape.channels(),
      blockBytes,
      congestion: shape.congestion,
      isReverse: work === 'read',
      stop: shape.stop,
      ...(shape.host === undefined ? {} : { host: shape.host, hasServer: true }),
    });
  const chunk = shape.config.values['flow.chunkBytes'];
  const everywhere = [
    peer('iperf3', 'write', 'iperf3', iperf('write', 0)),
    peer('iperf3', 'write', `iperf3 -l ${chunk}`, iperf('write', chunk)),
    peer('iperf3', 'read', `iperf3 -R -l ${chunk}`, iperf('read', chunk)),
  ];
  if (shape.host !== undefined) return everywhere;
  const bulk = { port: PORT + 2, sizeBytes, seconds: Math.max(1, shape.seconds) };
  const small = { ...bulk, port: PORT + 3, sizeBytes: LATENCY_BYTES };
  const ucx = (test: Parameters<typeof runUcx>[0]['test'], bytes: number, iterations: number) => {
    const warmup = bytes === sizeBytes ? { warmup: 1 } : {};
    const { stop } = shape;
    return () => runUcx({ test, port: PORT + 1, sizeBytes: bytes, iterations, stop, ...warmup });
  };
  return [
    ...everywhere,
    peer('ucx_perftest', 'write', 'UCX put', ucx('ucp_put_bw', sizeBytes, UCX_PUTS)),
    peer('ucx_perftest', 'read', 'UCX get', ucx('ucp_get', sizeBytes, UCX_GETS)),
    peer('ucx_perftest', 'latency', 'UCX put', ucx('ucp_put_lat', LATENCY_BYTES, PINGS)),
    peer('fi_rma_bw', 'write', 'libfabric write', () =>
      runRowPeer(libfabric('fi_rma_bw', bulk, UCX_GETS), shape.stop),
    ),
    peer('fi_pingpong', 'latency', 'libfabric ping-pong', () =>
      runRowPeer(libfabric('fi_pingpong', small, LIBFABRIC_PINGS), shape.stop),
    ),
    peer('fi_rdm_pingpong', 'latency', 'libfabric ping-pong, rdm', () =>
      runRowPeer(libfabric('fi_rdm_pingpong', small, LIBFABRIC_PINGS), shape.stop),
    ),
    peer('sockperf', 'latency', 'sockperf', () => runRowPeer(sockperf(small), shape.stop)),
    peer('sendrecv_perf', 'write', 'NCCL send, sockets', () =>
      runRowPeer(ncclTests(bulk), shape.stop),
    ),
    peer('nixlbench', 'write', 'NIXL over UCX', () => runRowPeer(nixlbench(bulk, 64), shape.stop)),
  ];
}

/** Programs that are not there, each once. */
export function absentPrograms(peers: readonly Contender[], environment: Environment): string[] {
  const programs = [...new Set(peers.map(({ program }) => program))];
  return programs.filter((program) => !isInstalled(program, environment));
}
