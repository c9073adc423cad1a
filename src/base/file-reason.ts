// Why a file could not be used, for a message that names the file already.

/** `ENOENT: no such file or directory`, without the call and the path that Node puts behind. */
export function fileReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return /^E[A-Z0-9]+: /.test(text) ? text.replace(/, \w+(?: '.*')?$/s, '') : text;
}
