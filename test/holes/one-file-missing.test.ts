// One file of the host missing at a time, for every file, through every command that reads a host:
// what is then said differs from the truth only by being absent or said to be unknown.

import assert from 'node:assert/strict';
import { symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bindingCpus, parseBindings } from '../../src/base/core-bindings.js';
import { parseCpuList } from '../../src/base/cpu-set.js';
import { COMMANDS } from '../../src/cli/commands.js';
import { parseInvocation } from '../../src/cli/invocation.js';
import type { Diagnosis } from '../../src/diag/doctor.js';
import type { IrqPlan } from '../../src/host/irq/plan.js';
import type { WatchRates } from '../../src/host/watch/watch-rates.js';
import { buildHostTree } from '../support/host-tree.js';
import { SMALL_HOST_NICS, smallHostSpec } from '../support/small-host.js';
import { removeTreeFolder, writeTreeFolder } from '../support/tree-folder.js';
import { type WrongClaim, wrongClaims } from './wrong-claims.js';

const TREE = buildHostTree(smallHostSpec());
const FILES = [...TREE].flatMap(([path, { kind }]) => (kind === 'folder' ? [] : [path]));
const NICS = SMALL_HOST_NICS.join(',');

let root = '';
let planFile = '';
before(async () => {
  root = writeTreeFolder(TREE);
  planFile = join(root, 'plan.json');
  await runJson(['irq', 'plan', '--nics', NICS, '--output', planFile]);
});
after(() => removeTreeFolder(root));

/** Runs a command in this process and returns its JSON document; a refusal is none. */
async function runJson(words: readonly string[]): Promise<unknown> {
  const command = COMMANDS.find(({ name }) => words.join(' ').startsWith(`${name} `));
  assert.ok(command !== undefined);
  const rest = [...words.slice(command.name.split(' ').length), '--root', root, '--json'];
  const written: string[] = [];
  const { stdout, stderr } = process;
  const original = { out: stdout.write.bind(stdout), error: stderr.write.bind(stderr) };
  // The test runner reports over the same stream, in bytes.
  const keep = (part: string | Uint8Array) =>
    typeof part === 'string' ? written.push(part) > 0 : original.out(part);
  stdout.write = keep;
  stderr.write = () => true;
  try {
    await command.run(parseInvocation(command, rest));
  } catch {
    return undefined;
  } finally {
    stdout.write = original.out;
    stderr.write = original.error;
  }
  return JSON.parse(written.join('')) as unknown;
}

/** The command with each file away in turn; every wrong claim with the file that was away. */
async function holesOf(
  words: readonly string[],
  compare: (whole: unknown, holed: unknown) => readonly WrongClaim[],
): Promise<string[]> {
  const whole = await runJson(words);
  assert.ok(whole !== undefined);
  const found: string[] = [];
  for (const path of FILES) {
    const holed = await without(path, () => runJson(words));
    for (const claim of compare(whole, holed)) {
      const values = `${JSON.stringify(claim.whole)} became ${JSON.stringify(claim.holed)}`;
      found.push(`${path}: ${claim.path} ${values}`);
    }
  }
  return found;
}

async function without<T>(path: string, action: () => Promise<T>): Promise<T> {
  const place = join(root, path);
  const entry = TREE.get(path);
  unlinkSync(place);
  try {
    return await action();
  } finally {
    if (entry?.kind === 'link') symlinkSync(entry.target, place);
    if (entry?.kind === 'file') writeFileSync(place, entry.text, { mode: entry.mode ?? 0o444 });
  }
}

test('holes: there are files enough for this to mean something', () => {
  assert.ok(FILES.length > 150 && FILES.length < 600, String(FILES.length));
});

const CLAIMING = [
  ['topo', '--nics', NICS],
  ['irq', 'show', '--vectors', '--nics', NICS],
  ['nic', SMALL_HOST_NICS[0] ?? ''],
];

for (const words of CLAIMING) {
  test(`holes: ${words.join(' ')} claims nothing about a file that is missing`, async () => {
    assert.deepEqual(await holesOf(words, wrongClaims), []);
  });
}

