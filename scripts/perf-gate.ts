// `npm run perf:gate`: whether WRITE and READ still have the share of a plain stream over loopback
// that they had; exit 1 where they have not. Some seconds; `--save` stores what it measures.

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/base/config.js';
import { silentLog } from '../src/base/log.js';
import type { SettingValues } from '../src/base/settings.js';
import { runLoopback } from '../src/bench/loopback.js';
import { medianOf } from '../src/bench/statistics.js';
import { ThreadPair } from '../src/measure/thread-pair.js';
import { type GateStore, type GateVerdict, judgeGate } from './perf/gate-rule.js';
import { readCount, readWords } from './words.js';

const USAGE = 'npm run perf:gate [-- --rounds N] [--save]';
const STORE = fileURLToPath(new URL('../../scripts/perf/gate.json', import.meta.url));
const OPERATIONS = ['write', 'read'] as const;
const ANYWHERE = { first: [], second: [] } as const;
const CONGESTION = 'cubic';
const SHAPE: Partial<SettingValues> = {
  'bench.sizeBytes': 64 * 1024 * 1024,
  'bench.verify': 'none',
  'bench.warmup': 50,
  'bench.warmupSeconds': 0,
  'bench.iterations': 20,
  'flow.channels': 1,
  'lane.count': 1,
  'socket.congestion': CONGESTION,
};

type Ratios = Record<(typeof OPERATIONS)[number], number[]>;

const { values } = readWords(USAGE, {
  options: { rounds: { type: 'string', default: '3' }, save: { type: 'boolean' } },
});
const rounds = readCount('--rounds', values.rounds);
const ratios: Ratios = { write: [], read: [] };
await measure(ratios);
if (values.save === true) save(ratios);
else process.exitCode = await judge(ratios);

async function measure(into: Ratios): Promise<void> {
  const pair = new ThreadPair();
  try {
    for (let round = 0; round < rounds; round++) {
      const stream = await pair.stream(CONGESTION, ANYWHERE);
      for (const op of OPERATIONS) {
        const config = loadConfig({ options: { ...SHAPE, 'bench.op': op } });
        const onProgress = (): void => undefined;
        const { bandwidthGBps } = await runLoopback({ config, log: silentLog, onProgress });
        into[op].push(bandwidthGBps.p50 / stream.gigabytesPerSecond);
      }
    }
  } finally {
    await pair.close();
  }
}

/** What fails is measured again before it is believed; the rounds of both count. */
async function judge(into: Ratios): Promise<number> {
  const store = JSON.parse(readFileSync(STORE, 'utf8')) as GateStore;
  let verdicts = judgeGate(store, into);
  if (verdicts.some(({ isMet }) => !isMet)) {
    await measure(into);
    verdicts = judgeGate(store, into);
  }
  for (const verdict of verdicts) process.stdout.write(lineOf(verdict));
  return verdicts.every(({ isMet }) => isMet) ? 0 : 1;
}

function lineOf({ name, best, least, isMet }: GateVerdict): string {
  const words = `best ${best.toFixed(2)} of a plain stream, at least ${least.toFixed(2)}`;
  return `${isMet ? 'met' : 'SLOWER'}  ${name.toUpperCase()} 64 MiB: ${words}\n`;
}

function save(measured: Ratios): void {
  const medians = OPERATIONS.map((op) => [op, Number(medianOf(measured[op]).toFixed(2))] as const);
  const where = `${cpus()[0]?.model ?? '?'}, ${cpus().length} cores, Linux ${release()}`;
  const store: GateStore = {
    schema: 'tcpx.perf-gate/1',
    ratios: Object.fromEntries(medians),
    measuredOn: `${where}, Node ${process.version}, ${rounds} rounds`,
  };
  writeFileSync(STORE, `${JSON.stringify(store, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(store)}\n`);
}
