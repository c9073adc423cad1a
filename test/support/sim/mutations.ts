// Faults in the engine itself, made on purpose: each breaks one promise, and the simulation must
// notice. They change what a machine's main thread tells its lanes or its peer, never the product's
// code.

import type { Channel } from '../../../src/provider/tcp/lane/channel.js';
import {
  COMMAND_SETTLE_CHANNEL,
  EVENT_CHANNEL_DOWN,
} from '../../../src/provider/tcp/lane/messages.js';
import type { MatchHandler } from '../../../src/provider/tcpx/match-connection.js';
import { ControlKind, NONCE_BYTES } from '../../../src/wire/control-frame.js';
import {
  decodeMatchHead,
  encodeMatch,
  MatchFlag,
  MatchKind,
} from '../../../src/wire/match-frame.js';
import type { Machine } from './sim-job.js';

type Mutation = (machine: Machine) => void;

/** Chunks of a lost channel go elsewhere at once: the peer is not told to close its end first. */
const resendUnfenced: Mutation = ({ node }) => {
  node.transfers.postSignal = () => undefined;
  node.onLaneEvent = (kind, at) => {
    if (kind !== EVENT_CHANNEL_DOWN) return;
    const [session = 0, channel = 0, epoch = 0] = node.lanes.shared.int32.subarray(at >> 2);
    const lane = node.sessions.at(session)?.recovery.book.lane(channel) ?? 0;
    const parked = parkedChannel(node, lane, [session, channel, epoch]);
    if (parked === undefined) return;
    const words = [session, channel, epoch, parked.writes.acked, 0, 0];
    node.lanes.command(lane, COMMAND_SETTLE_CHANNEL, words);
  };
};

/** Whatever was not acknowledged is sent again, also what the peer says has landed. */
const resendLanded: Mutation = ({ node }) => {
  onSettle(node, (lane, words) => {
    const parked = parkedChannel(node, lane, words);
    const [session = 0, channel = 0, epoch = 0, landed = 0, ...rest] = words;
    return [session, channel, epoch, parked?.writes.acked ?? landed, ...rest];
  });
};

/** A refusal whose frame died with its channel is not heard of. */
const loseRefusals: Mutation = ({ node }) => {
  onSettle(node, (_, words) => [...words.slice(0, 5), 0]);
};

/** A server whose last connection is gone does not ask for another. */
const askNobody: Mutation = ({ node }) => {
  const add = node.controls.add.bind(node.controls);
  node.controls.add = (control) => {
    const send = control.send.bind(control);
    control.send = (message) => {
      if (message.kind !== ControlKind.Redial) send(message);
    };
    return add(control);
  };
};

/** No kernel looks whether a quiet control connection is dead. */
const trustSilence: Mutation = ({ node }) => {
  const add = node.controls.add.bind(node.controls);
  node.controls.add = (control) => {
    const handOver = control.handOver.bind(control);
    control.handOver = (onMessage, onFailure) =>
      handOver(onMessage, onFailure, Number.POSITIVE_INFINITY);
    return add(control);
  };
};

/** A server challenges everybody with the same nonce: what it was told once can be said again. */
const reuseNonces: Mutation = ({ node }) => {
  const draw = node.peers.randomBytes.bind(node.peers);
  node.peers.randomBytes = (count) => (count === NONCE_BYTES ? new Uint8Array(count) : draw(count));
};

/** A server takes every ATTACH with a right proof, however old. */
const forgetEpochs: Mutation = ({ node }) => {
  node.sessions.makeRoom = (session, channel) => session.recovery.clear(channel);
  node.sessions.hasRoom = () => true;
};

/** A server goes on with other settings than it has told its client. */
const agreeOtherwise: Mutation = ({ node }) => {
  const create = node.sessions.create.bind(node.sessions);
  node.sessions.create = (made) => {
    if (made.role === 'client') return create(made);
    const windowChunks = made.agreement.windowChunks + 1;
    return create({ ...made, agreement: { ...made.agreement, windowChunks } });
  };
};

/** Signs of life are taken for progress: nobody looks at what a peer has confirmed. */
const believeLife: Mutation = ({ node }) => {
  const add = node.sessions.addChannel.bind(node.sessions);
  node.sessions.addChannel = (session, channel) => {
    session.progress.look = () => undefined;
    return add(session, channel);
  };
};

/** A deadline is passed on to the lanes, and its owner waits for them. */
const softDeadlines: Mutation = ({ node }) => {
  const after = node.transfers.after.bind(node.transfers);
  node.transfers.after = (delayMs, act) => after(delayMs + 500, act);
};

