// The channels of a lane, and the set that tells which of them are ready.

import type { Readiness, Ready } from '../../../os/readiness.js';
import type { Channel } from './channel.js';
import { PolledChannels } from './polled-channels.js';

export class ChannelWatch implements Ready {
  readonly polled = new PolledChannels();
  readonly #readiness: Readiness;
  readonly #byTag: (Channel | undefined)[] = [];

  constructor(readiness: Readiness) {
    this.#readiness = readiness;
  }

  add(channel: Channel): void {
    let tag = this.#byTag.indexOf(undefined);
    if (tag < 0) tag = this.#byTag.length;
    this.#byTag[tag] = channel;
    this.#readiness.add(channel.port.fd, tag);
    this.polled.add(channel);
  }

  remove(channel: Channel): void {
    const tag = this.#byTag.indexOf(channel);
    if (tag >= 0) this.#byTag[tag] = undefined;
    this.polled.remove(channel);
  }

  onReadable(tag: number, isLast: boolean): void {
    const channel = this.#byTag[tag];
    if (channel === undefined) return;
    this.polled.onReadable(channel);
    if (isLast) channel.ready.onEnding();
  }

  onWritable(tag: number): void {
    this.#byTag[tag]?.ready.onWritable();
  }
}
