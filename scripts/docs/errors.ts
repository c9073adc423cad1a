// docs/errors.md and docs/troubleshooting.md from the table of error codes.

import { ERROR_CLASSES, errorClassName } from '../../src/base/error-class.js';
import { ERROR_CODES } from '../../src/base/errors.js';
import { GENERATED_NOTE, markdownTable } from './markdown-table.js';
import { TROUBLESHOOTING_PREAMBLE } from './troubleshooting-preamble.js';

const SOURCE = 'src/base/errors.ts';

export function renderErrors(): string {
  return [
    '# Errors',
    '',
    GENERATED_NOTE(SOURCE),
    'Every failure is a `TcpxError` with a `code` from this closed list, a message that says what',
    'was attempted, on what and what was seen, and `facts` with the same as fields. Match codes,',
    'never texts. *Retry* says whether the same call may succeed later without a change.',
    '',
    ...Object.keys(ERROR_CLASSES).map(renderClass),
    'What to do about each is also told by symptom in [troubleshooting](troubleshooting.md).',
  ].join('\n');
}

function renderClass(prefix: string): string {
  const codes = codesOf(prefix);
  const name = errorClassName(prefix);
  const meaning = ERROR_CLASSES[prefix as keyof typeof ERROR_CLASSES];
  const table =
    codes.length === 0
      ? 'No code of this class is in use.\n'
      : markdownTable(
          ['code', 'meaning', 'remedy', 'retry'],
          codes.map(([code, entry]) => [
            `\`${code}\``,
            entry.meaning,
            entry.remedy,
            entry.isRetryable ? 'yes' : 'no',
          ]),
        );
  return `## ${prefix.slice(0, -1)}\n\n\`${name}\`: ${meaning}.\n\n${table}`;
}

export function renderTroubleshooting(): string {
  const sections = Object.keys(ERROR_CLASSES)
    .filter((prefix) => codesOf(prefix).length > 0)
    .map(renderSymptoms);
  return [
    '# Troubleshooting',
    '',
    GENERATED_NOTE(`${SOURCE} and scripts/docs/troubleshooting-preamble.ts`),
    TROUBLESHOOTING_PREAMBLE,
    ...sections,
  ].join('\n');
}

function renderSymptoms(prefix: string): string {
  const meaning = ERROR_CLASSES[prefix as keyof typeof ERROR_CLASSES];
  const symptoms = codesOf(prefix).map(([code, entry]) => {
    const retry = entry.isRetryable ? ' The same call may succeed later.' : '';
    return `### \`${code}\`\n\n${capitalise(entry.meaning)}.\n\n${entry.remedy}${retry}\n`;
  });
  return [`## ${capitalise(meaning)}`, '', ...symptoms].join('\n');
}

function codesOf(prefix: string) {
  return Object.entries(ERROR_CODES).filter(([code]) => code.startsWith(prefix));
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
