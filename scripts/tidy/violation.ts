// What a check finds. A message names the replacement, not only the fault.

export interface TextFile {
  readonly path: string;
  readonly text: string;
}

export interface Violation {
  readonly path: string;
  /** 1-based; 1 where the whole file is meant. */
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

export function formatViolation(violation: Violation): string {
  return `${violation.path}:${violation.line}: ${violation.rule}: ${violation.message}`;
}

export function isTypeScript(file: TextFile): boolean {
  return file.path.endsWith('.ts');
}

export function isMarkdown(file: TextFile): boolean {
  return file.path.endsWith('.md');
}

/** Tests, benchmarks and fuzzers, and the folder that serves them. */
export function isTestPath(path: string): boolean {
  return /\.(test|bench|fuzz)\.ts$/.test(path) || path.startsWith('test/');
}
