// Requests, chunks and what the log says of them.

import { formatBytes } from '../../base/units.js';
import { fail, pass, STOPS_THE_RUN, skip, type Verdict, warn } from '../rule.js';
import { numberVariable, type RunFacts, type RunRule } from '../run-facts.js';

/** A connection of the plugin has this many requests. */
const POOL_SIZE = 16;
const CHUNK = 'NCCL_DYNAMIC_CHUNK_SIZE';

function eventLines({ run }: RunFacts, ...ids: readonly string[]): readonly string[] {
  const found = run.nccl.events.filter(({ id }) => ids.includes(id));
  return found.map(({ count, first }) => `${count} times: ${first}`);
}

/** A bundle without a log of NCCL or the plugin says nothing about lines that are not there. */
export function noSuchLine({ run }: RunFacts): Verdict {
  const isTold = run.nccl.lineCount > 0;
  return isTold ? pass('the log has no such line') : skip('no log of NCCL or the plugin');
}

export const poolRule: RunRule = {
  id: 'requests.pool',
  area: 'run',
  title: 'Requests of a connection suffice',
  why: 'A connection has 16 requests; a receive keeps its one until it is consumed.',
  remedy: 'Keep 16 in flight at most, receives not yet consumed included; consume before posting.',
  proof: 'tcpx trace summary TRACE',
  experiment: 'The run with half the window: the line must go, the bandwidth stay.',
  confidence: 0.95,
  gainPercent: STOPS_THE_RUN,
  check(facts): Verdict {
    const lines = eventLines(facts, 'pool-exhausted', 'queue-full');
    return lines.length === 0 ? noSuchLine(facts) : fail(...lines);
  },
};

const WINDOWS = [
  'UCCL_TCPX_MAX_SEND_INFLIGHT',
  'UCCL_TCPX_MAX_RECV_INFLIGHT',
  'UCCL_TCPX_WINDOW_SIZE',
  'NIXL_TCPX_TCPX_SEND_WINDOW',
  'NIXL_TCPX_TCPX_RECV_WINDOW',
] as const;

export const windowRule: RunRule = {
  id: 'requests.window',
  area: 'run',
  title: 'No window is larger than the pool of requests',
  why: 'What does not fit into the pool fails, or waits where nobody expects it.',
  remedy: 'Set the window to 16 or less; 12 for sends leaves room for their completions.',
  proof: 'tcpx config',
  experiment: 'The run with a window of 12.',
  confidence: 0.9,
  gainPercent: STOPS_THE_RUN / 2,
  check(facts): Verdict {
    const set = WINDOWS.map((name) => [name, numberVariable(facts, name)] as const);
    const large = set.filter(([, value]) => (value ?? 0) > POOL_SIZE);
    const logged = facts.run.perf.chunks.find(({ pendingMax }) => (pendingMax ?? 0) > POOL_SIZE);
    const lines = [
      ...large.map(([name, value]) => `${name}=${value ?? ''}, the pool has ${POOL_SIZE}`),
      ...(logged === undefined ? [] : [`chunks are posted up to ${logged.pendingMax ?? 0}`]),
    ];
    if (lines.length > 0) return fail(...lines);
    return facts.isPlugin ? pass('none found') : skip('the run did not go through the plugin');
  },
};

export const chunkUnsetRule: RunRule = {
  id: 'chunk.unset',
  area: 'run',
  title: 'The dynamic chunk size is set',
  why: 'Its default of 0 moves nothing: everything connects, and then hangs.',
  remedy: `Set ${CHUNK}=524288.`,
  proof: 'tcpx env',
  experiment: 'The run with the variable set: it must end.',
  confidence: 0.98,
  gainPercent: STOPS_THE_RUN,
  check(facts): Verdict {
    const { run, isPlugin, environment, isEnvironmentKnown } = facts;
    if (run.nccl.chunkBytes === 0) return fail('the plugin logs a dynamic chunk size of 0');
    if (!isPlugin) return skip('the run did not go through the plugin');
    if (run.nccl.chunkBytes !== undefined) return pass(`${run.nccl.chunkBytes} by the log`);
    if (run.bench !== undefined) return pass('our provider sets it');
    if (isEnvironmentKnown === false) return skip('the variables of the run are not known');
    return environment[CHUNK] === undefined || environment[CHUNK] === '0'
      ? fail(`${CHUNK} is ${environment[CHUNK] ?? 'not set'}`)
      : pass(`${CHUNK}=${environment[CHUNK] ?? ''}`);
  },
};

