// The order that the plugin demands of its caller, as assertions: the plugin answers a wrong order
// with an error that looks like any other, with a crash, or with memory used after it was freed.
// Pure; comms and requests are addresses that mean nothing here.

import { assert } from '../../../base/assert.js';
import type { Address, CommHandle, MemoryHandle, RequestHandle } from '../../../base/quantity.js';
import { REQUEST_POOL } from '../../../flow/sliding-window.hot.js';

type Phase = 'new' | 'ready' | 'failed';

interface Comm {
  readonly isSend: boolean;
  readonly registered: Set<number>;
  /** FIFO of requests by position modulo the pool: [consumed, done) received, [done, posted). */
  readonly requests: Float64Array;
  posted: number;
  done: number;
  consumed: number;
}

export class CallOrder {
  #phase: Phase = 'new';
  readonly #listens = new Map<number, 'idle' | 'accepting' | 'spent'>();
  readonly #comms = new Map<number, Comm>();

  onInit(): void {
    assert(this.#phase === 'new', 'init is called once');
    this.#phase = 'failed';
  }

  onInitDone(): void {
    this.#phase = 'ready';
  }

  /** Before listen, connect, devices and properties. */
  requireReady(): void {
    assert(this.#phase === 'ready', 'init succeeded before any other call');
  }

  onListening(listenComm: CommHandle): void {
    this.#listens.set(listenComm, 'idle');
  }

  beforeAccept(listenComm: CommHandle, deviceHandleAddr: Address): void {
    const state = this.#listens.get(listenComm);
    assert(state !== undefined, 'accept on a listen comm');
    assert(state !== 'spent', 'one accept per listen comm');
    assert(deviceHandleAddr > 0, 'accept with a device handle of the caller');
    this.#listens.set(listenComm, 'accepting');
  }

  onAccepted(listenComm: CommHandle, comm: CommHandle): void {
    this.#listens.set(listenComm, 'spent');
    this.#add(comm, false);
  }

  /** Its thread has ended with an error: the listen comm may be closed, and accepts no more. */
  onAcceptFailed(listenComm: CommHandle): void {
    this.#listens.set(listenComm, 'spent');
  }

  onConnected(comm: CommHandle): void {
    this.#add(comm, true);
  }

  onRegistered(comm: CommHandle, mhandle: MemoryHandle): void {
    this.#get(comm).registered.add(mhandle);
  }

  beforeRegister(comm: CommHandle): void {
    this.#get(comm);
  }

  onDeregister(comm: CommHandle, mhandle: MemoryHandle): void {
    assert(this.#get(comm).registered.delete(mhandle), 'what is deregistered was registered');
  }

  beforePost(comm: CommHandle, isSend: boolean, mhandle: MemoryHandle): void {
    const state = this.#get(comm);
    assert(state.isSend === isSend, 'a send comm sends, a receive comm receives');
    assert(state.registered.has(mhandle), 'memory is registered with the comm');
    assert(state.posted - state.consumed < REQUEST_POOL, 'the pool of 16 has a free request');
  }

  onPosted(comm: CommHandle, request: RequestHandle): void {
    const state = this.#get(comm);
    state.requests[state.posted % REQUEST_POOL] = request;
    state.posted++;
  }

  isSend(comm: CommHandle): boolean {
    return this.#get(comm).isSend;
  }

  beforeTest(comm: CommHandle, request: RequestHandle): void {
    const state = this.#get(comm);
    assert(state.done < state.posted, 'a request is outstanding');
    assert(state.requests[state.done % REQUEST_POOL] === request, 'the oldest request is tested');
  }

  onDone(comm: CommHandle): void {
    const state = this.#get(comm);
    state.done++;
    if (state.isSend) state.consumed = state.done;
  }

  beforeConsume(comm: CommHandle, request: RequestHandle): void {
    const state = this.#get(comm);
    assert(!state.isSend, 'only receives are consumed');
    assert(state.consumed < state.done, 'consumed after done');
    const oldest = state.requests[state.consumed % REQUEST_POOL];
    assert(oldest === request, 'receives are consumed in order');
    state.consumed++;
  }

  onClose(comm: CommHandle, isSend: boolean): void {
    assert(this.#get(comm).isSend === isSend, 'a comm is closed as what it is');
    this.#comms.delete(comm);
  }

  onCloseListen(listenComm: CommHandle): void {
    const state = this.#listens.get(listenComm);
    assert(state !== undefined, 'a listen comm is closed once');
    // The plugin's accept thread goes on to use its memory; such a process is ended instead.
    assert(state !== 'accepting', 'a listen comm is not closed during accept');
    this.#listens.delete(listenComm);
  }

  #add(comm: CommHandle, isSend: boolean): void {
    this.#comms.set(comm, {
      isSend,
      registered: new Set(),
      requests: new Float64Array(REQUEST_POOL),
      posted: 0,
      done: 0,
      consumed: 0,
    });
  }

  #get(comm: CommHandle): Comm {
    const state = this.#comms.get(comm);
    assert(state !== undefined, 'the comm is connected and not closed');
    return state;
  }
}
