// A plugin process as its application sees it: commands in order, answers and news when the main
// thread looks, and an end of its own. The regions that it has mapped are all that it can touch.

import { TcpxError } from '../../../src/base/errors.js';
import { copyMemory, createFixedMemory } from '../../../src/os/fixed-memory.js';
import { CHUNK_CHANNEL, COUNTER_FLOATS } from '../../../src/provider/tcpx/host-layout.js';
import type { CommandBody, HostAnswer } from '../../../src/provider/tcpx/plugin-host.js';
import type { ChannelHost } from '../../../src/provider/tcpx/rail-channel.js';
import { type ChunkOrder, readOrder, type SimChannel } from './sim-channel.js';
import type { SimFabric } from './sim-fabric.js';
import { Violation } from './violation.js';

export interface MappedRange {
  readonly addr: number;
  readonly bytes: number;
}

export interface ProcessParts {
  readonly machine: string;
  readonly nic: string;
  readonly fabric: SimFabric;
  /** How long the application lets it stand still. */
  readonly hangMs: number;
  nowUs(): number;
  after(delayMs: number, act: () => void): () => void;
  /** A channel that is to listen under this slot. */
  listen(process: SimProcess, slot: number): SimChannel;
}

type Answer = (error?: TcpxError, answer?: HostAnswer) => void;

const COPY_BYTES = 4096;
/** Where bytes pass through on their way to a message, and from it. */
const passing = createFixedMemory(COPY_BYTES);

export class SimProcess implements ChannelHost {
  readonly machine: string;
  readonly nic: string;
  readonly placement = undefined;
  readonly commands = {
    putChunk: (fields: Float64Array): void => this.#putChunk(fields),
    flush: (): void => undefined,
  };
  readonly channels = new Map<number, SimChannel>();
  readonly #parts: ProcessParts;
  readonly #regions = new Map<number, MappedRange>();
  /** Regions whose map was refused. A chunk may have followed the map, as commands do. */
  readonly #unmappable = new Set<number>();
  readonly #commands: (() => void)[] = [];
  readonly #news: (() => void)[] = [];
  readonly #waiting = new Set<(error: TcpxError) => void>();
  #commandUs = 0;
  #pausedUs = 0;
  #hungSinceUs = 0;
  /** It runs no more, whether the application knows or not. */
  isGone = false;
  error: TcpxError | undefined;

  constructor(parts: ProcessParts) {
    this.#parts = parts;
    this.machine = parts.machine;
    this.nic = parts.nic;
  }

  /** As far as the application knows. */
  get isAlive(): boolean {
    return this.error === undefined;
  }

  counters(): Float64Array {
    return new Float64Array(COUNTER_FLOATS);
  }

  sendFallback(): string {
    return '';
  }

  // ── the application's side ──

  request(
    body: CommandBody,
    timeoutMs: number,
    onSettled?: (error: TcpxError | undefined) => void,
  ): Promise<HostAnswer> {
    return this.#ask(body.op, timeoutMs, onSettled, (answer) => this.#obey(body, answer));
  }