/** What is received through a plugin is confirmed as soon as its receives are posted. */
const confirmEarly: Mutation = ({ node }) => {
  pluginOf(node).onCarrier = ({ deck, epochs }) => {
    const receive = deck.receive.bind(deck);
    deck.receive = (kind, ...rest) => {
      const flight = receive(kind, ...rest);
      const flags = kind.operation === 'read' ? MatchFlag.Read : 0;
      const { transfer } = kind;
      const landed = { kind: MatchKind.Landed, flags, transfer, tag: flight.lastTag };
      if (kind.isRefused !== true) epochs.send(encodeMatch(landed));
      return flight;
    };
  };
};

/** An end says that nothing of an epoch lands any more while its channels still close. */
const fenceEarly: Mutation = ({ node }) => {
  pluginOf(node).onChannel = (channel) => {
    const close = channel.close.bind(channel);
    channel.close = (timeoutMs) => {
      void close(timeoutMs);
      return Promise.resolve();
    };
  };
};

/** Frames that come late, on the connection of an epoch that is over, count for the next. */
const mixEpochs: Mutation = ({ node }) => {
  let latest: MatchHandler | undefined;
  node.onMatch = (handler) => {
    latest = handler;
    return {
      onFrame: (frame) => (latest ?? handler).onFrame(frame),
      onEnd: (error) => handler.onEnd(error),
    };
  };
};

/** A server admits a match connection of any epoch, however old. */
const forgetMatchEpochs: Mutation = ({ node }) => {
  pluginOf(node).onCarrier = ({ epochs }) => {
    const makeRoom = epochs.makeRoom.bind(epochs);
    epochs.makeRoom = async (epoch) => {
      if (epoch > epochs.epoch) await makeRoom(epoch);
    };
  };
};

/** Every word about a transfer of the peer's is said twice. */
const answerTwice: Mutation = ({ node }) => {
  pluginOf(node).onCarrier = ({ epochs }) => {
    const send = epochs.send.bind(epochs);
    const answers: readonly number[] = [MatchKind.Go, MatchKind.Landed];
    epochs.send = (frame) => {
      send(frame);
      if (answers.includes(decodeMatchHead(frame).kind)) send(frame);
    };
  };
};

/** Regions that a peer was let into are free at once, although a plugin still uses them. */
const leaveEarly: Mutation = ({ node }) => {
  pluginOf(node).onHost = (host) => ({
    ...host,
    enter: (...access) => {
      host.leave(host.enter(...access));
      return [];
    },
  });
};

/** A notification is told when its data is announced. */
const notifyEarly: Mutation = ({ node }) => {
  let deliver: (bytes: Uint8Array) => void = () => undefined;
  const plugin = pluginOf(node);
  plugin.onHost = (host) => {
    deliver = (bytes) => host.deliver(bytes);
    return host;
  };
  plugin.onCarrier = ({ deck }) => {
    const told = deliver;
    const receive = deck.receive.bind(deck);
    deck.receive = ({ notify, ...kind }, ...rest) => {
      if (notify !== undefined) told(notify);
      return receive(kind, ...rest);
    };
  };
};

/** What has been received stays on the deck. */
const keepFlights: Mutation = ({ node }) => {
  pluginOf(node).onCarrier = ({ deck }) => {
    const remove = deck.remove.bind(deck);
    deck.remove = (flight) => {
      if (flight.kind.role === 'send') remove(flight);
    };
  };
};

export const MUTATIONS = {
  resendUnfenced,
  resendLanded,
  loseRefusals,
  askNobody,
  trustSilence,
  reuseNonces,
  forgetEpochs,
  agreeOtherwise,
  believeLife,
  softDeadlines,
  confirmEarly,
  fenceEarly,
  mixEpochs,
  forgetMatchEpochs,
  answerTwice,
  leaveEarly,
  notifyEarly,
  keepFlights,
} as const;

function pluginOf(node: Machine['node']): NonNullable<Machine['node']['plugin']> {
  if (node.plugin === undefined) throw new Error('the machine has no plugin');
  return node.plugin;
}

function onSettle(
  node: Machine['node'],
  change: (lane: number, words: readonly number[]) => readonly number[],
): void {
  const command = node.lanes.command.bind(node.lanes);
  node.lanes.command = (lane, kind, words) => {
    command(lane, kind, kind === COMMAND_SETTLE_CHANNEL ? change(lane, words) : words);
  };
}

function parkedChannel(
  node: Machine['node'],
  lane: number,
  [session, channel, epoch]: readonly number[],
): Channel | undefined {
  return node.lanes.inline[lane]?.core.parked.find(
    (one) => one.sessionIndex === session && one.channelIndex === channel && one.epoch === epoch,
  );
}
