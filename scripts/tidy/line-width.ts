// No line of TypeScript is wider than a reader's window.

import { isTypeScript, type TextFile, type Violation } from './violation.js';

const COLUMNS_MAX = 100;

export function checkLineWidth(files: readonly TextFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const file of files.filter(isTypeScript)) {
    for (const [index, line] of file.text.split('\n').entries()) {
      const columns = Array.from(line).length;
      if (columns <= COLUMNS_MAX) continue;
      const message = `${columns} columns; break it at ${COLUMNS_MAX} (npm run format)`;
      violations.push({ path: file.path, line: index + 1, rule: 'width', message });
    }
  }
  return violations;
}
