// Rules for names that cross the wire or become part of a store's key. All are bounded.

import { checkText } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import { hasUnseen } from '../base/foreign-text.js';

export const AGENT_NAME_BYTES_MAX = 255;
export const BACKEND_TYPE_BYTES_MAX = 64;

/** Why `name` cannot name an agent, or undefined when it can. */
export function agentNameProblem(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (Buffer.byteLength(name) > AGENT_NAME_BYTES_MAX) {
    return `is longer than ${AGENT_NAME_BYTES_MAX} bytes`;
  }
  if (hasUnseen(name)) return 'holds a control or invisible character or half a character';
  return undefined;
}

export function checkAgentName(name: string, attempted: string): void {
  checkText(`${attempted}: the agent's name`, name);
  const problem = agentNameProblem(name);
  if (problem === undefined) return;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `${attempted}: agent name ${quote(name)} ${problem}`);
}

export function backendTypeProblem(type: string): string | undefined {
  if (type === '') return 'is empty';
  if (type.length > BACKEND_TYPE_BYTES_MAX) return `is longer than ${BACKEND_TYPE_BYTES_MAX} bytes`;
  if (!/^[\x21-\x7e]+$/.test(type)) return 'holds something else than printable ASCII';
  return undefined;
}

export function checkBackendType(type: string, attempted: string): void {
  checkText(`${attempted}: the backend type`, type);
  const problem = backendTypeProblem(type);
  if (problem === undefined) return;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `${attempted}: backend type ${quote(type)} ${problem}`);
}

/**
 * In a store a name or label is one step of a path; a slash in it would reach into another
 * agent's keys, and deleting by prefix would then delete them.
 */
export function checkKeyPart(part: string, what: string): void {
  const problem = part.includes('/') ? 'holds a slash' : agentNameProblem(part);
  if (problem === undefined) return;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `metadata store: ${what} ${quote(part)} ${problem}`);
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
