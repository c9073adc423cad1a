#!/usr/bin/env node
// A process that may open too few files ends in the loader of Node, with a trace of its own files.
try {
  const { launchUrl } = await import('../dist/src/base/launch.js');
  await import(launchUrl('cli/start.js', '.js').href);
} catch (error) {
  if (error?.code !== 'EMFILE' && error?.code !== 'ENFILE') throw error;
  process.stderr.write(
    `ERR_SYS_DESCRIPTORS: ${error.message}: too few files may be open; raise the limit (ulimit -n 1024)\n`,
  );
  process.exitCode = 3;
}
