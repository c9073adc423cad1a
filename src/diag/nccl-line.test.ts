import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from '../base/errors.js';
import { ncclLine, parseNcclNumbers } from './nccl-line.js';

const COMMON = {
  hostFile: 'hosts',
  controlNic: 'eth0',
  environment: { NCCL_ALGO: 'Ring', HOME: '/root' },
  hasTrace: false,
};

function lineOf(words: readonly string[], more: Partial<Parameters<typeof ncclLine>[0]> = {}) {
  return ncclLine({ ...COMMON, ...parseNcclNumbers(words), ...more });
}

test('nccl: 2 8 0 1 1 is an all-reduce of eight GPUs in one process per node, collected', () => {
  const { nodes, gpus, isCollected } = parseNcclNumbers(['2', '8', '0', '1', '1']);
  assert.deepEqual([nodes, gpus, isCollected], [2, 8, true]);
  assert.equal(parseNcclNumbers(['2', '8', '0', '1']).isCollected, false);
  assert.equal(parseNcclNumbers(['2', '8', '0', '1', '0']).isCollected, false);
  const { words } = lineOf(['2', '8', '0', '1', '1']);
  assert.equal(
    words.join(' '),
    'mpirun --allow-run-as-root -np 2 -N 1 --hostfile hosts --mca btl tcp,self ' +
      '--mca btl_tcp_if_include eth0 -x NCCL_ALGO -x NCCL_DEBUG -x NCCL_DEBUG_SUBSYS ' +
      'all_reduce_perf -c 0 -b 1K -e 1G -f 2 -w 50 -n 50 -g 1 -t 8',
  );
});

test('nccl: 2 1 2 2 is sendrecv at our size and iterations', () => {
  const { program, words } = lineOf(['2', '1', '2', '2']);
  assert.equal(program, 'sendrecv_perf');
  assert.match(
    words.join(' '),
    /-np 4 -N 2 .*sendrecv_perf -c 1 -b 64M -e 64M -w 5 -n 20 -g 1 -t 1$/,
  );
  assert.equal(lineOf(['2', '8', '1']).program, 'alltoall_perf');
});

test('nccl: on request every line of every subsystem', () => {
  const { environment } = lineOf(['2'], { hasTrace: true });
  assert.equal(environment['NCCL_DEBUG'], 'TRACE');
  assert.equal(environment['NCCL_DEBUG_SUBSYS'], 'ALL');
});

test('nccl: numbers out of range are named', () => {
  for (const words of [['0'], ['2', 'x'], ['2', '8', '0', '1', '2'], ['-1']]) {
    assert.throws(
      () => parseNcclNumbers(words),
      (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
    );
  }
});
