// One end of a transfer that a fault will hit, in a process of its own. Arguments: a role and a
// JSON object. It prints one JSON line per fact; every fact carries the wall clock in milliseconds.
//
//   target     registers memory; answers "check SEED" with the index of the first wrong byte. Where
//              callers drive, "hold N" on its input stops it from reading for N milliseconds
//   initiator  connects, posts one transfer, prints what happened to it, then asks for a check. One
//              that is led posts at "post" and closes at "close" on its input

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { sleepMs } from '../../src/base/clock.js';
import { loadConfig } from '../../src/base/config.js';
import { isTcpxError } from '../../src/base/errors.js';
import { createLog } from '../../src/base/log.js';
import { fillPattern, findMismatch } from '../../src/base/pattern.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

export interface FaultPeerOptions {
  readonly settings: Partial<SettingValues>;
  readonly host: string;
  readonly port: number;
  readonly bytes: number;
  readonly operation: 'write' | 'read';
  readonly deadlineMs?: number;
  readonly isLed?: boolean;
  readonly descriptor?: RegionDescriptor;
}

const SEED = 17;
const SAMPLE_MS = 20;

/** The program does not move data before this time. */
let heldUntilMs = 0;

const role = process.argv[2];
const options = JSON.parse(process.argv[3] ?? '{}') as FaultPeerOptions;
process.stdin.setEncoding('utf8').on('end', () => process.exit(0));
const orders: string[] = [];
process.stdin.on('data', (text) => {
  for (const line of String(text).trim().split('\n')) {
    const [order = '', value] = line.split(' ');
    if (order === 'hold') heldUntilMs = Date.now() + Number(value);
    else orders.push(order);
  }
});

async function ordered(order: string): Promise<void> {
  while (options.isLed === true && !orders.includes(order)) await sleepMs(5);
}

function print(fact: object): void {
  process.stdout.write(`${JSON.stringify({ atMs: Date.now(), ...fact })}\n`);
}

function openEngine(onNotification: (text: string, answer: (text: string) => void) => void) {
  // What happens to sockets is tried, whether or not both ends could share memory.
  const settings = { 'session.local': 'tcp', ...options.settings } as const;
  const config = loadConfig({ options: settings, environment: {} });
  const write = (line: string): void => print({ log: line.trim() });
  return Engine.open({
    name: role ?? '',
    config,
    log: createLog({ level: 'info', format: 'text', write }),
    onNotification: ({ session, bytes }) => {
      onNotification(new TextDecoder().decode(bytes), (text) => void session.notify(text));
    },
  });
}

async function runTarget(): Promise<void> {
  const { bytes, operation, port } = options;
  const isSource = operation === 'read';
  const engine = await openEngine((text, answer) => {
    print({ notified: text });
    if (text === 'check') answer(`mismatch ${isSource ? -1 : findMismatch(memory, SEED)}`);
  });
  const memory = new Uint8Array(engine.allocate(bytes).buffer);
  if (isSource) fillPattern(memory, SEED);
  const { descriptor } = engine.register(memory);
  print({ port: engine.listen({ host: '0.0.0.0', port }), descriptor });
  if (options.settings['lane.progress'] === 'caller') pump(engine);
}

function pump(engine: Engine): void {
  if (Date.now() >= heldUntilMs) engine.poll();
  setImmediate(pump, engine);
}

// What the interfaces have sent and received so far, for the rate before and after a fault.
function sampleNics(): void {
  const nics = Object.keys(networkInterfaces()).filter((nic) => nic !== 'lo');
  const read = (nic: string, name: string): number => {
    try {
      return Number(readFileSync(`/sys/class/net/${nic}/statistics/${name}`, 'utf8'));
    } catch {
      return 0;
    }
  };
  const name = options.operation === 'write' ? 'tx_bytes' : 'rx_bytes';
  print({ nics: Object.fromEntries(nics.map((nic) => [nic, read(nic, name)])) });
}

async function runInitiator(): Promise<void> {
  const { bytes, operation, descriptor, deadlineMs } = options;
  if (descriptor === undefined) throw new Error('initiator: no descriptor');
  let answered: (text: string) => void = () => undefined;
  const answer = new Promise<string>((resolve) => (answered = resolve));
  const engine = await openEngine((text) => answered(text));
  const memory = new Uint8Array(engine.allocate(bytes).buffer);
  if (operation === 'write') fillPattern(memory, SEED);
  const local = engine.register(memory);
  const session = await engine.connect(options.host, options.port);
  print({ connected: true });
  await ordered('post');
  const block = { local, localOffset: 0, remote: descriptor, remoteOffset: 0, bytes };
  const transfer = session[operation]([block], {
    notify: 'landed',
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  print({ posted: true });
  const sampler = setInterval(sampleNics, SAMPLE_MS);
  const receipt = await transfer.done.finally(() => clearInterval(sampler));
  print({ receipt });
  session.notify('check');
  const mismatch = Number((await answer).split(' ')[1]);
  print({ mismatch: operation === 'write' ? mismatch : findMismatch(memory, SEED) });
  await ordered('close');
  await engine.close();
  process.exit(0);
}

try {
  await (role === 'target' ? runTarget() : runInitiator());
} catch (error) {
  const isOurs = isTcpxError(error);
  print(
    isOurs
      ? { code: error.code, message: error.message, facts: error.facts }
      : { message: String(error) },
  );
  process.exit(4);
}
