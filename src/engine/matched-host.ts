// The engine as the host of a session's matched carrier.

import type { TcpxError } from '../base/errors.js';
import type { RegionTable } from '../memory/region-table.js';
import type { TransferTable } from '../provider/tcp/transfer-table.js';
import type { MatchedHost } from '../provider/tcpx/matched-host.js';
import type { MatchedProvider } from '../provider/tcpx/matched-provider.js';
import { MATCH_INDEX } from '../wire/control-frame.js';
import type { LiveSession } from './live-session.js';
import { type PeerNotification, ReceivedNotification } from './notification.js';
import { enterRegions, leaveRegions } from './region-entry.js';
import type { ConnectMatch } from './session-surroundings.js';
import type { SessionTable } from './session-table.js';
import type { Transfers } from './transfers.js';

export interface MatchedHostParts {
  readonly tcpx: Pick<MatchedProvider, 'regions' | 'hasHappened'>;
  readonly sessions: SessionTable;
  readonly transfers: Transfers;
  readonly table: TransferTable;
  readonly regionTable: RegionTable;
  after(delayMs: number, act: () => void): () => void;
  /** Once it is false the tables are gone, and what is left of a session must not touch them. */
  isOpen(): boolean;
  /** Told in one line with those that come by lanes. */
  onNotification(notification: PeerNotification): void;
  /** Something has finished or come. */
  onActivity(): void;
}

export function matchedHost(
  parts: MatchedHostParts,
  session: LiveSession,
  connect: ConnectMatch | undefined,
): MatchedHost {
  const { tcpx, sessions, transfers, table, regionTable } = parts;
  return {
    regions: tcpx.regions,
    connect,
    askAgain: (epoch) => session.askRedial(MATCH_INDEX, epoch),
    closeSession: (error: TcpxError) => sessions.close(session, error),
    after: (delayMs, act) => parts.after(delayMs, act),
    openSlot: (chunkCount) => table.allocateForeign(session.facts.index, chunkCount),
    finish: (slot, generation) => {
      if (!parts.isOpen()) return;
      transfers.onFinished(slot, generation);
      parts.onActivity();
    },
    deliver: (bytes) => {
      if (!parts.isOpen()) return;
      parts.onNotification(new ReceivedNotification(session.face, bytes));
      parts.onActivity();
    },
    notify: (bytes) => transfers.postNotification(session, bytes).done,
    hasHappened: (event) => tcpx.hasHappened(event),
    enter: (regions, ends, right) => enterRegions(regionTable, regions, ends, right),
    leave: (entered) => {
      if (parts.isOpen()) leaveRegions(regionTable, entered);
    },
  };
}
