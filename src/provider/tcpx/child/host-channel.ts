// One channel in a plugin host, from listen to close: it offers a handle, then connects to the
// peer's and accepts on its own while the loop polls, and then has both directions.

import { TcpxError } from '../../../base/errors.js';
import type { CommHandle } from '../../../base/quantity.js';
import { type Mapping, mapMemory, unmapMemory, viewMapping } from '../../../ffi/libc/mapping.js';
import { HANDLE_BYTES } from '../../../ffi/nccl-net/net-plugin.js';
import type { ChannelId, ChannelSurroundings } from './channel-part.js';
import { ReceiveChannel } from './receive-channel.js';
import { SendChannel } from './send-channel.js';

/** Offsets in the channel's page: own handle, the peer's (written by connect), device struct. */
const OWN_AT = 0;
const PEER_AT = 256;
const DEVICE_AT = 512;
// 32 bytes are the interface; callers have met plugins that write more.
const PAGE_BYTES = 4096;

/** Entered in this order; `joining` polls both ends. */
export type HostChannelState = 'listening' | 'joining' | 'open' | 'broken' | 'closed';

type JoinProgress = 'not begun' | 'under way' | 'ended';

export class HostChannel {
  readonly id: ChannelId;
  state: HostChannelState = 'listening';
  send: SendChannel | undefined;
  receive: ReceiveChannel | undefined;
  readonly #surroundings: ChannelSurroundings;
  readonly #page: Mapping;
  readonly #bytes: Uint8Array;
  readonly #listenComm: CommHandle;
  #connecting: JoinProgress = 'not begun';
  #accepting: JoinProgress = 'not begun';

  constructor(surroundings: ChannelSurroundings, id: ChannelId) {
    this.#surroundings = surroundings;
    this.id = id;
    this.#page = mapMemory(PAGE_BYTES);
    this.#bytes = new Uint8Array(viewMapping(this.#page));
    const { plugin } = surroundings;
    this.#listenComm = plugin.listen(id.channel, id.dev, this.#page.addr + OWN_AT);
  }

  /** The handle for the peer, as hexadecimal text. */
  handle(): string {
    return Buffer.from(this.#bytes.subarray(OWN_AT, OWN_AT + HANDLE_BYTES)).toString('hex');
  }

  join(peerHandle: string): void {
    if (this.state !== 'listening' || !/^[0-9a-f]{256}$/.test(peerHandle)) {
      throw new TcpxError(
        'ERR_USAGE_STATE',
        `channel ${this.id.channel}: join with a handle of ${peerHandle.length / 2} bytes, ` +
          `while ${this.state}`,
      );
    }
    // A private copy: connect keeps its own state in these bytes between polls.
    this.#bytes.set(Buffer.from(peerHandle, 'hex'), PEER_AT);
    this.state = 'joining';
  }

  /** Connect or accept are under way: their threads use memory that a close would free. */
  get isSettling(): boolean {
    return this.#connecting === 'under way' || this.#accepting === 'under way';
  }

  /**
   * One poll of connect and accept; whether both are there now. The first failure is thrown; what
   * is still under way then is polled on, by the same call, until it has ended too.
   */
  pollJoin(): boolean {
    const { plugin, rxdm } = this.#surroundings;
    const { channel, dev } = this.id;
    const { addr } = this.#page;
    if (this.#connecting !== 'ended') {
      const comm = this.#poll('connect', () => plugin.connect(channel, dev, addr + PEER_AT));
      if (comm !== 0) this.send = new SendChannel(this.#surroundings, this.id, comm);
    }
    if (this.#accepting !== 'ended') {
      if (this.#accepting === 'not begun') rxdm.begin(performance.now());
      const accept = () => plugin.accept(channel, this.#listenComm, addr + DEVICE_AT);
      const comm = this.#poll('accept', accept);
      if (comm !== 0) this.receive = this.#openReceive(comm, addr + DEVICE_AT);
      else if (this.state === 'joining') this.#requireAnswers();
    }
    if (this.send === undefined || this.receive === undefined) return false;
    if (this.state === 'joining') this.state = 'open';
    return true;
  }

  #requireAnswers(): void {
    const { rxdm, options } = this.#surroundings;
    if (!rxdm.isSilent(performance.now())) return;
    const { rxdmTimeoutMs } = options;
    throw new TcpxError(
      'ERR_NCCLNET_HUNG',
      `accept on channel ${this.id.channel} (${this.id.nic}): the receive datapath manager took ` +
        `the request for a steering rule and has not answered in ${rxdmTimeoutMs} ms ` +
        '(tcpx.rxdmTimeoutMs); look at its log, restart it',
      { facts: { call: 'accept', nic: this.id.nic } },
    );
  }

  #poll(end: 'connect' | 'accept', call: () => number): number {
    let comm = -1;
    try {
      comm = call();
      return comm;
    } finally {
      const progress = comm === 0 ? 'under way' : 'ended';
      if (end === 'connect') this.#connecting = progress;
      else this.#endAccept(progress);
    }
  }

  #endAccept(progress: JoinProgress): void {
    this.#accepting = progress;
    if (progress === 'ended') this.#surroundings.rxdm.end();
  }

  // A comm that cannot be used is closed: nobody else knows of it.
  #openReceive(comm: CommHandle, deviceAddr: number): ReceiveChannel {
    try {
      return new ReceiveChannel(this.#surroundings, this.id, comm, deviceAddr);
    } catch (error) {
      this.#surroundings.plugin.closeReceive(this.id.channel, comm);
      throw error;
    }
  }

  /** Not while accept or connect are under way: such a process is ended. */
  close(): void {
    if (this.state === 'closed') return;
    if (this.isSettling) {
      const calls = [
        ...(this.#connecting === 'under way' ? ['connect'] : []),
        ...(this.#accepting === 'under way' ? ['accept'] : []),
      ];
      throw new TcpxError(
        'ERR_USAGE_STATE',
        `channel ${this.id.channel} (${this.id.nic}): ${calls.join(' and ')} under way; only the ` +
          'end of the process ends that',
      );
    }
    this.state = 'closed';
    this.send?.close();
    this.receive?.close();
    this.#surroundings.plugin.closeListen(this.id.channel, this.#listenComm);
    unmapMemory(this.#page);
  }
}
