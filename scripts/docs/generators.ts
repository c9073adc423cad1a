// Every generated page and block. A new one is a render function and a line here.

import { renderCommands } from './commands.js';
import { renderConfiguration } from './configuration.js';
import { renderDiagnostics, renderRunRules } from './diagnostics.js';
import { renderErrors, renderTroubleshooting } from './errors.js';
import type { Generator } from './generator.js';
import { renderLayers } from './layers.js';
import { renderLimits } from './limits.js';
import { renderManPage } from './man-page.js';
import { renderFrames } from './protocol.js';
import { renderPublicNames } from './public-names.js';
import { renderRefusals } from './refusals.js';
import {
  renderServiceHeader,
  renderServiceStatuses,
  renderServiceTables,
} from './service-layout.js';
import { renderSharedLayout } from './shared-layout.js';

export const GENERATORS: readonly Generator[] = [
  { path: 'docs/configuration.md', render: renderConfiguration },
  { path: 'man/tcpx.1', render: renderManPage },
  { path: 'docs/errors.md', render: renderErrors },
  { path: 'docs/troubleshooting.md', render: renderTroubleshooting },
  { path: 'docs/architecture.md', marker: 'layers', render: renderLayers },
  { path: 'docs/shared-layout.md', render: renderSharedLayout },
  { path: 'native/p2p/layout.h', render: renderServiceHeader },
  { path: 'docs/service.md', marker: 'layout', render: renderServiceTables },
  { path: 'docs/service.md', marker: 'statuses', render: renderServiceStatuses },
  { path: 'docs/diagnostics.md', marker: 'rules', render: renderDiagnostics },
  { path: 'docs/diagnostics.md', marker: 'run-rules', render: renderRunRules },
  { path: 'docs/api.md', marker: 'names', render: renderPublicNames },
  { path: 'README.md', marker: 'commands', render: renderCommands },
  { path: 'SECURITY.md', marker: 'limits', render: renderLimits },
  { path: 'docs/protocol.md', marker: 'frames', render: renderFrames },
  { path: 'docs/protocol.md', marker: 'refusals', render: renderRefusals },
];
