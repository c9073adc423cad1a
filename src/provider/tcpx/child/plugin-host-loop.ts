// The loop of a plugin host: takes commands, joins channels, posts what windows allow, progresses
// every channel after every post, tells what is finished. One thread makes every plugin call, so
// that the GPU context that is current stays the same.

import { systemClock } from '../../../base/clock.js';
import { isTcpxError, TcpxError, toTcpxError } from '../../../base/errors.js';
import type { ChannelSlot, FlightNumber, Tag } from '../../../base/quantity.js';
import { yieldCpu } from '../../../ffi/libc/cpu-affinity.js';
import { writeByte } from '../../../ffi/libc/file-descriptor.js';
import { SpinRest } from '../../../os/spin-rest.js';
import type { ThreadPlacement } from '../helper-threads.js';
import {
  CHUNK_CHANNEL,
  CHUNK_DIRECTION,
  type Direction,
  HOST_CHANNELS_MAX,
  PART_CHANNEL,
  PART_DIRECTION,
  PART_DURATION_US,
  PART_FIELDS,
  PART_LAST_TAG,
  PART_TRANSFER,
  RECEIVE,
  RECORD_PART,
  RECORD_TEXT,
  SEND,
  WORD_APP_SLEEPS,
  WORD_HEARTBEAT,
} from '../host-layout.js';
import {
  type HostLink,
  peekRecord,
  publishRecords,
  putText,
  recordKind,
  releaseRecord,
  reserveRecord,
  textAt,
} from '../host-link.js';
import type { HostCommand, HostEvent, HostFailure } from '../host-message.js';
import type { HostRegion, SharedRegion } from '../host-region.js';
import { ChannelJoins } from './channel-joins.js';
import type { ChannelSurroundings } from './channel-part.js';
import { HostChannel } from './host-channel.js';

/** Commands taken before channels get their turn. */
const COMMANDS_PER_TURN = 32;
const JOIN_POLL_MS = 1;
/** Turns without news before the loop begins to sleep between them. */
const SPINS_BUSY = 4000;
const SPINS_IDLE = 200;
const NAP_MS = 0.05;
const SLEEP_MS = 100;
/** Between two looks whether the application lives. */
const PARENT_MS = 100;

/** What the loop itself does for channels. */
type LoopDuty = 'onFallback' | 'onUnknownExtent' | 'onPart' | 'region';

export interface LoopParts {
  readonly link: HostLink;
  /** Written to when the application sleeps. */
  readonly wakeFd: number;
  readonly surroundings: Omit<ChannelSurroundings, LoopDuty>;
  deviceOf(nic: string): number;
  mapRegion(memory: SharedRegion): HostRegion;
  pages(): { readonly pages: number; readonly freePages: number };
  /** Looks at the plugin's helper threads. */
  placement(): ThreadPlacement;
  /** Whether the application still lives. */
  hasParent(): boolean;
}

