// Two rail sets of one process over the emulator, with one channel per NIC between them: what the
// provider does below sessions and transfers.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withinMs } from '../../src/base/clock.js';
import { loadConfig } from '../../src/base/config.js';
import { isTcpxError, TcpxError } from '../../src/base/errors.js';
import { createLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { type Direction, RECEIVE, SEND } from '../../src/provider/tcpx/host-layout.js';
import type { HostOptions } from '../../src/provider/tcpx/host-message.js';
import type { RailChannel } from '../../src/provider/tcpx/rail-channel.js';
import type { RailSetOptions } from '../../src/provider/tcpx/rail-process.js';
import { RailSet } from '../../src/provider/tcpx/rail-set.js';
import { shareHostMemory } from '../../src/provider/tcpx/region-share.js';
import { allocateShared, type SharedMemory } from '../../src/provider/tcpx/shared-region.js';
import {
  emulatorPath,
  emulatorVariables,
  requireNative,
  type Variables,
} from './plugin-environment.js';

export interface RailSide {
  readonly settings?: Partial<SettingValues>;
  readonly plugin?: Variables;
  readonly host?: Partial<HostOptions>;
  readonly options?: Partial<RailSetOptions>;
}

const REGION = 1;
const WAIT_MS = 8000;
const opened: RailSet[] = [];
const folders: string[] = [];

/** For after hooks. */
export async function closeRails(): Promise<void> {
  await Promise.all(opened.splice(0).map((rails) => rails.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-rails-'));
  folders.push(folder);
  return folder;
}

export interface Rails {
  readonly set: RailSet;
  readonly lines: string[];
}

/** Not opened. */
export function makeRails(side: RailSide = {}): Rails {
  requireNative();
  const lines: string[] = [];
  const options = {
    'plugin.path': emulatorPath,
    'session.nics': 'eth1',
    'tcpx.steeringWaitUs': 1000,
    'tcpx.sockets': 1,
    'tcpx.setupTimeoutMs': 8000,
    'tcpx.stateDir': temporaryFolder(),
    ...side.settings,
  };
  const set = new RailSet({
    values: loadConfig({ options, environment: {} }).values,
    log: createLog({ level: 'info', format: 'text', write: (line) => lines.push(line) }),
    role: 'test',
    isSameHostAllowed: true,
    environment: { ...emulatorVariables, ...side.plugin },
    hostOverrides: side.host ?? {},
    ...side.options,
  });
  opened.push(set);
  return { set, lines };
}

export async function openRails(side: RailSide = {}): Promise<Rails> {
  const rails = makeRails(side);
  await rails.set.open();
  return rails;
}

/** One end of the channels, one for each NIC of its set. */
export class RailEnd {
  readonly rails: Rails;
  readonly channels: RailChannel[] = [];
  /** Rejects when a channel breaks. */
  readonly broken: Promise<never>;
  #break: (error: TcpxError) => void = () => undefined;
  readonly #parts = new Map<string, () => void>();

  private constructor(rails: Rails) {
    this.rails = rails;
    this.broken = new Promise((_, reject) => (this.#break = reject));
    this.broken.catch(() => undefined);
  }

  static async open(rails: Rails): Promise<RailEnd> {
    const end = new RailEnd(rails);
    for (const [index, nic] of rails.set.nics.entries()) {
      const listener = {
        onPart: ({ direction, transfer }: { direction: number; transfer: number }) =>
          end.#parts.get(`${index} ${direction} ${transfer}`)?.(),
        onBroken: (error: TcpxError) => end.#break(error),
      };
      end.channels.push(await rails.set.openChannel(nic, listener));
    }
    return end;
  }

  /** One chunk of the region on a channel; resolves when it is finished there. */
  async move(channel: number, direction: Direction, transfer: number, bytes: number, offset = 0) {
    const key = `${channel} ${direction} ${transfer}`;
    const finished = new Promise<boolean>((resolve) => this.#parts.set(key, () => resolve(true)));
    const chunk = { direction, transfer, index: 0, tag: transfer, region: REGION };
    this.channels[channel]?.put({ ...chunk, offset, bytes, isLast: true });
    this.channels[channel]?.flush();
    const outcome = await withinMs(Promise.race([finished, this.broken]), WAIT_MS);
    assert.equal(outcome, true, `${key}: not finished in ${WAIT_MS} ms`);
  }
}

export interface RailPair {
  readonly sender: RailEnd;
  readonly receiver: RailEnd;
  readonly source: SharedMemory;
  readonly target: SharedMemory;
}

export async function openRailPair(
  both: RailSide = {},
  sides: { readonly sender?: RailSide; readonly receiver?: RailSide } = {},
  bytes = 1024 * 1024,
): Promise<RailPair> {
  const merge = (one: RailSide = {}): RailSide => ({
    settings: { ...both.settings, ...one.settings },
    plugin: { ...both.plugin, ...one.plugin },
    host: { ...both.host, ...one.host },
    options: { ...both.options, ...one.options },
  });
  const rails = await Promise.all([
    openRails(merge(sides.sender)),
    openRails(merge(sides.receiver)),
  ]);
  const memories = [allocateShared(bytes), allocateShared(bytes)] as const;
  await Promise.all(
    rails.map(({ set }, at) =>
      set.addRegion(REGION, shareHostMemory({ memory: memories[at]!, offset: 0 }, bytes)),
    ),
  );
  const [sender, receiver] = await Promise.all([RailEnd.open(rails[0]), RailEnd.open(rails[1])]);
  await Promise.all(
    sender.channels.flatMap((channel, index) => {
      const peer = receiver.channels[index];
      assert.ok(peer !== undefined, 'as many channels at both ends');
      return [channel.join(peer.handle), peer.join(channel.handle)];
    }),
  );
  return { sender, receiver, source: memories[0], target: memories[1] };
}

let transfers = 0;

/** A pattern through one channel; throws what breaks it, fails when a byte differs. */
export async function moveChecked(pair: RailPair, channel = 0, bytes = 100_000): Promise<void> {
  transfers++;
  const sent = new Uint8Array(pair.source.buffer).subarray(0, bytes);
  for (let at = 0; at < bytes; at++) sent[at] = (at * 31 + transfers) & 0xff;
  const transfer = transfers;
  await Promise.all([
    pair.receiver.move(channel, RECEIVE, transfer, bytes),
    pair.sender.move(channel, SEND, transfer, bytes),
  ]);
  const landed = Buffer.from(pair.target.buffer, 0, bytes);
  assert.equal(landed.compare(sent), 0, 'what landed is what was sent');
}

export async function failureOf(promise: Promise<unknown>): Promise<TcpxError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return error;
  }
  return assert.fail('it did not fail');
}
