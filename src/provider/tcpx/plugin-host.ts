// The application's side of a plugin host: starts it, speaks to it, watches its heart-beat, and
// turns its death, its hang and its refusals into typed errors. It never waits for it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { sleepMs, withinMs } from '../../base/clock.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { launchUrl } from '../../base/launch.js';
import type { Log } from '../../base/log.js';
import type { ChannelSlot } from '../../base/quantity.js';
import { createSocketPair, sendDescriptor } from '../../ffi/libc/descriptor-passing.js';
import { closeFd } from '../../ffi/libc/file-descriptor.js';
import { coreWaitMs } from '../../os/core-wait.js';
import { WakePipe } from '../../os/wake-pipe.js';
import { CommandQueue } from './command-queue.js';
import { HeartBeat } from './heart-beat.js';
import type { ThreadPlacement } from './helper-threads.js';
import { HostEvents, type HostListener } from './host-events.js';
import {
  COMMANDS_AT,
  COUNTER_CONSUMED,
  COUNTER_DONE,
  COUNTER_FLOATS,
  COUNTER_POSTED,
  counterFloat,
  HOST_CHANNELS_MAX,
  PLUGIN_CALLS,
  RECEIVE,
  SEND,
  SLOW_CALLS,
  WORD_CALL,
  WORD_CALL_CHANNEL,
  WORD_HEARTBEAT,
} from './host-layout.js';
import { HostLink } from './host-link.js';
import { HostLog } from './host-log.js';
import type { HostCommand, HostFacts, HostOptions, PageCount } from './host-message.js';
import { hintFor } from './plugin-hints.js';
import type { RegionShare } from './region-share.js';

export type CommandBody = HostCommand extends infer C
  ? C extends HostCommand
    ? Omit<C, 'id'>
    : never
  : never;

export interface PluginHostOptions {
  /** For messages: the rail or rails it serves. */
  readonly name: string;
  readonly options: HostOptions;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly setupTimeoutMs: number;
  readonly hangMs: number;
  readonly listener: HostListener;
  /** Once, when it has died or was ended for a reason. */
  onDead(error: TcpxError): void;
}

export interface HostAnswer {
  readonly handle?: string;
  readonly pages?: PageCount;
}

const MAIN = 'provider/tcpx/child/plugin-host-main.js';
const WATCH_MS = 100;
const STOP_MS = 2000;
const WARNINGS_MS = 20;
const LAST_WORDS_MS = 300;

export class PluginHost {
  readonly name: string;
  readonly commands: CommandQueue;
  readonly #options: PluginHostOptions;
  readonly #link = HostLink.create();
  /** The child takes descriptors of GPU memory from the other end. */
  readonly #descriptorFd: number;
  readonly #wakePipe = new WakePipe(() => this.drain());
  readonly #child: ChildProcess;
  readonly #events: HostEvents;
  readonly #hostLog: HostLog;
  readonly #closed: Promise<unknown>;
  #facts: HostFacts | undefined;
  #watch: NodeJS.Timeout | undefined;
  #error: TcpxError | undefined;
  #isStopping = false;
  readonly #beat = new HeartBeat();
  #isStarved = false;
  /** The counters as they were at its end; the shared memory is gone then. */
  #lastCounters: Float64Array | undefined;

  private constructor(options: PluginHostOptions) {
    this.#options = options;
    this.name = options.name;
    this.#hostLog = new HostLog(options.name, options.log, () => this.#isIdle());
    this.#events = new HostEvents(this.#link, options.listener);
    this.commands = new CommandQueue(this.#link);
    const pair = createSocketPair();
    this.#descriptorFd = pair.ownFd;
    // Its parent's number goes with it: one that asks later may be an orphan already.
    const words = [
      fileURLToPath(launchUrl(MAIN)),
      JSON.stringify(options.options),
      String(process.pid),
    ];
    this.#child = spawn(process.execPath, words, {
      env: { ...options.environment },
      stdio: [
        ...(['ignore', 'pipe', 'pipe', 'pipe'] as const),
        ...[this.#wakePipe.writeFd, this.#link.fd, pair.otherFd, this.#link.bellFd],
      ],
    });
    closeFd(pair.otherFd);
    this.#hostLog.attach(this.#child);
    this.#closed = once(this.#child, 'close');
    this.#child.on('exit', (code, signal) => void this.#onExit(code, signal));
    this.#child.on('error', (error) => this.#die(exitError(this.name, error.message, '')));
    this.#watch = setInterval(() => this.checkBeat(), WATCH_MS);
    this.#watch.unref();
    this.#events.drain();
  }

