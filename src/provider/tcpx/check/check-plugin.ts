// The check itself, in a process that holds the plugin: a connection with itself on one NIC, every
// rule tried in turn. Host memory only: a receive into device memory from the same host would end a
// real plugin's process.

import { isTcpxError } from '../../../base/errors.js';
import { emulatorFacts } from '../../../ffi/nccl-net/emulator-facts.js';
import { type NetPlugin, POINTER_CUDA } from '../../../ffi/nccl-net/net-plugin.js';
import type { PluginLogger } from '../../../ffi/nccl-net/plugin-logger.js';
import type { DeviceProperties } from '../../../ffi/nccl-net/properties.js';
import { REQUEST_POOL } from '../../../flow/sliding-window.hot.js';
import { cpuReader, UnpackQueue } from '../child/unpack-queue.js';
import { handleAddress } from '../same-host.js';
import { badVerdict, type CheckLine, type RuleId } from './check-rules.js';
import { CheckedComms, MESSAGE_BYTES } from './checked-comms.js';

const REFUSED = 3;
const SYSTEM = 2;
const POINTER_HOST_BIT = 1;

/** The rest cannot be tried. */
class Spoiled extends Error {}
class Skipped extends Error {}

export interface CheckParts {
  readonly plugin: NetPlugin;
  readonly logger: PluginLogger;
  /** Empty takes the first device. */
  readonly nic: string;
  readonly limitMs: number;
  /** Host memory stands in for device memory, and peers of one host are let through. */
  readonly isScatterSafe: boolean;
  readonly print: (line: CheckLine) => void;
}

export function checkPlugin(parts: CheckParts): void {
  const check = new PluginCheck(parts);
  try {
    check.run();
  } catch (error) {
    if (!(error instanceof Spoiled)) throw error;
    check.giveUp();
  }
}

class PluginCheck {
  readonly #parts: CheckParts;
  readonly #comms: CheckedComms;
  #devices: DeviceProperties[] = [];
  #dev = 0;
  readonly #requests: number[] = [];

  constructor(parts: CheckParts) {
    this.#parts = parts;
    this.#comms = new CheckedComms(parts.plugin, parts.limitMs);
  }

  run(): void {
    this.#rule('load', () => '');
    this.#setUp();
    this.#beforeData();
    this.#withData();
    this.#afterData();
    this.#end();
  }

  /** After a rule that spoils the rest: no steering rule may stay behind. */
  giveUp(): void {
    const { plugin } = this.#parts;
    const { sendComm, receiveComm, listenComm } = this.#comms;
    try {
      if (sendComm !== 0) plugin.closeSend(sendComm);
      if (receiveComm !== 0) plugin.closeReceive(receiveComm);
      // While accept is under way its thread uses the listen comm.
      if (receiveComm !== 0) plugin.closeListen(listenComm);
    } catch (error) {
      if (!isTcpxError(error)) throw error;
    }
  }

