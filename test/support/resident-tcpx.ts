// Command lines one after another in one thread that has loaded the commands once. A process for
// each would spend most of its time loading the same modules; that every command also runs as a
// process of its own is shown by test/e2e/cli-walk.test.ts.

import assert from 'node:assert/strict';
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';

export interface ResidentOrder {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface ResidentData {
  readonly port: MessagePort;
  /** One word: 1 once an answer is in the port. */
  readonly answered: Int32Array;
}

export interface TcpxRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const ANSWER_MS_MAX = 60_000;
let resident: ResidentData | undefined;

/** Waits in place, as spawnSync does; the thread never keeps the process. */
export function runResident(order: ResidentOrder): TcpxRun {
  resident ??= startResident();
  const { port, answered } = resident;
  Atomics.store(answered, 0, 0);
  port.postMessage(order);
  const outcome = Atomics.wait(answered, 0, 0, ANSWER_MS_MAX);
  assert.notEqual(outcome, 'timed-out', `tcpx ${order.words.join(' ')}: no answer`);
  return receiveMessageOnPort(port)?.message as TcpxRun;
}

function startResident(): ResidentData {
  const { port1, port2 } = new MessageChannel();
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const workerData: ResidentData = { port: port2, answered };
  const program = new URL('resident-tcpx-worker.js', import.meta.url);
  new Worker(program, { workerData, transferList: [port2] }).unref();
  port1.unref();
  return { port: port1, answered };
}