export const chunkLargeRule: RunRule = {
  id: 'chunk.large',
  area: 'run',
  title: 'No message is larger than the dynamic chunk',
  why: 'A larger message needs more fragments than a request holds.',
  remedy: `Messages of ${CHUNK} at most, and that at most 512 KiB.`,
  proof: 'tcpx env diff self REFERENCE',
  experiment: 'The run with chunks of 512 KiB.',
  confidence: 0.9,
  gainPercent: STOPS_THE_RUN - 1,
  check(facts): Verdict {
    const logged = eventLines(facts, 'too-many-fragments', 'cmsg-truncated');
    const chunk = facts.run.nccl.chunkBytes ?? numberVariable(facts, CHUNK);
    const messages = ['UCCL_TCPX_CHUNK_BYTES', 'NCCL_P2P_NET_CHUNKSIZE'].flatMap((name) => {
      const bytes = numberVariable(facts, name);
      const isLarge = bytes !== undefined && chunk !== undefined && chunk > 0 && bytes > chunk;
      return isLarge ? [`${name} is ${formatBytes(bytes)}, the chunk ${formatBytes(chunk)}`] : [];
    });
    const lines = [...messages, ...logged];
    if (lines.length > 0) return fail(...lines);
    return facts.isPlugin ? pass('none found') : skip('the run did not go through the plugin');
  },
};

export const verifiedRule: RunRule = {
  id: 'run.verified',
  area: 'run',
  title: 'What was checked arrived as it was sent',
  why: 'A path that copies nothing, or the wrong bytes, is fast. Its figure is worth nothing.',
  remedy: 'Find the first wrong byte: tcpx bench … --verify all; unpack before use.',
  proof: 'tcpx bench client PEER --verify all',
  experiment: 'The run with each unpack of tcpx.unpack.',
  confidence: 1,
  gainPercent: STOPS_THE_RUN,
  check({ run }): Verdict {
    const wrong = run.bench?.mismatches;
    const lines = [
      ...(wrong !== undefined && wrong > 0
        ? [`${wrong} iterations of the benchmark were wrong`]
        : []),
      ...(run.tests.wrongValues === 'failed' ? ['nccl-tests found values out of bounds'] : []),
    ];
    if (lines.length > 0) return fail(...lines);
    const isChecked = wrong !== undefined || run.tests.wrongValues !== undefined;
    return isChecked ? pass('all correct') : skip('nobody checked');
  },
};

export const deviceErrorRule: RunRule = {
  id: 'run.gpu-errors',
  area: 'run',
  title: 'No GPU reported an error',
  why: 'After an error of the driver nothing that the process does on that GPU counts.',
  remedy: 'Driver, memory, what the container mounts; nvidia-smi -q -d ECC.',
  proof: 'dmesg | grep -i xid',
  experiment: 'The run on another GPU.',
  confidence: 0.9,
  gainPercent: STOPS_THE_RUN,
  check(facts): Verdict {
    const lines = eventLines(facts, 'cuda', 'no-gpu', 'bounce-import', 'dma-buf');
    return lines.length === 0 ? noSuchLine(facts) : fail(...lines);
  },
};

export const stuckRule: RunRule = {
  id: 'run.stuck',
  area: 'run',
  title: 'Nothing stood still for seconds',
  why: 'The plugin says so after ten seconds without progress of a send, receive or completion.',
  remedy: 'The receiver’s consumer first, then device-memory pages, loss, steering rules.',
  proof: 'tcpx diag stall A B',
  experiment: 'The run with --trace-dir at both ends, then tcpx diag stall.',
  confidence: 0.7,
  gainPercent: 100,
  check(facts): Verdict {
    const ids = ['recv-timeout', 'send-timeout', 'completion-timeout', 'send-failed'];
    const lines = eventLines(facts, ...ids);
    const late = facts.run.end.isTimedOut ? ['the command was ended at its deadline'] : [];
    const all = [...lines, ...late];
    return all.length === 0 ? noSuchLine(facts) : warn(...all);
  },
};