export class PluginHostLoop {
  readonly #parts: LoopParts;
  readonly #surroundings: ChannelSurroundings;
  readonly #channels = new Map<number, HostChannel>();
  readonly #joins = new ChannelJoins({
    onJoined: (id) => this.#onJoined(id),
    onRefused: (id, what, error) => this.#onRefused(id, `plugin ${what}`, error),
    close: (channel) => this.#close(channel),
    onClosed: (id) => this.emit({ kind: 'answer', id }),
  });
  readonly #regions = new Map<number, HostRegion>();
  /** Directions of channels whose helper threads have been looked at. */
  readonly #placed = new Set<number>();
  /** Channels that are open, in an array: it is walked after every post. */
  #open: HostChannel[] = [];
  readonly #rest = new SpinRest();
  #backlog: HostEvent[] = [];
  #hasNews = false;
  #isStopping = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#surroundings = {
      ...parts.surroundings,
      region: (id) => this.#region(id),
      onUnknownExtent: (channel) => this.emit({ kind: 'unknown-extent', channel }),
      onFallback: (channel, reason) => this.emit({ kind: 'fallback', channel, reason }),
      onPart: (channel, direction, transfer, tag, us) =>
        this.#putPart(channel, direction, transfer, tag, us),
    };
  }

  /** Until it is told to stop, or the application is gone; then every comm is closed. */
  run(onEnd: () => void = () => undefined): void {
    let idle = 0;
    let parentSeenMs = performance.now();
    while (!this.#isStopping) {
      const moved = this.turn();
      // Also amid transfers: nobody else would ever end them.
      if (performance.now() - parentSeenMs > PARENT_MS) {
        if (!this.#parts.hasParent()) break;
        parentSeenMs = performance.now();
      }
      idle = moved ? 0 : idle + 1;
      if (moved) continue;
      const isBusy = this.#isBusy();
      const spins = isBusy ? SPINS_BUSY : SPINS_IDLE;
      if (idle < spins && !this.#rest.isResting(systemClock.nowUs())) {
        this.#rest.yield();
        continue;
      }
      this.#parts.link.sleep(isBusy ? NAP_MS : this.#joins.isActive ? JOIN_POLL_MS : SLEEP_MS);
    }
    onEnd();
    this.#closeAll();
  }

  emit(event: HostEvent): void {
    this.#backlog.push(event);
    this.#flushEvents();
  }

  /** One turn; whether anything moved. */
  turn(): boolean {
    const { int32 } = this.#parts.link.memory;
    Atomics.add(int32, WORD_HEARTBEAT, 1);
    let moved = this.#takeCommands();
    if (this.#joins.isActive) moved = this.#joins.poll() || moved;
    for (const channel of this.#open) {
      while (this.#post(channel)) {
        moved = true;
        this.#progressAll();
      }
    }
    moved = this.#progressAll() || moved;
    if (this.#backlog.length > 0) this.#flushEvents();
    if (this.#hasNews) this.#wakeApplication();
    return moved;
  }

  #isBusy(): boolean {
    return this.#open.some(
      ({ send, receive }) => send?.isIdle === false || receive?.isIdle === false,
    );
  }

  #post(channel: HostChannel): boolean {
    if (channel.state !== 'open') return false;
    try {
      // Both directions have their turn: a full receive window must not hold back sends.
      const hasSent = channel.send?.post() === true;
      return channel.receive?.post() === true || hasSent;
    } catch (error) {
      this.#break(channel, SEND, error);
      return false;
    }
  }

  #progressAll(): boolean {
    let moved = false;
    for (const channel of this.#open) {
      if (channel.state !== 'open') continue;
      let direction: Direction = SEND;
      try {
        if (channel.send?.progress() === true) moved = true;
        direction = RECEIVE;
        if (channel.receive?.progress() === true) moved = true;
      } catch (error) {
        this.#break(channel, direction, error);
        moved = true;
      }
    }
    this.#surroundings.gpu?.into.flush();
    return moved;
  }

  // No call follows on the channel but its close.
  #break(channel: HostChannel, direction: Direction, error: unknown): void {
    if (!isTcpxError(error)) throw error;
    channel.state = 'broken';
    const failure = toFailure(error);
    this.emit({ kind: 'broken', channel: channel.id.channel, direction, failure });
  }

  #takeCommands(): boolean {
    const { commands, memory } = this.#parts.link;
    let taken = 0;
    for (; taken < COMMANDS_PER_TURN; taken++) {
      const at = peekRecord(commands);
      if (at < 0) break;
      if (recordKind(commands, at) === RECORD_TEXT) this.#obeyText(textAt(commands, at));
      else this.#takeChunk(memory.float64, at / 8);
      releaseRecord(commands, at);
    }
    return taken > 0;
  }

  // A chunk of a channel that has broken meanwhile is dropped: its transfers have failed.
  #takeChunk(float64: Float64Array, at: number): void {
    const channel = this.#channels.get(float64[at + CHUNK_CHANNEL] ?? -1);
    if (channel?.state !== 'open') return;
    const isSend = float64[at + CHUNK_DIRECTION] === SEND;
    const part = isSend ? channel.send : channel.receive;
    try {
      part?.push(float64, at);
    } catch (error) {
      this.#break(channel, isSend ? SEND : RECEIVE, error);
    }
  }

  #obeyText(text: string): void {
    // checked: written by plugin-host.ts, of the same build
    const command = JSON.parse(text) as HostCommand;
    try {
      this.#obey(command);
    } catch (error) {
      this.#onRefused(command.id, `plugin ${command.op}`, error);
    }
  }

  #obey(command: HostCommand): void {
    const { id } = command;
    switch (command.op) {
      case 'listen':
        this.emit({ kind: 'answer', id, handle: this.#listen(command.channel, command.nic) });
        return;
      case 'join':
        this.#channel(command.channel).join(command.handle);
        this.#joins.add(this.#channel(command.channel), id);
        return;
      case 'close':
        this.#orderClose(command.channel, id);
        return;
      case 'map':
        this.#map(command.region, command.memory);
        break;
      case 'unmap':
        this.#unmap(command.region);
        break;
      case 'pages':
        this.emit({ kind: 'answer', id, pages: this.#parts.pages() });
        return;
      case 'stop':
        this.#isStopping = true;
        break;
    }
    this.emit({ kind: 'answer', id });
  }

  #listen(channel: ChannelSlot, nic: string): string {
    if (channel < 0 || channel >= HOST_CHANNELS_MAX || this.#channels.has(channel)) {
      throw new TcpxError('ERR_USAGE_STATE', `listen: channel ${channel} is in use`);
    }
    const dev = this.#parts.deviceOf(nic);
    const opened = new HostChannel(this.#surroundings, { channel, nic, dev });
    this.#channels.set(channel, opened);
    return opened.handle();
  }

  #channel(channel: ChannelSlot): HostChannel {
    const found = this.#channels.get(channel);
    if (found !== undefined) return found;
    throw new TcpxError('ERR_USAGE_STATE', `channel ${channel} does not listen`);
  }

  #orderClose(channel: ChannelSlot, id: number): void {
    const found = this.#channels.get(channel);
    if (found === undefined) this.emit({ kind: 'answer', id });
    else this.#joins.close(found, id);
  }

  /** Every channel that can be: the plugin's steering rules go with its comms. */
  #closeAll(): void {
    for (const channel of this.#channels.values()) {
      try {
        channel.close();
      } catch (error) {
        if (!isTcpxError(error)) throw error;
      }
    }
    this.#channels.clear();
  }

  #close(channel: HostChannel): void {
    channel.close();
    const { channel: index } = channel.id;
    this.#channels.delete(index);
    this.#placed.delete(index * 2 + SEND);
    this.#placed.delete(index * 2 + RECEIVE);
    this.#listOpen();
  }

  #listOpen(): void {
    this.#open = [...this.#channels.values()].filter(({ state }) => state === 'open');
  }

  #onJoined(id: number): void {
    this.emit({ kind: 'answer', id });
    this.#listOpen();
  }

  #onRefused(id: number, what: string, error: unknown): void {
    const failure = toFailure(toTcpxError(error, 'ERR_NCCLNET_CALL', what));
    this.emit({ kind: 'refused', id, failure });
  }

  #region(id: number): HostRegion {
    const region = this.#regions.get(id);
    if (region !== undefined) return region;
    throw new TcpxError('ERR_USAGE_STATE', `region ${id} is not mapped in the plugin host`);
  }

  // Told twice where a process starts while a region is registered.
  #map(id: number, memory: SharedRegion): void {
    const mapped = this.#parts.mapRegion(memory);
    if (this.#regions.has(id)) mapped.unmap();
    else this.#regions.set(id, mapped);
  }

  #unmap(id: number): void {
    const region = this.#regions.get(id);
    if (region === undefined) return;
    for (const { send } of this.#channels.values()) send?.forgetRegion(id);
    this.#regions.delete(id);
    region.unmap();
  }

  // Helper threads begin with the first chunk of a comm. Not while others join: threads that set
  // connections up are no helper threads.
  #placeThreads(channel: ChannelSlot, direction: Direction): void {
    const key = channel * 2 + direction;
    if (this.#placed.has(key) || this.#joins.isJoining) return;
    this.#placed.add(key);
    this.emit({ kind: 'threads', placement: this.#parts.placement() });
  }

  #putPart(
    channel: ChannelSlot,
    direction: Direction,
    transfer: FlightNumber,
    tag: Tag,
    us: number,
  ) {
    this.#placeThreads(channel, direction);
    const { events, memory } = this.#parts.link;
    let at = reserveRecord(events, RECORD_PART, PART_FIELDS * 8);
    // The application drains; a full ring is a moment, and nothing else may pass this news.
    while (at < 0) {
      this.#wakeApplication();
      if (!this.#parts.hasParent()) return;
      yieldCpu();
      at = reserveRecord(events, RECORD_PART, PART_FIELDS * 8);
    }
    const { float64 } = memory;
    float64[at / 8 + PART_CHANNEL] = channel;
    float64[at / 8 + PART_DIRECTION] = direction;
    float64[at / 8 + PART_TRANSFER] = transfer;
    float64[at / 8 + PART_LAST_TAG] = tag;
    float64[at / 8 + PART_DURATION_US] = us;
    publishRecords(events);
    this.#hasNews = true;
  }

  #flushEvents(): void {
    const { events } = this.#parts.link;
    while (this.#backlog.length > 0) {
      if (!putText(events, JSON.stringify(this.#backlog[0]))) break;
      this.#backlog.shift();
      this.#hasNews = true;
    }
    if (this.#hasNews) this.#wakeApplication();
  }

  #wakeApplication(): void {
    this.#hasNews = false;
    const { int32 } = this.#parts.link.memory;
    if (Atomics.exchange(int32, WORD_APP_SLEEPS, 0) === 1) writeByte(this.#parts.wakeFd);
  }
}

function toFailure(error: TcpxError): HostFailure {
  return { code: error.code, message: error.message, facts: error.facts };
}
