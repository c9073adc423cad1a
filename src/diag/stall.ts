// Which chunk stood still: calls of both ends joined by tag. A chunk is posted, done, and at the
// receiver consumed; the first that stopped on the way is named, with what the other end did of it.
// Pure.

/** One call about one chunk, at one end. */
export interface ChunkCall {
  readonly role: 'send' | 'receive';
  readonly step: 'posted' | 'done' | 'consumed';
  readonly channel: string;
  readonly tag: string;
  readonly chunk: number | undefined;
  readonly bytes: number | undefined;
  readonly offset: number | undefined;
  readonly timeUs: number;
}

export type StallVerdict =
  | 'receiver never posted it'
  | 'sender never posted it'
  | 'both posted it, it never arrived'
  | 'it arrived and was never consumed'
  | 'the sender never saw it complete'
  | 'the other end is not known';

export interface StalledChunk {
  readonly tag: string;
  readonly channel: string;
  readonly chunk: number | undefined;
  readonly bytes: number | undefined;
  readonly offset: number | undefined;
  readonly sender: ChunkStep;
  readonly receiver: ChunkStep;
  readonly verdict: StallVerdict;
  readonly lastUs: number;
}

export type ChunkStep = 'not posted' | 'posted' | 'done' | 'consumed' | 'no trace';

export interface StallReport {
  readonly chunkCount: number;
  readonly finishedCount: number;
  /** In the order in which they were posted. */
  readonly stalled: readonly StalledChunk[];
  /** Receives posted and not consumed at the end, the most on one channel. */
  readonly unconsumedMax: number;
  /** Tags that more than one chunk of a channel had: such chunks cannot be told apart. */
  readonly reusedTags: readonly string[];
}

const RANK: Readonly<Record<ChunkCall['step'], number>> = { posted: 1, done: 2, consumed: 3 };
/** A connection of the plugin has this many requests. */
export const POOL_SIZE = 16;

interface Chunk {
  readonly first: ChunkCall;
  lastUs: number;
  readonly step: Record<ChunkCall['role'], number>;
  readonly posts: Record<ChunkCall['role'], number>;
  readonly known: Partial<Pick<ChunkCall, 'chunk' | 'bytes' | 'offset'>>;
}

export function findStall(calls: readonly ChunkCall[]): StallReport {
  const chunks = new Map<string, Chunk>();
  for (const call of calls) takeCall(chunks, call);
  const hasRole = (role: ChunkCall['role']) => calls.some((call) => call.role === role);
  const isKnown = { send: hasRole('send'), receive: hasRole('receive') };
  const all = [...chunks.values()];
  const stalled = all.filter((chunk) => !isFinished(chunk, isKnown));
  return {
    chunkCount: all.length,
    finishedCount: all.length - stalled.length,
    stalled: stalled.map((chunk) => describe(chunk, isKnown)),
    unconsumedMax: mostUnconsumed(all),
    reusedTags: all
      .filter(({ posts }) => posts.send > 1 || posts.receive > 1)
      .map(({ first }) => first.tag),
  };
}

function takeCall(chunks: Map<string, Chunk>, call: ChunkCall): void {
  const chunk: Chunk = chunks.get(call.tag) ?? {
    first: call,
    lastUs: call.timeUs,
    step: { send: 0, receive: 0 },
    posts: { send: 0, receive: 0 },
    known: {},
  };
  chunks.set(call.tag, chunk);
  if (call.step === 'posted') chunk.posts[call.role]++;
  chunk.step[call.role] = Math.max(chunk.step[call.role], RANK[call.step]);
  chunk.lastUs = Math.max(chunk.lastUs, call.timeUs);
  const { chunk: index, bytes, offset } = call;
  Object.assign(chunk.known, {
    chunk: chunk.known.chunk ?? index,
    bytes: chunk.known.bytes ?? bytes,
    offset: chunk.known.offset ?? offset,
  });
}

interface KnownEnds {
  readonly send: boolean;
  readonly receive: boolean;
}

function isFinished({ step }: Chunk, isKnown: KnownEnds): boolean {
  const isSent = !isKnown.send || step.send >= RANK.done;
  return isSent && (!isKnown.receive || step.receive >= RANK.consumed);
}

function stepName(rank: number, isKnown: boolean): ChunkStep {
  if (!isKnown) return 'no trace';
  return (['not posted', 'posted', 'done', 'consumed'] as const)[rank] ?? 'consumed';
}

function describe(chunk: Chunk, isKnown: KnownEnds): StalledChunk {
  const { first, step, known, lastUs } = chunk;
  return {
    tag: first.tag,
    channel: first.channel,
    chunk: known.chunk,
    bytes: known.bytes,
    offset: known.offset,
    sender: stepName(step.send, isKnown.send),
    receiver: stepName(step.receive, isKnown.receive),
    verdict: verdictOf(step, isKnown),
    lastUs,
  };
}

function verdictOf(step: Chunk['step'], isKnown: KnownEnds): StallVerdict {
  if (isKnown.receive && step.receive === RANK.done) return 'it arrived and was never consumed';
  if (!isKnown.send || !isKnown.receive) return 'the other end is not known';
  if (step.receive === 0) return 'receiver never posted it';
  if (step.send === 0) return 'sender never posted it';
  if (step.receive >= RANK.consumed) return 'the sender never saw it complete';
  return 'both posted it, it never arrived';
}

function mostUnconsumed(chunks: readonly Chunk[]): number {
  const byChannel = new Map<string, number>();
  for (const { first, step } of chunks) {
    if (step.receive === 0 || step.receive >= RANK.consumed) continue;
    byChannel.set(first.channel, (byChannel.get(first.channel) ?? 0) + 1);
  }
  return Math.max(0, ...byChannel.values());
}
