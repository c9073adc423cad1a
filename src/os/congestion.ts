// The congestion control of a connection, by its name in the kernel.

import { checkCall } from '../ffi/libc/library.js';
import { IPPROTO_TCP, setSocketText, TCP_CONGESTION } from '../ffi/libc/socket.js';

/**
 * Before the connection exists, so of a listener for those that it accepts: a connection that has
 * begun with BBR is paced by timers for the rest of its life, whatever it is told later.
 */
export function setCongestion(fd: number, name: string): void {
  if (name === '') return;
  checkCall(
    'setsockopt TCP_CONGESTION',
    name,
    setSocketText(fd, IPPROTO_TCP, TCP_CONGESTION, name),
  );
}
