// The table of commands: what is asked for by a name is the command of that name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMAND_LOADERS } from './command-loaders.js';

test('commands: each loader gives the command of its name', async () => {
  for (const [name, load] of Object.entries(COMMAND_LOADERS)) {
    assert.equal((await load()).name, name);
  }
});
