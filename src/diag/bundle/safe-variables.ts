// Which variables and words of a command line may stand in a bundle: those of NCCL, the plugin and
// this package, and of these nothing that names a secret. Pure.

import { isRelevant } from '../../host/environment/difference.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';

const HIDDEN = '[hidden]';
const SECRET_NAME =
  /SECRET|TOKEN|PASS(?:WORD|WD|PHRASE)?(?:_|$)|CREDENTIAL|PRIVATE|API_?KEY|(?:^|_)KEY$/i;
const ALSO = /^(CUDA_|OMPI_COMM_WORLD_(RANK|SIZE|LOCAL_RANK)$|NVIDIA_VISIBLE_DEVICES$)/;
/** `scheme://user:password@host`. */
const CREDENTIALS = /(\w:\/\/)[^/\s@]+@/g;

export function safeVariables(values: EnvironmentValues): EnvironmentValues {
  const kept = Object.entries(values).filter(
    ([name]) => (isRelevant(name) || ALSO.test(name)) && !SECRET_NAME.test(name),
  );
  const sorted = kept.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, value]) => [name, withoutCredentials(value)]));
}

/** Every one of them, with `[hidden]` for what names a secret. */
export function hideSecrets(values: EnvironmentValues): EnvironmentValues {
  const safe = Object.entries(values).map(([name, value]) => [
    name,
    SECRET_NAME.test(name) ? HIDDEN : withoutCredentials(value),
  ]);
  return Object.fromEntries(safe) as EnvironmentValues;
}

export function isHidden(text: string): boolean {
  return text.includes(HIDDEN);
}

/** A value behind a flag that names a secret, and assignments to such variables, are hidden. */
export function safeWords(words: readonly string[]): readonly string[] {
  return words.map((word, index) => {
    const before = words[index - 1] ?? '';
    if (before.startsWith('-') && !before.includes('=') && isSecretFlag(before)) return HIDDEN;
    const equals = word.indexOf('=');
    const isSecret = equals > 0 && isSecretFlag(word.slice(0, equals));
    return isSecret ? `${word.slice(0, equals)}=${HIDDEN}` : withoutCredentials(word);
  });
}

function isSecretFlag(word: string): boolean {
  return SECRET_NAME.test(word.replaceAll('-', '_'));
}

function withoutCredentials(text: string): string {
  return text.replaceAll(CREDENTIALS, `$1${HIDDEN}@`);
}
