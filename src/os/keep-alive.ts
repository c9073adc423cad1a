// Finds out that a quiet connection is dead. Its kernel asks the peer's kernel now and then: no
// program has to answer, so a stopped process or a busy thread at either end gives no alarm.

import {
  IPPROTO_TCP,
  SO_KEEPALIVE,
  SOL_SOCKET,
  setSocketNumber,
  TCP_KEEPIDLE,
  TCP_KEEPINTVL,
  TCP_USER_TIMEOUT,
} from '../ffi/libc/socket.js';

/** Questions within the time: one that gets lost must not cost the connection. */
const PROBES = 3;

/** Seconds between two questions: the kernel takes no fractions. */
export function probeSeconds(silentMs: number): number {
  return Math.max(1, Math.floor(silentMs / PROBES / 1000));
}

/**
 * The connection fails when the peer's kernel has not answered for this long: at the first
 * question after it, or earlier by the timer of what was sent. A peer that has forgotten it answers
 * by a reset.
 */
export function keepAlive(fd: number, silentMs: number): void {
  const seconds = probeSeconds(silentMs);
  setSocketNumber(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  setSocketNumber(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  // It also takes the place of a count of questions.
  setSocketNumber(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, silentMs);
  setSocketNumber(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}
