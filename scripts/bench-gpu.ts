// `npm run bench:gpu`: kernels against plain copies of the same bytes, GPU memory over TCP against
// NCCL’s socket transport, each in the same run, with a verdict per row. Exit 0 all bars met, 1 one
// missed or not judged, 3 no GPU here.

import { readFileSync } from 'node:fs';
import { formatTable, printJson, printNote, printText } from '../src/cli/print.js';
import { GpuContext } from '../src/ffi/cuda/context.js';
import { deviceByOrdinal, type GpuDevice } from '../src/ffi/cuda/device.js';
import { type CudaDriver, gpuAbsence, openCudaDriver } from '../src/ffi/cuda/driver.js';
import { measureRows, type Row, tuneRows } from './gpu-rows.js';
import { type Congestion, sweepRows, transferRows } from './gpu-transfer-rows.js';
import { ncclAbsence } from './nccl-peer.js';
import { readCount, readWords, refuse } from './words.js';

/** As in the table of host memory: what paces costs more than loopback does. */
const FIXED = 'cubic';
const SYSCTL = '/proc/sys/net/ipv4';

interface Report {
  readonly schema: 'tcpx.bench-gpu/1';
  readonly ok: boolean;
  readonly evidence: 'measured';
  readonly device: string;
  readonly driverVersion: number;
  readonly rows: readonly Row[];
}

function verdictOf(row: Row): string {
  if (row.bar === undefined) return '';
  if (row.isMet === undefined) return 'not judged';
  return row.isMet ? 'met' : 'MISSED';
}

function formatReport(report: Report): string {
  const rows = report.rows.map((row) => [
    row.name,
    row.value.toFixed(2),
    row.unit,
    row.ratio === undefined ? '' : row.ratio.toFixed(3),
    row.bar ?? '',
    verdictOf(row),
    row.spread,
  ]);
  const heading = ['what', 'p50', 'unit', 'ratio', 'bar', 'verdict', 'p10 … p90, or rounds'];
  const where = `${report.device}, CUDA ${report.driverVersion / 1000}`;
  return `${where}\n${formatTable([heading, ...rows])}`;
}

type Part = 'kernels' | 'transfers' | 'tune' | 'sweep';

async function run(parts: readonly Part[], rounds: number): Promise<Report> {
  const driver = openCudaDriver();
  const device = deviceByOrdinal(driver, 0);
  const rows: Row[] = [];
  if (parts.includes('kernels')) rows.push(...withContext(driver, device, measureRows));
  if (parts.includes('tune')) rows.push(...withContext(driver, device, tuneRows));
  if (parts.includes('transfers')) {
    const absence = ncclAbsence();
    if (absence !== undefined) printLine(`without NCCL to compare with: needs ${absence}`);
    const hasNccl = absence === undefined;
    const congestion = congestionOf();
    rows.push(...(await transferRows({ hasNccl, congestion, rounds, tell: printLine })));
  }
  if (parts.includes('sweep')) rows.push(...(await sweepRows()));
  return {
    schema: 'tcpx.bench-gpu/1',
    ok: rows.every((row) => row.bar === undefined || row.isMet === true),
    evidence: 'measured',
    device: device.name,
    driverVersion: driver.version,
    rows,
  };
}

/** Without root NCCL gets no other than the host's, and so do we. */
function congestionOf(): Congestion {
  const host = readFileSync(`${SYSCTL}/tcp_congestion_control`, 'utf8').trim();
  const known = readFileSync(`${SYSCTL}/tcp_available_congestion_control`, 'utf8');
  const canFix = host !== FIXED && process.getuid?.() === 0 && known.split(/\s+/).includes(FIXED);
  const fixed = canFix ? FIXED : '';
  printLine(`congestion control: ${host} is the host's${canFix ? `, ${FIXED} for both` : ''}`);
  return { fixed, host };
}

function withContext(
  driver: CudaDriver,
  device: GpuDevice,
  measure: (context: GpuContext) => Row[],
): Row[] {
  const context = new GpuContext(driver, device);
  const rows = measure(context);
  context.close();
  return rows;
}

function partsOf(values: { only?: string; tune?: boolean; sweep?: boolean }): Part[] {
  const { only } = values;
  if (only !== undefined && only !== 'kernels' && only !== 'transfers') {
    refuse(`--only ${only}: kernels or transfers`);
  }
  if (values.tune === true) return ['tune'];
  if (values.sweep === true) return ['sweep'];
  return only === undefined ? ['kernels', 'transfers'] : [only];
}

const USAGE = `npm run bench:gpu [-- FLAGS]
  --json                    a document on stdout, the tables on stderr
  --only kernels|transfers  one of the two tables
  --rounds N                of the transfers; 3 by default
  --tune                    other launch shapes instead
  --sweep                   sizes of chunks and numbers of channels instead`;
const { values } = readWords(USAGE, {
  options: {
    json: { type: 'boolean' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    tune: { type: 'boolean' },
    sweep: { type: 'boolean' },
  },
});
const printLine = values.json === true ? printNote : printText;
const parts = partsOf(values);
const rounds = readCount('--rounds', values.rounds);
const absence = gpuAbsence();
if (absence !== undefined) {
  printText(`bench:gpu needs a GPU: ${absence}`);
  process.exitCode = 3;
} else {
  const report = await run(parts, rounds);
  printLine(formatReport(report));
  if (values.json === true) printJson(report);
  process.exitCode = report.ok ? 0 : 1;
}