test('holes: watch shows no other total, and no rate of a counter that was not read', async () => {
  const words = ['watch', '--nics', NICS, '--count', '1', '--interval-ms', '50'];
  const shown = [...words, '--queues', '--irqs', '--cpu', '--counters', 'rx_devmem*'];
  const whole = (await runJson(shown)) as WatchRates;
  for (const part of [whole.nics, whole.tcpRates, whole.softnetRates]) {
    assert.ok(Object.keys(part).length > 0, 'there is something to lose');
  }
  // The moment of a reading is this run's, not the host's.
  const timeless = (document: unknown) => {
    return { ...(document as object | undefined), time: undefined, intervalMs: undefined };
  };
  const compare = (full: unknown, holed: unknown) => wrongClaims(timeless(full), timeless(holed));
  assert.deepEqual(await holesOf(shown, compare), []);
});

test('holes: irq verify says unreadable or requested, never another state', async () => {
  const words = ['irq', 'verify', '--irqs-only', '--seconds', '0', '--plan', planFile];
  const verdicts = (document: unknown) =>
    (document as { verdicts?: unknown } | undefined)?.verdicts;
  const compare = (whole: unknown, holed: unknown) => wrongClaims(verdicts(whole), verdicts(holed));
  assert.deepEqual(await holesOf(words, compare), []);
});

test('holes: doctor judges as before, or skips', async () => {
  const words = ['doctor', '--nics', NICS, '--provider', 'tcpx', '--peer', '127.0.0.1'];
  const compare = (whole: unknown, holed: unknown) =>
    wrongClaims(statuses(whole), statuses(holed)).filter((claim) => claim.holed !== 'skip');
  assert.deepEqual(await holesOf(words, compare), []);
});

/** Nothing where the host was refused, as for a NIC named that is no longer there. */
function statuses(document: unknown) {
  const { findings } = (document ?? { findings: [] }) as Pick<Diagnosis, 'findings'>;
  return Object.fromEntries(findings.map(({ id, status }) => [id, status]));
}

test('holes: irq plan stays on the NIC’s node, or says what is unknown', async () => {
  assert.deepEqual(await holesOf(['irq', 'plan', '--nics', NICS], wrongPlaces), []);
});

test('holes: env binds threads on the NIC’s node, or says what is unknown', async () => {
  assert.deepEqual(await holesOf(['env', '--nics', NICS], wrongBindings), []);
});

function wrongBindings(_whole: unknown, holed: unknown): readonly WrongClaim[] {
  const document = holed as { unknowns: string[]; variables: Record<string, string> } | undefined;
  if (document === undefined || document.unknowns.some((text) => /node/.test(text))) return [];
  return ['TX', 'RX'].flatMap((use) => {
    const text = document.variables[`NCCL_GPUDIRECTTCPX_${use}_BINDINGS`] ?? '';
    return parseBindings(text).bindings.flatMap((binding) => {
      const cpus = bindingCpus(binding);
      const own = NODE_CPUS[SMALL_HOST_NICS.indexOf(binding.nic)] ?? [];
      const isLocal = cpus.length > 0 && cpus.every((cpu) => own.includes(cpu));
      return isLocal ? [] : [{ path: use, whole: own, holed: text }];
    });
  });
}

const NODE_CPUS = smallHostSpec().nodes.map(({ cpuList }) => parseCpuList(cpuList) ?? []);

/** Planned CPUs on another node than the NIC's, and vectors that serve another queue. */
function wrongPlaces(whole: unknown, holed: unknown): readonly WrongClaim[] {
  if (holed === undefined) return [];
  const truth = whole as IrqPlan;
  const plan = holed as IrqPlan;
  const nodeOf = (nic: string) => truth.allocations.find((a) => a.nic === nic)?.node ?? -1;
  const sets = plan.allocations.flatMap(({ nic, tx, rx, irq }) =>
    [tx, rx, irq].map((cpus) => ({ nic, cpus })),
  );
  const strays = [...sets, ...plan.lines].filter(({ nic, cpus }) => {
    return cpus.some((cpu) => NODE_CPUS[nodeOf(nic)]?.includes(cpu) !== true);
  });
  const isExcused = plan.unknowns.some((text) => /node/.test(text));
  const wrong = strays.map(({ nic, cpus }) => ({ path: nic, whole: nodeOf(nic), holed: cpus }));
  const identity = (document: IrqPlan) =>
    document.lines.map(({ irq, nic, queue, before: now }) => ({ irq, nic, queue, now }));
  const renamed = wrongClaims(identity(truth), identity(plan)).filter(
    (claim) => !/^vector \d+$/.test(String(claim.holed)),
  );
  return [...(isExcused ? [] : wrong), ...renamed];
}
