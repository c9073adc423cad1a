// The mesh at its full shape, which takes minutes on two cores: 2 nodes × 4 workers over four
// links, all 32 pairs, over both providers, with a process for each GPU; `npm run test:big`.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { emulatorPath, requireNative } from '../native/plugin-environment.js';
import { netLabObstacle, openNetLab } from '../support/net-lab.js';
import { emulatorOnLinks, meshInLab, sentOverLink } from './mesh-lab.js';

const SHAPE = ['--size', '8M', '--iters', '5', '--warmup', '1', '--lanes', '1'];
const folder = mkdtempSync(join(tmpdir(), 'tcpx-mesh-big-'));
after(() => rmSync(folder, { recursive: true, force: true }));

for (const provider of ['tcp', 'tcpx']) {
  test(`mesh: 2 × 4 workers over four links, ${provider}`, async (t) => {
    const obstacle = netLabObstacle();
    if (obstacle !== undefined) {
      t.skip(obstacle);
      return;
    }
    requireNative();
    const lab = openNetLab([0, 0, 0, 0]);
    t.after(() => lab.close());
    const variables = emulatorOnLinks(folder);
    const words = [...SHAPE, '--provider', provider, '--plugin', emulatorPath, '--sockets', '1'];
    const before = lab.links.map((link) => sentOverLink(lab, link));
    const { mesh } = await meshInLab(lab, folder, words, variables);
    assert.deepEqual([mesh.ok, mesh.pairs.length, mesh.rounds.length], [true, 32, 4]);
    for (const { verified } of mesh.runs) assert.equal(verified.mismatches, 0);
    // Each link carries eight pairs of eight, warm-up included, and headers.
    const payload = 8 * 6 * 8 * 1024 * 1024;
    for (const [index, link] of lab.links.entries()) {
      const bytes = sentOverLink(lab, link) - (before[index] ?? 0);
      assert.ok(bytes > payload && bytes < 1.05 * payload, `${bytes} of ${payload}`);
    }
  });
}
