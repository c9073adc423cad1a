// What a connection that was accepted is for: its first message says so. Pure.

import { assert } from '../base/assert.js';
import { ControlKind, type ControlMessage, type MessageOf } from '../wire/control-frame.js';
import { Exchange, type Outcome } from './exchange.js';

/** A new session, or one that exists. */
type FirstMessage = MessageOf<typeof ControlKind.Hello> | MessageOf<typeof ControlKind.Attach>;

export class Opening extends Exchange<FirstMessage> {
  protected override begin(): Outcome<FirstMessage> {
    return { send: [], due: [ControlKind.Hello, ControlKind.Attach] };
  }

  protected override hear(message: ControlMessage): Outcome<FirstMessage> {
    const isFirst = message.kind === ControlKind.Hello || message.kind === ControlKind.Attach;
    assert(isFirst, 'HELLO or ATTACH is due');
    return { send: [], result: message };
  }
}
