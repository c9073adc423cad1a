import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSessionState, SessionState } from './session-state.js';

const ALLOWED = ['attaching>ready', 'attaching>closing', 'ready>closing', 'closing>closed'];

test('session state: exactly the transitions of the table are possible', () => {
  for (const from of Object.values(SessionState)) {
    for (const to of Object.values(SessionState)) {
      if (ALLOWED.includes(`${from}>${to}`)) assert.equal(nextSessionState(from, to), to);
      else assert.throws(() => nextSessionState(from, to), new RegExp(`from ${from} to ${to}`));
    }
  }
});