  /** Resolves when the plugin is loaded and initialised. */
  static async start(options: PluginHostOptions): Promise<PluginHost> {
    const host = new PluginHost(options);
    const facts = await withinMs(host.#events.started, options.setupTimeoutMs).catch(
      async (error: unknown) => {
        const explained = await host.#explain(error);
        host.end();
        throw explained;
      },
    );
    if (facts === undefined) {
      const message = `plugin of ${options.name} not initialised in ${options.setupTimeoutMs} ms`;
      const error = new TcpxError('ERR_NCCLNET_HUNG', message);
      host.#die(error);
      throw error;
    }
    host.#facts = facts;
    host.#warnOfSilence();
    return host;
  }

  get facts(): HostFacts {
    if (this.#facts === undefined) throw new TcpxError('ERR_USAGE_STATE', 'host is not started');
    return this.#facts;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.#error === undefined && !this.#isStopping;
  }

  /** Why it is gone; undefined while it lives. */
  get error(): TcpxError | undefined {
    return this.#error;
  }

  /** As the plugin's log says it; empty when it did not. */
  get pluginVersion(): string {
    return this.#hostLog.pluginVersion;
  }

  /** Where the plugin's helper threads run; undefined before the first part is finished. */
  get placement(): ThreadPlacement | undefined {
    return this.#events.placement;
  }

  /** Where it writes a byte when it has news for somebody who sleeps. */
  get wakeFd(): number {
    return this.#wakePipe.readFd;
  }

  /** Whether this process stays for its sake. */
  hold(isHeld: boolean): void {
    this.#wakePipe.hold(isHeld);
    const streams = this.#child.stdio.filter((stream) => stream instanceof Socket);
    for (const handle of [this.#child, ...streams]) {
      if (isHeld) handle.ref();
      else handle.unref();
    }
  }

  /** Takes its news; how many there were. */
  drain(): number {
    return this.#events.drain();
  }

  /** Warnings of the plugin, newest last. */
  get warnings(): readonly string[] {
    return this.#hostLog.warnings;
  }

  /** Counters of one direction of a channel, read from shared memory. */
  counters(channel: ChannelSlot, direction: number): Float64Array {
    const at = counterFloat(channel, direction);
    const counters = this.#lastCounters ?? this.#link.memory.float64;
    return counters.slice(at, at + COUNTER_FLOATS);
  }

  /** Why a channel sends from its ring although regions were to be registered; empty if not. */
  sendFallback(channel: ChannelSlot): string {
    return this.#events.fallbacks.get(channel) ?? '';
  }

  /** The slot has a new channel. */
  forgetFallback(channel: ChannelSlot): void {
    this.#events.fallbacks.delete(channel);
  }

  /** `onSettled` is told of the answer while it is taken, before the promise. */
  async request(
    body: CommandBody,
    timeoutMs: number,
    onSettled?: (error: TcpxError | undefined) => void,
  ): Promise<HostAnswer> {
    if (this.#error !== undefined) throw this.#error;
    const { id, answer } = this.#events.expect(onSettled);
    this.commands.putText(JSON.stringify({ ...body, id }));
    const given = await withinMs(answer, timeoutMs).catch(async (error: unknown) => {
      throw await this.#explain(error);
    });
    if (given !== undefined) return given;
    const channel = 'channel' in body ? `, channel ${body.channel}` : '';
    const error = new TcpxError(
      'ERR_NCCLNET_HUNG',
      `plugin ${body.op} on ${this.name}${channel}: no answer in ${timeoutMs} ms`,
      { facts: { call: body.op, nic: this.name } },
    );
    // Whatever is stuck in there cannot be cancelled.
    this.#die(error);
    throw error;
  }

  /** Maps a region there; its descriptors go ahead of the command. */
  async map(
    region: number,
    share: RegionShare,
    timeoutMs: number,
    onSettled?: (error: TcpxError | undefined) => void,
  ): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    for (const fd of share.descriptors) sendDescriptor(this.#descriptorFd, fd);
    await this.request({ op: 'map', region, memory: share.shared }, timeoutMs, onSettled);
  }

  /** Ends it at once, without an error for anybody: the caller has one. */
  end(): void {
    this.#isStopping = true;
    this.#child.kill('SIGKILL');
    this.#forget(new TcpxError('ERR_USAGE_STATE', `plugin host ${this.name} was ended`));
  }

  /** Ends it for a reason that is told to everybody who waits. */
  fail(error: TcpxError): void {
    this.#die(error);
  }

  /** Stops it in an orderly way, by force when it does not; channels are to be closed before. */
  async stop(): Promise<void> {
    if (this.isAlive) {
      this.#isStopping = true;
      const { id, answer } = this.#events.expect();
      this.commands.putText(JSON.stringify({ op: 'stop', id }));
      await withinMs(
        answer.catch(() => undefined),
        STOP_MS,
      );
    }
    const isGone = await withinMs(
      this.#closed.then(() => true),
      STOP_MS,
    );
    if (isGone !== true) this.#child.kill('SIGKILL');
    await this.#closed;
    this.#forget(new TcpxError('ERR_USAGE_STATE', `plugin host ${this.name} was stopped`));
  }

  // A result code says little; what the plugin warned of comes by another pipe, a little later.
  async #explain(error: unknown): Promise<unknown> {
    if (!isTcpxError(error, 'ERR_NCCLNET_CALL') || this.#error !== undefined) return error;
    await sleepMs(WARNINGS_MS);
    const words = `${error.message} on ${this.name}${this.#lastWords()}`;
    const facts = { ...error.facts, nic: this.name };
    return new TcpxError(error.code, words, { facts, cause: error });
  }

  #lastWords(): string {
    const words = this.#hostLog.lastWords();
    const said = words.length === 0 ? '' : `; it said: ${words.join(' | ')}${hintFor(words)}`;
    const { logSilence } = this.#events;
    return logSilence === '' ? said : `${said}; the plugin’s words are not captured: ${logSilence}`;
  }

  // No chunk of any channel is under way.
  #isIdle(): boolean {
    const { float64 } = this.#link.memory;
    const counters = this.#lastCounters ?? float64;
    for (let channel = 0; channel < HOST_CHANNELS_MAX; channel++) {
      for (const direction of [SEND, RECEIVE]) {
        const at = counterFloat(channel, direction);
        const finished = counters[at + (direction === SEND ? COUNTER_DONE : COUNTER_CONSUMED)];
        if (counters[at + COUNTER_POSTED] !== finished) return false;
      }
    }
    return true;
  }

  #warnOfSilence(): void {
    const { logSilence: reason } = this.#events;
    if (reason === '') return;
    this.#options.log.warn('the plugin’s words are not captured', { nic: this.name, reason });
  }

