// The last step of the build: deletes what dist/ still holds of sources that are gone.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot, walk } from './repository.js';
import { staleOutputs } from './suite/compiled.js';
import { sourcePaths } from './suite/source-paths.js';

for (const path of staleOutputs(walk(repositoryRoot, 'dist'), sourcePaths(repositoryRoot))) {
  rmSync(join(repositoryRoot, path));
}
