// What a handshake hands over: a session that both ends agree on, and connections that belong to
// it.

import type { ChannelIndex, Epoch } from '../base/quantity.js';
import type { SocketIdentity } from '../os/connection-counters.js';
import type { LateChannels } from '../provider/tcp/channel-plan.js';
import type { ShmLink } from '../provider/tcp/shm/shm-link.js';
import type { OpenMatch } from '../provider/tcpx/match-connection.js';
import type { Agreement } from '../wire/control-frame.js';
import type { PeerTerms } from './choices.js';
import type { SessionControl } from './control-keeper.js';
import type { LiveSession } from './live-session.js';
import type { ProviderChoice } from './provider-choice.js';
import type { RedialOutcome } from './recovery-host.js';
import type { ConnectWait } from './session.js';
import type { SharingChoice } from './session-sharing.js';

/** `isPatient` as at the first connect where it is not given. */
export type Reconnect = (
  wait: ConnectWait & { readonly isPatient?: boolean },
) => Promise<LiveSession>;

export interface NewSession {
  /** Number that the server chose, known to both ends. */
  readonly id: number;
  /** Which end this is: the one that was called, or the one that calls. */
  readonly role: 'server' | 'client';
  readonly peerName: string;
  readonly peerGeneration: Uint8Array;
  readonly agreement: Agreement;
  readonly key: Uint8Array;
  readonly control: SessionControl;
  /** How far the peer is, and what that has changed. */
  readonly terms: PeerTerms;
  readonly choice: ProviderChoice;
  readonly sharing: SharingChoice;
  /** Whether frames of its channels carry checks. */
  readonly isChecked: boolean;
  readonly late: LateChannels;
  /** The client's way to a match connection. */
  readonly connectMatch?: (session: LiveSession, epoch: Epoch) => Promise<OpenMatch>;
  /** The client's way to the same peer, once the session has ended. */
  readonly reconnect?: Reconnect;
  /** The client's way to attach a channel anew. */
  readonly redial?: (
    session: LiveSession,
    channel: ChannelIndex,
    epoch: Epoch,
  ) => Promise<RedialOutcome>;
  /** The client's way to a control connection that follows a lost one. */
  readonly attachControl?: (session: LiveSession, epoch: Epoch) => Promise<RedialOutcome>;
}

/** A data connection that has proved itself. */
export interface NewChannel {
  readonly channel: ChannelIndex;
  readonly epoch: Epoch;
  readonly fd: number;
  readonly nic: string;
  /** Where its bytes go instead of through the socket. */
  readonly link?: ShmLink | undefined;
  readonly socket?: SocketIdentity;
}