  // Empty when the rule holds, else what was seen.
  #rule(id: RuleId, attempt: () => string): void {
    const { print } = this.#parts;
    print({ trying: id });
    let seen: string;
    try {
      seen = attempt();
    } catch (error) {
      if (error instanceof Skipped) {
        print({ result: { id, verdict: 'skip', seen: error.message } });
        return;
      }
      if (!isTcpxError(error)) throw error;
      print({ result: { id, verdict: badVerdict(id), seen: error.message } });
      if (badVerdict(id) === 'fail') throw new Spoiled();
      return;
    }
    print({ result: { id, verdict: seen === '' ? 'pass' : badVerdict(id), seen } });
    if (seen !== '' && badVerdict(id) === 'fail') throw new Spoiled();
  }

  #refuses(id: RuleId, call: () => number): void {
    this.#rule(id, () => {
      const result = Math.abs(call());
      return result === REFUSED ? '' : `returned ${result}`;
    });
  }

  #setUp(): void {
    const { plugin, logger, nic, print } = this.#parts;
    const comms = this.#comms;
    this.#rule('init', () => {
      plugin.init(logger);
      return '';
    });
    this.#rule('devices', () => this.#readDevices());
    const { path, isEmulated } = plugin.library;
    const { name, tableVersion } = plugin;
    this.#dev = Math.max(
      0,
      this.#devices.findIndex((device) => device['name'] === nic),
    );
    const named = String(this.#devices[this.#dev]?.['name'] ?? '');
    print({ plugin: { path, name, tableVersion, isEmulated, nic: named } });
    this.#rule('unpack', () => this.#differing());
    this.#rule('pci', () => {
      const without = this.#devices.filter((device) => device['pciPath'] === null);
      return without.map((device) => `${String(device['name'])} has none`).join(', ');
    });
    this.#rule('listen', () => {
      comms.listen(this.#dev);
      return comms
        .bytes(comms.page)
        .subarray(0, 128)
        .every((byte) => byte === 0)
        ? 'all 0'
        : '';
    });
    this.#rule('address', () => {
      const handle = Buffer.from(comms.bytes(comms.page).subarray(0, 128)).toString('hex');
      return handleAddress(handle) === '' ? `begins with ${handle.slice(0, 16)}` : '';
    });
    this.#rule('setup', () => (comms.join(this.#dev) ? '' : 'not connected in time'));
    this.#rule('device', () => this.#checkDevice());
    this.#rule('register', () => {
      comms.register();
      return comms.sendHandle === 0 || comms.receiveHandle === 0 ? 'a null handle' : '';
    });
  }

  #readDevices(): string {
    const { plugin, nic } = this.#parts;
    const count = plugin.deviceCount();
    if (count < 1) return `${count} devices`;
    this.#devices = Array.from({ length: count }, (_, dev) => plugin.properties(dev));
    const names = this.#devices.map((device) => String(device['name'] ?? ''));
    if (names.includes('')) return 'a device without a name';
    if (nic !== '' && !names.includes(nic)) return `no ${nic} among ${names.join(', ')}`;
    const hostless = this.#devices.filter(
      (device) => (Number(device['ptrSupport']) & POINTER_HOST_BIT) === 0,
    );
    return hostless.map((device) => `${String(device['name'])} takes no host memory`).join(', ');
  }

  #differing(): string {
    const device = this.#devices[this.#dev] ?? {};
    const wanted = { netDeviceType: 1, netDeviceVersion: 7, maxRecvs: 1 };
    const other = Object.entries(wanted).filter(([name, value]) => device[name] !== value);
    return other.map(([name]) => `${name} ${String(device[name])}`).join(', ');
  }

  // The address in it is the device's: with a GPU only the struct itself can be looked at.
  #checkDevice(): string {
    const { deviceAddr, page } = this.#comms;
    const view = new DataView(this.#comms.bytes(page).buffer, deviceAddr - page.addr, 32);
    const [type, version] = [view.getInt32(0, true), view.getInt32(4, true)];
    const [handle, size] = [view.getBigUint64(8, true), view.getBigUint64(16, true)];
    if (type === 1 && version === 7 && handle !== 0n && size === 24n) return '';
    return `type ${type}, version ${version}, handle 0x${handle.toString(16)}, size ${size}`;
  }

  #beforeData(): void {
    const comms = this.#comms;
    const requests = this.#requests;
    this.#rule('window', () => {
      for (let slot = 0; slot < REQUEST_POOL; slot++) {
        const request = comms.receive(slot, MESSAGE_BYTES);
        if (request <= 0) return `receive ${slot + 1} returned ${-request}`;
        requests.push(request);
      }
      return '';
    });
    this.#rule('depth', () => {
      const request = comms.receive(REQUEST_POOL, MESSAGE_BYTES);
      if (request > 0) requests.push(request);
      return request === -REFUSED ? '' : request > 0 ? 'it was taken' : `returned ${-request}`;
    });
    this.#refuses('group', () => comms.receive(0, MESSAGE_BYTES, 2));
    this.#refuses('unregistered', () => comms.receive(0, MESSAGE_BYTES, 1, 0));
    this.#rule('idle', () => {
      const { result, isDone } = comms.test(requests[5] ?? 0);
      return result === 0 && !isDone ? '' : `returned ${result}, done ${isDone}`;
    });
    this.#refuses('test-null', () => comms.test(0).result);
    this.#refuses('consume-null', () => comms.consume(comms.receiveComm, 0));
    this.#refuses('consume-early', () => comms.consume(comms.receiveComm, requests[0] ?? 0));
  }

  #withData(): void {
    const comms = this.#comms;
    const requests = this.#requests;
    const [first = 0, second = 0] = requests;
    const sent = comms.send(0, MESSAGE_BYTES);
    this.#rule('younger', () => {
      // Harmless until the first message is on its way; the sender moves only when it is tested.
      const result = comms.until(() => {
        comms.step(sent);
        const { result: answer } = comms.test(second);
        return answer === 0 ? undefined : answer;
      });
      return result === REFUSED ? '' : `returned ${result ?? 'nothing but 0'}`;
    });
    let hasSize = false;
    this.#rule('payload', () => {
      const isDone = comms.until(() => {
        comms.step(sent);
        const answer = comms.test(first);
        hasSize ||= answer.hasSize;
        return answer.isDone ? true : undefined;
      });
      if (isDone !== true) return 'the first message did not finish';
      comms.finish(sent);
      for (const [slot, request] of requests.entries()) {
        if (slot > 0) comms.finish(request, comms.send(slot, MESSAGE_BYTES));
      }
      const bytes = requests.length * MESSAGE_BYTES;
      const landed = Buffer.from(comms.bytes(comms.target).buffer, 0, bytes);
      const at = landed.compare(comms.bytes(comms.source).subarray(0, bytes));
      return at === 0 ? '' : 'other bytes than were sent';
    });
    this.#rule('sizes', () => (hasSize ? 'it wrote one' : ''));
    this.#rule('request', () => {
      const [op, size] = [comms.requestField(first, 16), comms.requestField(first, 36)];
      return op === 1 && size === MESSAGE_BYTES ? '' : `${op} and ${size}`;
    });
    this.#rule('consume-send', () => {
      const result = comms.consume(comms.sendComm, sent);
      return result === 0 ? '' : `returned ${result}`;
    });
    this.#refuses('consume-order', () => comms.consume(comms.receiveComm, second));
    this.#refuses('consume-two', () => comms.consume(comms.receiveComm, first, 2));
    this.#rule('consume', () => {
      const results = requests.map((request) => comms.consume(comms.receiveComm, request));
      return results.every((result) => result === 0) ? '' : `returned ${results.join(', ')}`;
    });
    this.#refuses('consume-twice', () => comms.consume(comms.receiveComm, requests.at(-1) ?? 0));
    for (const request of requests) comms.forget(request);
  }

  #afterData(): void {
    const comms = this.#comms;
    const move = (posted: number, sent: number): number => {
      const request = comms.receive(0, posted);
      comms.forget(request);
      const sending = comms.send(1, sent);
      comms.forget(sending);
      comms.finish(request, sending);
      return request;
    };
    let request = 0;
    // The buffer has room for the whole message: nothing is overrun.
    this.#rule('bounds', () => {
      request = move(100, MESSAGE_BYTES);
      const size = comms.requestField(request, 36);
      return size === MESSAGE_BYTES ? '' : `its length is ${size}`;
    });
    this.#rule('ring', () => (request === this.#requests[0] ? '' : 'another address'));
    comms.consume(comms.receiveComm, request);
    this.#rule('empty', () => {
      const empty = move(MESSAGE_BYTES, 0);
      const result = comms.consume(comms.receiveComm, empty);
      return result === 0 ? '' : `consuming it returned ${result}`;
    });
    this.#rule('scatter', () => this.#scatter(move));
  }

  #scatter(move: (posted: number, sent: number) => number): string {
    const { plugin, isScatterSafe } = this.#parts;
    if (!isScatterSafe) throw new Skipped('needs a peer on another host');
    const comms = this.#comms;
    const hostHandle = comms.receiveHandle;
    const { addr, bytes } = comms.target;
    comms.receiveHandle = plugin.registerMemory(comms.receiveComm, addr, bytes, POINTER_CUDA);
    const queue = new UnpackQueue(comms.deviceAddr, cpuReader, 0);
    const before = queue.slots.map((_, slot) => queue.count(slot));
    const request = move(MESSAGE_BYTES, MESSAGE_BYTES);
    const slot = queue.slots.findIndex((_, index) => queue.count(index) !== before[index]);
    const entries = queue.slots[slot]?.entries ?? new Uint32Array(0);
    let sum = 0;
    for (let at = 0; slot >= 0 && at < queue.count(slot); at++) sum += entries[at * 4 + 1] ?? 0;
    comms.consume(comms.receiveComm, request);
    plugin.deregisterMemory(comms.receiveComm, comms.receiveHandle);
    comms.receiveHandle = hostHandle;
    return sum === MESSAGE_BYTES ? '' : `${sum} of ${MESSAGE_BYTES} bytes in slot ${slot}`;
  }

  #end(): void {
    const { plugin, logger } = this.#parts;
    const comms = this.#comms;
    this.#rule('peer-close', () => {
      const waiting = comms.receive(0, MESSAGE_BYTES);
      plugin.deregisterMemory(comms.sendComm, comms.sendHandle);
      plugin.closeSend(comms.sendComm);
      comms.sendComm = 0;
      const result = comms.until(() => {
        const answer = comms.test(waiting);
        return answer.result === 0 ? undefined : answer.result;
      });
      return result === SYSTEM ? '' : `returned ${result ?? 'nothing but 0'}`;
    });
    this.#rule('unaligned', () => this.#unaligned());
    this.#rule('close', () => {
      plugin.deregisterMemory(comms.receiveComm, comms.receiveHandle);
      plugin.closeReceive(comms.receiveComm);
      comms.receiveComm = 0;
      plugin.closeListen(comms.listenComm);
      const emulator = emulatorFacts(plugin.library);
      const lost = emulator === undefined ? 0 : emulator.pages(0) - emulator.freePages(0);
      return lost === 0 ? '' : `${lost} pages lost`;
    });
    this.#rule('init-twice', () => {
      try {
        plugin.init(logger);
      } catch (error) {
        const result = isTcpxError(error) ? error.facts['result'] : undefined;
        return result === REFUSED ? '' : `returned ${String(result)}`;
      }
      return 'it succeeded';
    });
  }

  #unaligned(): string {
    const { plugin } = this.#parts;
    const comms = this.#comms;
    const support = Number(this.#devices[this.#dev]?.['ptrSupport'] ?? 0);
    const isTaken = (support & POINTER_CUDA) !== 0 || this.#parts.isScatterSafe;
    if (!isTaken) throw new Skipped('takes no device memory');
    try {
      const addr = comms.target.addr + 1;
      const mhandle = plugin.registerMemory(comms.receiveComm, addr, 4096, POINTER_CUDA);
      plugin.deregisterMemory(comms.receiveComm, mhandle);
      return 'it was taken';
    } catch (error) {
      const result = isTcpxError(error) ? error.facts['result'] : undefined;
      return result === REFUSED ? '' : `returned ${String(result)}`;
    }
  }
}
