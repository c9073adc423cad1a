// Two hosts made of network namespaces, joined by veth links with a rate each. Needs root; every
// name carries the process id, and everything is removed by close().

import { spawnSync } from 'node:child_process';
import { TcpxError } from '../../src/base/errors.js';

const ETHERNET_MTU = 1500;

export interface NetLink {
  /** Interface names and addresses at the two ends. */
  readonly leftNic: string;
  readonly rightNic: string;
  readonly leftHost: string;
  readonly rightHost: string;
  readonly leftHost6: string;
  readonly rightHost6: string;
  /** 0 without a limit. */
  readonly rateMbit: number;
}

export interface NetLab {
  readonly left: string;
  readonly right: string;
  readonly links: readonly NetLink[];
  /** After links were set down: all carry again. */
  restore(): void;
  /** The words that run a command at one end. */
  inside(end: 'left' | 'right', words: readonly string[]): string[];
  close(): void;
}

/** Why a lab cannot be made here, or undefined. */
export function netLabObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs network namespaces: not root';
  const probe = `tcpxp${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', probe]);
  if (made.status !== 0) return 'needs network namespaces: ip netns add fails';
  spawnSync('ip', ['netns', 'del', probe]);
  return undefined;
}

/** `ratesMbit` gives one link per entry; 0 leaves a link unlimited. */
export function openNetLab(ratesMbit: readonly number[], mtu = ETHERNET_MTU): NetLab {
  const left = `tcpxl${process.pid}`;
  const right = `tcpxr${process.pid}`;
  const close = (): void => {
    spawnSync('ip', ['netns', 'del', left]);
    spawnSync('ip', ['netns', 'del', right]);
  };
  try {
    for (const space of [left, right]) {
      command('ip', ['netns', 'add', space]);
      command('ip', ['-n', space, 'link', 'set', 'lo', 'up']);
      // A socket bound to one link must not be answered through another.
      // Nor may a connection begin with what an earlier one has learnt of its path.
      for (const rule of ['conf.all.arp_ignore=1', 'conf.all.arp_announce=2', METRICS]) {
        command('ip', ['netns', 'exec', space, 'sysctl', '-qw', `net.ipv4.${rule}`]);
      }
    }
    const links = ratesMbit.map((rateMbit, index) =>
      addLink(left, right, { index, rateMbit, mtu }),
    );
    const restore = (): void => {
      for (const { leftNic } of links) command('ip', ['-n', left, 'link', 'set', leftNic, 'up']);
      for (const link of links) {
        awaitCarrier(left, link.leftNic);
        awaitCarrier(right, link.rightNic);
      }
    };
    restore();
    const inside: NetLab['inside'] = (end, words) => {
      return ['ip', 'netns', 'exec', end === 'left' ? left : right, ...words];
    };
    return { left, right, links, restore, inside, close };
  } catch (error) {
    close();
    throw error;
  }
}

interface LinkKind {
  readonly index: number;
  readonly rateMbit: number;
  readonly mtu: number;
}

function addLink(left: string, right: string, { index, rateMbit, mtu }: LinkKind): NetLink {
  const link: NetLink = {
    leftNic: `tl${index}`,
    rightNic: `tr${index}`,
    leftHost: `10.77.${index}.1`,
    rightHost: `10.77.${index}.2`,
    leftHost6: `fd77:${index}::1`,
    rightHost6: `fd77:${index}::2`,
    rateMbit,
  };
  const pair = ['type', 'veth', 'peer', 'name', link.rightNic, 'netns', right];
  command('ip', ['-n', left, 'link', 'add', link.leftNic, ...pair]);
  for (const [space, nic, host, host6] of [
    [left, link.leftNic, link.leftHost, link.leftHost6],
    [right, link.rightNic, link.rightHost, link.rightHost6],
  ] as const) {
    command('ip', ['-n', space, 'addr', 'add', `${host}/24`, 'dev', nic]);
    // At once, without asking whether another has it.
    command('ip', ['-n', space, 'addr', 'add', `${host6}/64`, 'dev', nic, 'nodad']);
    command('ip', ['-n', space, 'link', 'set', nic, 'mtu', `${mtu}`, 'up']);
    if (rateMbit > 0) limitRate(space, nic, rateMbit);
  }
  return link;
}

const METRICS = 'tcp_no_metrics_save=1';
const CARRIER_TIMEOUT_MS = 5000;
const CARRIER_ASK_MS = 10;
/** Nobody wakes who waits here. */
const NOBODY = new Int32Array(new SharedArrayBuffer(4));

// The kernel reports a new carrier up to a second late; until then the interface is not listed.
function awaitCarrier(space: string, nic: string): void {
  const endMs = performance.now() + CARRIER_TIMEOUT_MS;
  while (performance.now() < endMs) {
    const shown = spawnSync('ip', ['-n', space, 'link', 'show', nic], { encoding: 'utf8' });
    if (shown.stdout.includes('state UP')) return;
    Atomics.wait(NOBODY, 0, 0, CARRIER_ASK_MS);
  }
  throw new TcpxError('ERR_SYS_CALL', `${nic} in ${space}: no carrier in ${CARRIER_TIMEOUT_MS} ms`);
}

function limitRate(space: string, nic: string, rateMbit: number): void {
  const shape = ['rate', `${rateMbit}mbit`, 'burst', '256kb', 'latency', '30ms'];
  command('tc', ['-n', space, 'qdisc', 'add', 'dev', nic, 'root', 'tbf', ...shape]);
}

function command(program: string, words: readonly string[]): void {
  const result = spawnSync(program, words, { encoding: 'utf8' });
  if (result.status === 0) return;
  const reason = result.error?.message ?? result.stderr.trim();
  throw new TcpxError('ERR_SYS_CALL', `${program} ${words.join(' ')}: ${reason}`);
}
