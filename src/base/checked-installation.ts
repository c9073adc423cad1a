// Imported first by each door of the package: throws where nothing behind it could work.

import { installationFacts, installationProblem } from './installation.js';

// Undefined in what a bundler makes of it for CommonJS, whatever the types say.
const moduleUrl = import.meta.url as string | undefined;
const problem = installationProblem(installationFacts(moduleUrl));
if (problem !== undefined) throw problem;