  // Last words are still in the pipes when the process is gone.
  async #onExit(code: number | null, signal: string | null): Promise<void> {
    await withinMs(this.#closed, LAST_WORDS_MS);
    if (this.#isStopping) return;
    this.#events.drain();
    const how = signal === null ? `exited with ${code ?? 'no status'}` : `was ended by ${signal}`;
    this.#die(exitError(this.name, how, this.#lastWords()));
  }

  /** From the event loop, and by whoever keeps it from running. */
  checkBeat(): void {
    // A byte that was missed would leave news lying.
    this.#events.drain();
    const { int32 } = this.#link.memory;
    const count = Atomics.load(int32, WORD_HEARTBEAT);
    const call = PLUGIN_CALLS[Atomics.load(int32, WORD_CALL)] ?? '';
    const { hangMs, setupTimeoutMs } = this.#options;
    const allowedMs = SLOW_CALLS.includes(call) || count === 0 ? setupTimeoutMs : hangMs;
    const nowMs = performance.now();
    const { pid } = this.#child;
    const waitedMs = (): number | undefined => (pid === undefined ? undefined : coreWaitMs(pid));
    const verdict = this.#beat.check(count, nowMs, allowedMs, waitedMs);
    const silentMs = this.#beat.silentMs(nowMs);
    if (verdict === 'hung') this.#die(hungError(this.name, call, this.#channelIn(), silentMs));
    else if (verdict === 'starved') this.#warnOfStarving(silentMs);
  }

  #warnOfStarving(silentMs: number): void {
    if (this.#isStarved) return;
    this.#isStarved = true;
    const reason = 'it waits for a core; other programs are busy on all that it may use';
    const facts = { nic: this.name, silentMs: Math.round(silentMs), reason };
    this.#options.log.warn('the plugin process stands still', facts);
  }

  #channelIn(): number {
    return this.#link.memory.int32[WORD_CALL_CHANNEL] ?? -1;
  }

  #die(error: TcpxError): void {
    if (this.#error !== undefined || this.#isStopping) return;
    this.#child.kill('SIGKILL');
    this.#forget(error);
    this.#options.onDead(error);
  }

  #forget(error: TcpxError): void {
    this.#error ??= error;
    clearInterval(this.#watch);
    this.commands.close();
    this.#events.fail(error);
    if (this.#lastCounters !== undefined) return;
    this.#lastCounters = this.#link.memory.float64.slice(0, COMMANDS_AT / 8);
    this.#link.close();
    this.#wakePipe.close();
    closeFd(this.#descriptorFd);
  }
}

function exitError(name: string, how: string, lastWords: string): TcpxError {
  const words = `plugin process of ${name} ${how}${lastWords}`;
  return new TcpxError('ERR_NCCLNET_EXIT', words, { facts: { nic: name } });
}

function hungError(name: string, call: string, channel: ChannelSlot, silentMs: number): TcpxError {
  const where = call === '' ? 'outside the plugin' : `inside ${call}, channel ${channel}`;
  return new TcpxError(
    'ERR_NCCLNET_HUNG',
    `plugin process of ${name}: no heart-beat for ${Math.round(silentMs)} ms, ${where}`,
    { facts: { nic: name, call, channel } },
  );
}