  /** Maps a region; one that it cannot map it refuses. */
  map(
    region: number,
    range: MappedRange,
    timeoutMs: number,
    onSettled?: (error: TcpxError | undefined) => void,
  ): Promise<HostAnswer> {
    return this.#ask('map', timeoutMs, onSettled, (answer) => {
      if (this.#parts.fabric.isFailing('maps')) {
        this.#unmappable.add(region);
        answer(new TcpxError('ERR_NCCLNET_CALL', `map region ${region} on ${this.nic}`));
        return;
      }
      this.#unmappable.delete(region);
      this.#regions.set(region, range);
      answer();
    });
  }

  #ask(
    what: string,
    timeoutMs: number,
    onSettled: ((error: TcpxError | undefined) => void) | undefined,
    obey: (answer: Answer) => void,
  ): Promise<HostAnswer> {
    if (this.error !== undefined) return Promise.reject(this.error);
    return new Promise((resolve, reject) => {
      const end = (error: TcpxError | undefined, answer: HostAnswer): void => {
        if (!this.#waiting.delete(refuse)) return;
        cancel();
        if (error === undefined) resolve(answer);
        else reject(error);
        onSettled?.(error);
      };
      const refuse = (error: TcpxError): void => end(error, {});
      const cancel = this.#parts.after(timeoutMs, () => {
        const text = `plugin ${what} on ${this.nic}: no answer in ${timeoutMs} ms`;
        this.fail(new TcpxError('ERR_NCCLNET_HUNG', text));
      });
      this.#waiting.add(refuse);
      this.#command(() => obey((error, answer) => this.tell(() => end(error, answer ?? {}))));
    });
  }

  #putChunk(fields: Float64Array): void {
    const slot = fields[CHUNK_CHANNEL] ?? -1;
    const order = readOrder(fields.slice());
    this.#command(() => this.channels.get(slot)?.put(order));
  }

  // In order: each token takes the command that is due.
  #command(act: () => void): void {
    const { fabric } = this.#parts;
    this.#commands.push(act);
    this.#commandUs = Math.max(this.#commandUs, fabric.time.nowUs + fabric.delayUs('command'));
    fabric.time.at(this.#commandUs, () => this.whenRunning(() => this.#commands.shift()?.()));
  }

  /** Ends it for a reason that is told to everybody who waits. */
  fail(error: TcpxError): void {
    if (this.error !== undefined) return;
    this.error = error;
    this.vanish();
    for (const refuse of [...this.#waiting]) refuse(error);
    for (const channel of [...this.channels.values()]) channel.tellDeath(error);
  }

  /** What it has said is taken; one that stands still for too long is ended. */
  drain(): number {
    const { fabric, hangMs } = this.#parts;
    let count = 0;
    // Whoever was told may have ended it: then nobody listens any more.
    for (let tell = this.#next(); tell !== undefined; tell = this.#next()) {
      tell();
      count++;
    }
    const isHung = this.#pausedUs > fabric.time.nowUs;
    if (this.isAlive && isHung && this.#parts.nowUs() - this.#hungSinceUs > hangMs * 1000) {
      this.fail(new TcpxError('ERR_NCCLNET_HUNG', `plugin process of ${this.nic}: no heart-beat`));
    }
    return count;
  }

  #next(): (() => void) | undefined {
    return this.isAlive ? this.#news.shift() : undefined;
  }

  // ── its own side ──

  /** Something that its thread does when it runs. */
  whenRunning(act: () => void): void {
    if (this.isGone) return;
    const { time } = this.#parts.fabric;
    if (this.#pausedUs <= time.nowUs) act();
    else if (this.#pausedUs < Number.POSITIVE_INFINITY) {
      time.at(this.#pausedUs, () => this.whenRunning(act));
    }
  }

  tell(news: () => void): void {
    this.#news.push(news);
  }

  pause(untilUs: number): void {
    if (this.#pausedUs <= this.#parts.fabric.time.nowUs) this.#hungSinceUs = this.#parts.nowUs();
    this.#pausedUs = Math.max(this.#pausedUs, untilUs);
  }

  /** It has ended by itself; the application learns it a little later. */
  exit(): void {
    if (this.isGone) return;
    this.vanish();
    const error = new TcpxError('ERR_NCCLNET_EXIT', `plugin process of ${this.nic} was ended`);
    this.#parts.fabric.soon('start', () => this.tell(() => this.fail(error)));
  }

  /** Nothing of it moves any more; its connections are closed by the kernel. */
  vanish(): void {
    if (this.isGone) return;
    this.isGone = true;
    for (const channel of this.channels.values()) channel.close();
  }

  #obey(body: CommandBody, answer: Answer): void {
    switch (body.op) {
      case 'listen': {
        const channel = this.#parts.listen(this, body.channel);
        this.channels.set(body.channel, channel);
        answer(undefined, { handle: channel.handle });
        return;
      }
      case 'join':
        this.#channel(body.channel).join(body.handle, answer);
        return;
      case 'close':
        this.#close(this.#channel(body.channel), answer);
        return;
      case 'unmap':
        this.#regions.delete(body.region);
        this.#unmappable.delete(body.region);
        answer();
        return;
      case 'map':
      case 'pages':
      case 'stop':
        throw new Error(`a simulated process does not know ${body.op}`);
    }
  }

  // The plugin's accept thread may go on to use the memory of a channel that is joining.
  #close(channel: SimChannel, answer: Answer): void {
    if (channel.isJoining && this.#parts.fabric.random.nextChance(0.5)) {
      answer(new TcpxError('ERR_NCCLNET_CALL', 'a channel that is joining cannot be closed'));
      return;
    }
    channel.close();
    answer();
  }

  #channel(slot: number): SimChannel {
    const channel = this.channels.get(slot);
    if (channel === undefined) throw new Error(`no channel ${slot} on ${this.nic}`);
    return channel;
  }

  /** Whether the order names a region that could not be mapped: its channel breaks. */
  isUnmappable({ pieces }: ChunkOrder): boolean {
    return pieces.some(({ region }) => this.#unmappable.has(region));
  }

  #addr(region: number, offset: number, bytes: number): number {
    const range = this.#regions.get(region);
    if (range === undefined || offset < 0 || offset + bytes > range.bytes) {
      throw new Violation(
        `${this.machine}, ${this.nic}: ${bytes} bytes at ${offset} of region ${region}, ` +
          `which has ${range?.bytes ?? 'no memory'}`,
      );
    }
    return range.addr + offset;
  }

  /** What a chunk that is sent holds now. */
  read(order: ChunkOrder): Uint8Array {
    const bytes = new Uint8Array(order.bytes);
    let at = 0;
    for (const piece of order.pieces) {
      copyMemory(passing.addr, this.#addr(piece.region, piece.offset, piece.bytes), piece.bytes);
      bytes.set(passing.uint8.subarray(0, piece.bytes), at);
      at += piece.bytes;
    }
    return bytes;
  }

  /** Bytes of a chunk that was received, from a position in it on, to where they belong. */
  write(order: ChunkOrder, from: number, bytes: Uint8Array): void {
    let start = 0;
    for (const piece of order.pieces) {
      const first = Math.max(start, from);
      const end = Math.min(start + piece.bytes, from + bytes.length);
      if (first < end) {
        passing.uint8.set(bytes.subarray(first - from, end - from));
        const addr = this.#addr(piece.region, piece.offset + first - start, end - first);
        copyMemory(addr, passing.addr, end - first);
      }
      start += piece.bytes;
    }
  }
}
