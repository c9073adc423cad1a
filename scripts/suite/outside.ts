// How a test starts a test run that is no part of its own.

/** Without what node and test.ts tell the processes of a run; an undefined variable is left out. */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const own = { NODE_TEST_CONTEXT: undefined, TEST_EARLIER: undefined, TEST_LATER: undefined };
  return { ...process.env, ...own };
}
