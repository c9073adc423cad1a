// `npm run bench:gpu [-- --json] [--tune]`: the kernels against plain copies of the same bytes in
// the same run, with a verdict per row. Exit 0 all bars met, 1 one missed, 3 no GPU here.

import { parseArgs } from 'node:util';
import { formatTable, printJson, printText } from '../src/cli/print.js';
import { GpuContext } from '../src/ffi/cuda/context.js';
import { deviceByOrdinal } from '../src/ffi/cuda/device.js';
import { gpuAbsence, openCudaDriver } from '../src/ffi/cuda/driver.js';
import { measureRows, type Row, tuneRows } from './gpu-rows.js';

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
  return row.isMet === true ? 'met' : 'MISSED';
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
  const heading = ['what', 'p50', 'unit', 'ratio', 'bar', 'verdict', 'p10 … p90'];
  const where = `${report.device}, CUDA ${report.driverVersion / 1000}`;
  return `${where}\n${formatTable([heading, ...rows])}`;
}

function run(isTuning: boolean): Report {
  const driver = openCudaDriver();
  const device = deviceByOrdinal(driver, 0);
  const context = new GpuContext(driver, device);
  const rows = isTuning ? tuneRows(context) : measureRows(context);
  context.close();
  return {
    schema: 'tcpx.bench-gpu/1',
    ok: rows.every((row) => row.isMet !== false),
    evidence: 'measured',
    device: device.name,
    driverVersion: driver.version,
    rows,
  };
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, tune: { type: 'boolean' } } });
const absence = gpuAbsence();
if (absence !== undefined) {
  printText(`bench:gpu needs a GPU: ${absence}`);
  process.exitCode = 3;
} else {
  const report = run(values.tune === true);
  printText(formatReport(report));
  if (values.json === true) printJson(report);
  process.exitCode = report.ok ? 0 : 1;
}
