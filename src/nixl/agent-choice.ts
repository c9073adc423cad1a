// What calls of an agent can be given beside their subject.

import type { BackendParams } from './backend.js';
import type { BackendHandle } from './backend-handle.js';
import type { MemType } from './memory-type.js';

/** Which backends a call may use; all where it says nothing. */
export interface BackendChoice {
  /** Handles from `createBackend`. */
  readonly backends?: readonly BackendHandle[];
}

/** How a wait can be ended. */
export interface WaitOptions {
  /** Ends the wait with an `AbortError` whose cause is the signal's reason. */
  readonly signal?: AbortSignal;
}

/** How long to wait for a connection, and over which backends it is made. */
export interface ConnectionChoice extends BackendChoice, WaitOptions {
  /** Time after which it is `ERR_PEER_TIMEOUT`, in ms; none unless given. */
  readonly timeoutMs?: number;
}

/** How a message is recognised. */
export interface TagOptions extends BackendChoice {
  /** Whether the message begins with the tag, which it does unless told; else it holds it. */
  readonly tagIsPrefix?: boolean;
}

/** What a backend can do, and how it is set. */
export interface BackendDescription {
  /** Memory that it can move. */
  readonly memTypes: readonly MemType[];
  /** Its parameters by name; those that may be secret are there, and nothing prints them. */
  readonly params: BackendParams;
}
