// Words and promises about the beginning and the end of an epoch. Pure.

import { TcpxError } from '../../base/errors.js';

export interface Pending {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: TcpxError): void;
}

export function pending(): Pending {
  let resolve: () => void = () => undefined;
  let reject: (error: TcpxError) => void = () => undefined;
  const promise = new Promise<void>((onGood, onBad) => {
    resolve = onGood;
    reject = onBad;
  });
  promise.catch(() => undefined);
  return { promise, resolve: () => resolve(), reject: (error) => reject(error) };
}

export function differs(name: string, own: unknown, theirs: unknown): string {
  return own === theirs ? '' : `${name} (${String(own)} here, ${String(theirs)} there)`;
}

/**
 * The error of an epoch's end with what both ends know: the peer may have seen our sockets close
 * before we knew of the end of our own process. `detail` is undefined where it did not confirm.
 */
export function describeDown(
  error: TcpxError,
  ownDeaths: string,
  detail: string | undefined,
): TcpxError {
  const [, news = ''] = withNews(error.message, ownDeaths);
  const here = news === '' ? '' : `; here: ${news}`;
  const [, said = ''] = withNews(error.message, detail ?? '');
  const there = said === '' ? '' : `; at the peer: ${said}`;
  const facts = { ...error.facts, isFenced: detail !== undefined };
  return new TcpxError(error.code, `${error.message}${here}${there}`, { facts, cause: error });
}

/** A text, and another one where it says something that the first does not. */
export function withNews(text: string, news: string): string[] {
  return news === '' || text.includes(news) ? [text] : [text, news];
}

/**
 * What a transfer is told of an epoch that has ended, or could not be set up: channels are lost,
 * which is less than a peer, and a cancel is its owner's alone.
 */
export function toldOf(error: TcpxError): TcpxError {
  const { code, message, facts } = error;
  if (code !== 'ERR_PEER_LOST' && code !== 'ERR_XFER_CANCELLED') return error;
  return new TcpxError('ERR_XFER_FAILED', message, { facts, cause: error });
}

/** A peer that has ended is known to have, by its control connection, within this time. */
const PEER_END_MS = 1000;
/** A peer that closes its session says so before it fences; both may be read in either order. */
const GOODBYE_MS = 100;

/** How long the session may still end for the loss of an epoch, which is then the cause. */
export function sessionEndMs(error: TcpxError): number {
  if (error.code !== 'ERR_PEER_LOST') return 0;
  return isFenced(error) ? GOODBYE_MS : PEER_END_MS;
}

/** Whether the peer has confirmed that nothing of the epoch lands there any more. */
export function isFenced({ facts }: TcpxError): boolean {
  return facts['isFenced'] === true;
}

/** Why a session ends whose peer never says that it is fenced. */
export function unfencedError(peer: string, error: TcpxError): TcpxError {
  const text = `${peer} does not confirm that nothing lands any more after: ${error.message}`;
  return new TcpxError('ERR_PEER_TIMEOUT', text, { cause: error });
}
