// An engine in a process of its own, for tests of two processes. Arguments: a role and a JSON
// object of options. It prints one JSON line per fact and ends when its input ends.
//
//   target     listens, registers memory, prints { port, descriptor }; answers "check SEED BYTES"
//              with the index of the first wrong byte among so many
//   initiator  connects and writes for ever, prints { writing: true } once bytes have landed
//   once       connects, writes once, prints { trust } or { code, message }

import { loadConfig } from '../../src/base/config.js';
import { isTcpxError } from '../../src/base/errors.js';
import { silentLog } from '../../src/base/log.js';
import { findMismatch } from '../../src/base/pattern.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { RegionDescriptor } from '../../src/memory/region.js';

interface Options {
  readonly settings?: Partial<SettingValues>;
  readonly host: string;
  readonly port?: number;
  readonly bytes: number;
  readonly descriptor?: RegionDescriptor;
  /** Environment of the plugin processes. */
  readonly plugin?: Readonly<Record<string, string>>;
}

const role = process.argv[2];
const options = JSON.parse(process.argv[3] ?? '{}') as Options;
process.stdin.on('end', () => process.exit(0)).resume();

function print(fact: object): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}

async function openEngine(onCheck: (seed: number, bytes: number) => number): Promise<Engine> {
  const config = loadConfig({ options: options.settings ?? {}, environment: {} });
  return Engine.open({
    name: `${role ?? ''} process`,
    config,
    log: silentLog,
    pluginEnvironment: options.plugin ?? {},
    onSession: (session) => print({ session: session.peer }),
    onNotification: ({ session, bytes }) => {
      const [verb, seed, count] = new TextDecoder().decode(bytes).split(' ');
      if (verb === 'check') session.notify(`mismatch ${onCheck(Number(seed), Number(count))}`);
    },
  });
}

async function runTarget(): Promise<void> {
  let memory = new Uint8Array(0);
  const engine = await openEngine((seed, bytes) => findMismatch(memory.subarray(0, bytes), seed));
  memory = new Uint8Array(engine.allocate(options.bytes).buffer);
  const { descriptor } = engine.register(memory);
  print({ port: engine.listen({ host: options.host, port: options.port ?? 0 }), descriptor });
  if (options.settings?.['lane.progress'] !== 'caller') return;
  const pump = (): void => {
    engine.poll();
    setImmediate(pump);
  };
  pump();
}

async function runInitiator(isOnce: boolean): Promise<void> {
  const engine = await openEngine(() => -1);
  const { descriptor, bytes } = options;
  if (descriptor === undefined) throw new Error('initiator: no descriptor');
  const local = engine.register(new Uint8Array(bytes));
  const session = await engine.connect(options.host, options.port);
  const request = session.prepare('write', [
    { local, localOffset: 0, remote: descriptor, remoteOffset: 0, bytes },
  ]);
  for (;;) {
    const { trust, channels, path, pathReason } = await request.post().done;
    if (isOnce) {
      print({ trust, nics: channels.map((channel) => channel.nic), path, pathReason });
      await engine.close();
      process.exit(0);
    }
    print({ writing: true });
  }
}

try {
  if (role === 'target') await runTarget();
  else await runInitiator(role === 'once');
} catch (error) {
  print(
    isTcpxError(error) ? { code: error.code, message: error.message } : { message: String(error) },
  );
  process.exit(4);
}
