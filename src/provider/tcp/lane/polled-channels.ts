// The channels of a lane whose ports lie in memory: looked at in every turn, and told before the
// lane sleeps, so that the peer knows whom to ring.

import { isPolledPort, type PolledPort } from '../port/stream-port.js';
import type { Channel } from './channel.js';

interface Polled {
  readonly channel: Channel;
  readonly port: PolledPort;
}

export class PolledChannels {
  readonly #list: Polled[] = [];

  add(channel: Channel): void {
    if (isPolledPort(channel.port)) this.#list.push({ channel, port: channel.port });
  }

  remove(channel: Channel): void {
    const index = this.#list.findIndex((one) => one.channel === channel);
    if (index >= 0) this.#list.splice(index, 1);
  }

  look(): void {
    for (const { channel } of this.#list) {
      channel.ready.tryAll(true);
    }
  }

  /** The descriptor has something: bytes, or for a port in memory a bell. */
  onReadable(channel: Channel): void {
    channel.ready.onReadable();
    if (isPolledPort(channel.port)) channel.port.onBell();
  }

  /** False if there is something to do; then nobody was told that this lane sleeps. */
  prepareSleep(): boolean {
    for (const [index, { port }] of this.#list.entries()) {
      if (port.prepareSleep()) continue;
      for (const { port: told } of this.#list.slice(0, index)) told.endSleep();
      return false;
    }
    return true;
  }

  endSleep(): void {
    for (const { port } of this.#list) port.endSleep();
  }
}
