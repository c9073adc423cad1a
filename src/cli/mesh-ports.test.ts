// The ports of a mesh, up to the last that there is.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { benchMeshCommand } from './commands/bench-mesh.js';
import { parseInvocation } from './invocation.js';
import { meshPlace } from './mesh-place.js';
import { checkMeetingPort, checkWorkerPorts, meetingPort, workerPort } from './mesh-ports.js';
import { meshRole } from './mesh-role.js';

const EIGHT = [0, 1, 2, 3, 4, 5, 6, 7];
const invoke = (...words: string[]) => parseInvocation(benchMeshCommand, words);
const beyond = (port: number, most: number) =>
  withCode('ERR_USAGE_ARGUMENT', new RegExp(`would listen on ${port}, .*: ${most} or less$`));

describe('ports of a mesh', () => {
  test('eight GPUs have a port each, apart from where rank 0 is met', () => {
    const ports = EIGHT.map((gpu) => workerPort(20_000, gpu));
    assert.deepEqual(ports, [20_000, 20_001, 20_002, 20_003, 20_004, 20_005, 20_006, 20_007]);
    assert.equal(meetingPort(20_000), 20_064);
    assert.deepEqual([workerPort(0, 7), meetingPort(0)], [0, 0], 'the kernel chooses');
  });

  test('a base is refused where the last GPU would be beyond the last port, and says so', () => {
    const check = (base: number, gpus: readonly number[]) => () =>
      checkWorkerPorts(benchMeshCommand, base, gpus);
    check(65_535 - 7, EIGHT)();
    assert.throws(check(65_535 - 6, EIGHT), beyond(65_536, 65_528));
    // Of this process, in any order: other GPUs are those of other processes.
    check(65_535, [0])();
    assert.throws(check(65_535, [7, 0]), beyond(65_542, 65_528));
    checkMeetingPort(benchMeshCommand, 65_471);
    assert.throws(() => checkMeetingPort(benchMeshCommand, 65_472), beyond(65_536, 65_471));
  });

  test('as the command: alone it has those of workers, with others one to meet at', async () => {
    const nobody = (...words: string[]) => meshPlace(benchMeshCommand, invoke(...words));
    await nobody('--port', '65528');
    const two = ['--rank', '0', '--ranks', '2', '--port', '65472'];
    const met = ['--rendezvous', '127.0.0.1'];
    await assert.rejects(nobody(...two, ...met), beyond(65_536, 65_471));
    const { rendezvous } = await nobody(...two, '--rendezvous', '127.0.0.1:99');
    assert.deepEqual(rendezvous, { kind: 'host', host: '127.0.0.1', port: 99 });
  });

  for (const words of [['server'], ['client', '10.0.0.2']] as const) {
    test(`${words[0]}: a base without room, and none, before anything is printed`, () => {
      const role = (port: string) => () =>
        meshRole(benchMeshCommand, invoke(...words, '--port', port));
      assert.equal(role('65471')()?.name, words[0]);
      assert.throws(role('65472'), beyond(65_536, 65_471));
      assert.throws(role('0'), withCode('ERR_USAGE_ARGUMENT', /--port 0: /));
    });
  }
});
