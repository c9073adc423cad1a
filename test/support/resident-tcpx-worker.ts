// The thread behind resident-tcpx.ts.

import { workerData } from 'node:worker_threads';
import { runProgram } from '../../src/cli/program.js';
import type { ResidentData, ResidentOrder, TcpxRun } from './resident-tcpx.js';

const { port, answered } = workerData as ResidentData;

port.on('message', (order: ResidentOrder) => {
  void run(order).then((answer) => {
    port.postMessage(answer);
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
});

async function run({ words, environment }: ResidentOrder): Promise<TcpxRun> {
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, environment);
  const stdout = collect(process.stdout);
  const stderr = collect(process.stderr);
  const status = await runProgram(words);
  return { status, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** What is written from now on; the thread's own streams would wait for the thread that waits. */
function collect(stream: NodeJS.WriteStream): string[] {
  const texts: string[] = [];
  stream.write = (text: string | Uint8Array): boolean => {
    texts.push(typeof text === 'string' ? text : new TextDecoder().decode(text));
    return true;
  };
  return texts;
}
