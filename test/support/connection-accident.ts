// Accidents of the connections of a session between two engines of this process.

import { ControlChannel } from '../../src/engine/control-channel.js';
import type { Session } from '../../src/engine/session.js';
import { liveSession } from '../../src/engine/session-face.js';
import { breakSocket, deafenSocket, undeafenSocket } from '../../src/ffi/libc/socket-accident.js';

export function controlFd(session: Session): number {
  const { control } = liveSession(session);
  if (control instanceof ControlChannel) return control.socket.fd;
  throw new Error('not a socket');
}

function channelFds(session: Session): number[] {
  return liveSession(session).sockets.flatMap((socket) =>
    socket === undefined ? [] : [socket.fd],
  );
}

/** Nothing gets through on the control connection any more, and nobody is told. */
export function silenceControl(...ends: readonly Session[]): void {
  for (const session of ends) deafenSocket(controlFd(session));
}

/** The kernel at `end` has given up every connection; the other end has not heard of it. */
export async function breakAlone(
  end: Session,
  other: Session,
  isKnown: () => Promise<void>,
): Promise<void> {
  const otherFds = [controlFd(other), ...channelFds(other)];
  for (const fd of otherFds) deafenSocket(fd);
  for (const fd of [controlFd(end), ...channelFds(end)]) breakSocket(fd);
  await isKnown();
  for (const fd of otherFds) undeafenSocket(fd);
}
