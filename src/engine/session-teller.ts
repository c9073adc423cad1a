// What the recovery of a session tells whoever listens to the session.

import type { LiveSession } from './live-session.js';
import type { RecoveryHost } from './recovery-host.js';

type Teller = Pick<RecoveryHost, 'tellChannel' | 'tellFailover'>;

export function tellerOf({ events, facts }: LiveSession): Teller {
  const nicOf = (channel: number): string => facts.nics[channel] ?? '';
  return {
    tellChannel: (channel, state) =>
      events.tell('channel', { channel, nic: nicOf(channel), state }),
    tellFailover: (channel, reason) =>
      events.tell('failover', { channel, nic: nicOf(channel), reason }),
  };
}
