// How a test starts a test run that is no part of its own.

/** Without what node tells the processes of a run, and without limits of the run around it. */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const own = { NODE_TEST_CONTEXT: undefined, TEST_CPU_SECONDS_MAX: undefined };
  return { ...process.env, ...own };
}
