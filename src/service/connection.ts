// The socket of one client: who it is, what it says, what it is answered, and its end. Whatever
// breaks a rule ends this connection and nothing else.
//
//   new ──ATTACH──► attaching ──► attached ──► ended
//    └──────────────────┴──────────────────────►┘

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import {
  BLOCK_ROW,
  MESSAGE_HEAD,
  MESSAGE_KINDS,
  MESSAGE_TEXT_BYTES_MAX,
  PREPARE_HEAD_BYTES,
  REGISTER_DESCRIPTORS_MAX,
} from '../base/service-layout.js';
import { serviceStatus, serviceStatusOf } from '../base/service-status.js';
import { EAGAIN, EINTR, errnoName } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { receiveUnix, sendUnix } from '../ffi/libc/unix-socket.js';
import type { ControlHandler, ControlSet } from '../os/control-set.js';
import { encodeAnswer, encodeText } from './message-codec.js';
import { type Message, MessageStream } from './message-stream.js';

/** Descriptors that may wait for the message that they belong to. */
const DESCRIPTORS_MAX = REGISTER_DESCRIPTORS_MAX;
/** Reads in one go; then the others have a turn. */
const READS_MAX = 64;
const NO_DESCRIPTORS: readonly number[] = [];

export interface ConnectionHost {
  /** Answers with a payload, and descriptors to go along; throws what the client is told. */
  answer(message: Message, descriptors: readonly number[]): Promise<Answer>;
  /**
   * The connection has ended; with what the client is told, where it broke a rule. Resolves when
   * nothing touches the client's memory any more.
   */
  onEnded(error: TcpxError | undefined): Promise<void>;
}

export interface Answer {
  readonly payload: Uint8Array;
  readonly descriptors?: readonly number[];
}

export class Connection implements ControlHandler {
  readonly #fd: number;
  readonly #set: ControlSet;
  readonly #log: Log;
  readonly #stream: MessageStream;
  readonly #descriptors: number[] = [];
  readonly #host: ConnectionHost;
  readonly #messageBytesMax: number;
  #isOpen = true;
  #isAnswering = false;

  constructor(fd: number, set: ControlSet, blocksMax: number, log: Log, host: ConnectionHost) {
    this.#fd = fd;
    this.#set = set;
    this.#log = log;
    this.#host = host;
    const longest = PREPARE_HEAD_BYTES + blocksMax * BLOCK_ROW.bytes;
    const texts = 2 * MESSAGE_TEXT_BYTES_MAX;
    this.#messageBytesMax = MESSAGE_HEAD.bytes + Math.max(longest, texts);
    this.#stream = new MessageStream(this.#messageBytesMax);
    set.add(fd, this);
  }

  onReady(): void {
    for (let count = 0; count < READS_MAX && this.#isOpen; count++) {
      const read = receiveUnix(this.#fd);
      if (typeof read === 'number') {
        if (read === -EAGAIN || read === -EINTR) break;
        this.end();
        return;
      }
      this.#descriptors.push(...read.descriptors);
      if (read.bytes.length === 0) {
        this.end();
        return;
      }
      this.#stream.push(read.bytes);
    }
    const fault = this.#overload();
    if (fault === '') this.#proceed();
    else this.end(new TcpxError('ERR_WIRE_FRAME', `socket: ${fault}`));
  }

  // Messages may be sent ahead of their answers, but not without end.
  #overload(): string {
    if (this.#descriptors.length > DESCRIPTORS_MAX) return 'too many descriptors are waiting';
    return this.#stream.waitingBytes > 2 * this.#messageBytesMax ? 'too much is sent ahead' : '';
  }

  onSetClosed(): void {
    this.end();
  }

  // One message at a time: its answer may take a while, and those behind it may depend on it.
  #proceed(): void {
    if (!this.#isOpen || this.#isAnswering) return;
    try {
      const message = this.#stream.take();
      if (message === undefined) return;
      this.#isAnswering = true;
      void this.#answer(message);
    } catch (error) {
      this.end(toTcpxError(error, 'ERR_WIRE_FRAME', 'socket'));
    }
  }

  async #answer(message: Message): Promise<void> {
    const isBringing = message.kind === MESSAGE_KINDS.REGISTER;
    const descriptors = isBringing ? this.#descriptors.splice(0) : NO_DESCRIPTORS;
    const { kind, sequence } = message;
    try {
      const { payload, descriptors: passed } = await this.#host.answer(message, descriptors);
      this.#send(encodeAnswer(kind, sequence, 0, payload), passed);
    } catch (error) {
      this.#refuse(kind, sequence, toTcpxError(error, 'ERR_SYS_CALL', `message ${kind}`));
    } finally {
      for (const fd of descriptors) closeFd(fd);
      this.#isAnswering = false;
      this.#proceed();
    }
  }

  #refuse(kind: number, sequence: number, error: TcpxError): void {
    const status = serviceStatusOf(error);
    this.#send(encodeAnswer(kind, sequence, status, encodeText(error.message)));
    if (status === serviceStatus('ERR_PROTOCOL')) this.end(error);
  }

  // A client that does not read its answers until the socket is full is let go.
  #send(answer: Uint8Array, descriptors: readonly number[] = NO_DESCRIPTORS): void {
    if (!this.#isOpen) return;
    const sent = sendUnix(this.#fd, answer, descriptors);
    if (sent === answer.length) return;
    const reason = sent < 0 ? errnoName(-sent) : `${sent} of ${answer.length} bytes taken`;
    this.#log.warn('client does not take its answer', { reason });
    this.end();
  }

  end(error?: TcpxError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#set.remove(this.#fd);
    // A client that sees its socket closed looks for the reason in the memory it shares, and takes
    // its own memory for free.
    const close = (): void => void closeFd(this.#fd);
    void this.#host.onEnded(error).then(close, close);
    for (const fd of this.#descriptors.splice(0)) closeFd(fd);
  }
}
