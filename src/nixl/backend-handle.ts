// One backend of one agent as programs name it: in options, and to ask what it is.

import type { BackendParams } from './backend.js';
import type { MemType } from './memory-type.js';

/** What createBackend returns and options name: one backend of one agent. */
export interface BackendHandle {
  /** Name of its plugin. */
  readonly type: string;
  /** Parameters that it was created with; those that may be secret are not printed. */
  readonly params: BackendParams;
  /** Memory that it can move. */
  readonly memTypes: readonly MemType[];
}
