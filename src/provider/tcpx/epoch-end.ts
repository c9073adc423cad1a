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
  const isNews = ownDeaths !== '' && !error.message.includes(ownDeaths);
  const here = isNews ? `; here: ${ownDeaths}` : '';
  const there = detail === undefined || detail === '' ? '' : `; at the peer: ${detail}`;
  const facts = { ...error.facts, isFenced: detail !== undefined };
  return new TcpxError(error.code, `${error.message}${here}${there}`, { facts, cause: error });
}
