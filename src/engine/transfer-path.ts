// How the bytes of a transfer go, as its receipt names it: over what, and whether through staging.

import type { TransferPath } from './receipt.js';
import type { RequestPlan } from './request.js';
import type { Session } from './session.js';

export function pathOf(session: Session, plan: RequestPlan): TransferPath {
  const { path } = session.facts;
  const isOnGpu = (place: { readonly device?: number }): boolean => place.device !== undefined;
  if (!plan.locals.some(isOnGpu) && !plan.remotes.some(isOnGpu)) return path;
  return path === 'shm' ? 'shm staged' : 'tcp staged';
}

export function isStagedPath(path: TransferPath): boolean {
  return path === 'tcp staged' || path === 'shm staged';
}
