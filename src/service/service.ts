// The node service: one per runtime folder. It listens on a Unix socket, gives every client that
// attaches an engine of its own, and turns their rings.

import type { Config } from '../base/config.js';
import { processEnvironment } from '../base/config.js';
import { type TcpxError, toTcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import { MESSAGE_KINDS } from '../base/service-layout.js';
import { serviceStatusOf } from '../base/service-status.js';
import { tunedHere } from '../engine/tuned-config.js';
import { EAGAIN, errnoName } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { acceptSocket } from '../ffi/libc/socket.js';
import { listenUnix, sendUnix } from '../ffi/libc/unix-socket.js';
import { type ControlHandler, ControlSet } from '../os/control-set.js';
import { Attachment, type AttachmentHost } from './attachment.js';
import { quota } from './client-peers.js';
import { Doorman } from './doorman.js';
import { encodeAnswer, encodeText } from './message-codec.js';
import { Places } from './places.js';
import { Pump } from './pump.js';
import { type ClaimedFolder, claimFolder, runtimeFolder } from './runtime-folder.js';

const BACKLOG = 128;
const ACCEPTS_MAX = 32;

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
}

export class NodeService implements ControlHandler, AttachmentHost {
  readonly folder: string;
  readonly socketPath: string;
  readonly set: ControlSet;
  readonly config: Config;
  readonly lookUs: number;
  readonly log: Log;
  /** Resolves when a service that was started on demand has had no client for long enough. */
  readonly idle: Promise<void>;
  readonly #warnings: LimitedLog;
  readonly #claimed: ClaimedFolder;
  readonly #fd: number;
  readonly #doorman: Doorman;
  readonly #attachments = new Set<Attachment>();
  readonly #places = new Places();
  readonly #pump: Pump;
  readonly #ending = new Set<Promise<void>>();
  #isTrustTold = false;
  #resolveIdle: () => void = () => undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor({ config, log }: ServiceOptions) {
    this.config = config;
    const { values } = config;
    this.log = log;
    this.#warnings = new LimitedLog(log);
    this.set = new ControlSet(values['memory.spareControls']);
    const uid = process.getuid?.() ?? 0;
    this.folder = runtimeFolder(values['service.folder'], processEnvironment(), uid);
    this.#claimed = claimFolder(this.folder, process.pid, uid);
    this.socketPath = this.#claimed.socketPath;
    this.#fd = listenPrivately(this.#claimed);
    this.set.add(this.#fd, this);
    this.lookUs = tunedHere(config).values['service.spinUs'];
    this.#pump = new Pump(this.#attachments, this.lookUs);
    this.#doorman = new Doorman(this.set, () => this.#onSockets());
    this.idle = new Promise((resolve) => {
      this.#resolveIdle = resolve;
    });
    this.#watchIdleness();
  }

  get clientCount(): number {
    return [...this.#attachments].filter((one) => one.isAttached).length;
  }

  #onSockets(): void {
    this.set.poll();
  }

  onReady(): void {
    for (let count = 0; count < ACCEPTS_MAX; count++) {
      const fd = acceptSocket(this.#fd);
      if (fd === -EAGAIN) return;
      if (fd < 0) {
        this.#warnings.warn('accept failed', { reason: errnoName(-fd) });
        return;
      }
      this.#admit(fd);
    }
    // The rest after everybody else has had a turn: the set tells of an edge once.
    setImmediate(() => this.#onSockets());
  }

  #admit(fd: number): void {
    const { 'service.clientsMax': clients, 'service.strangersMax': strangers } = this.config.values;
    if (this.#attachments.size >= clients + strangers) {
      const isFull = this.clientCount >= clients;
      this.#turnAway(
        fd,
        isFull
          ? quota('attach', 'service.clientsMax', clients)
          : quota('attach', 'service.strangersMax', strangers),
      );
      return;
    }
    try {
      this.#attachments.add(new Attachment(fd, this));
    } catch (error) {
      this.#turnAway(fd, toTcpxError(error, 'ERR_SYS_CALL', 'attach'));
    }
  }

  // Every client asks to be attached first, with sequence 1: so that can be answered unread.
  #turnAway(fd: number, error: TcpxError): void {
    const text = encodeText(error.message);
    sendUnix(fd, encodeAnswer(MESSAGE_KINDS.ATTACH, 1, serviceStatusOf(error), text));
    closeFd(fd);
    this.#warnings.warn('client turned away', { code: error.code, reason: error.message });
  }

  admit(): number {
    const limit = this.config.values['service.clientsMax'];
    if (this.clientCount >= limit) throw quota('attach', 'service.clientsMax', limit);
    return this.#places.take();
  }

  onLeft(place: number): void {
    this.#places.giveBack(place);
  }

  onAttached(isForLoopbackAlone: boolean): void {
    clearTimeout(this.#idleTimer);
    if (isForLoopbackAlone) this.#tellTrust();
    this.#pump.wake();
  }

  // All clients have the same secret, or none.
  #tellTrust(): void {
    if (this.#isTrustTold) return;
    this.#isTrustTold = true;
    this.log.warn('no shared secret: peers on loopback alone are accepted', {
      service: this.folder,
    });
  }

  onNews(): void {
    this.#pump.wake();
  }

  onEnded(attachment: Attachment): void {
    this.#attachments.delete(attachment);
    const ending = attachment.close().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    this.#watchIdleness();
  }

  #watchIdleness(): void {
    if (!this.config.values['service.autostart'] || this.#attachments.size > 0) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      // Somebody may be attaching; who ends sets the timer again.
      if (this.#attachments.size === 0) this.#resolveIdle();
    }, this.config.values['service.idleMs']);
  }

  /** Lets every client go, and gives the folder back. */
  async close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.set.remove(this.#fd);
    closeFd(this.#fd);
    await Promise.all([...this.#attachments].map((one) => one.close()));
    await Promise.all(this.#ending);
    await this.#doorman.close();
    this.set.close();
    this.#claimed.release();
  }
}

// The mode is right from the first moment on: between bind and chmod anybody could connect.
function listenPrivately(claimed: ClaimedFolder): number {
  const before = process.umask(0o177);
  try {
    return listenUnix(claimed.socketPath, BACKLOG);
  } catch (error) {
    claimed.release();
    throw error;
  } finally {
    process.umask(before);
  }
}
