// What is said of the end of a session: in the log, and to the peer that caused it.

import type { Clock } from '../base/clock.js';
import type { TcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import type { LiveSession } from './live-session.js';

export class SessionEndLog {
  readonly #log: Log;
  readonly #broken: LimitedLog;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#broken = new LimitedLog(log, clock);
  }

  // A peer that breaks a rule is somebody's fault, and one that may do so again and again.
  closing({ peer }: LiveSession, error: TcpxError): void {
    const fields = { peer, code: error.code, reason: error.message };
    if (isRuleBroken(error)) this.#broken.warn('session closing', fields);
    else this.#log.info('session closing', fields);
  }
}

/** Otherwise the peer would see its connections end, and not know what it did. */
export function tellRuleBroken(session: LiveSession, error: TcpxError): void {
  if (!isRuleBroken(error)) return;
  // Who we are, it knows.
  session.sayGoodbye(`${error.code}: ${error.message.replaceAll(session.peer, 'you')}`);
}

function isRuleBroken({ code }: TcpxError): boolean {
  return code.startsWith('ERR_WIRE_');
}
