// Which compiled files belong to which sources: what to run, and what is left of deleted sources.

const OUTPUT = /^dist\/(.+?)(?:\.js|\.d\.ts|\.js\.map|\.d\.ts\.map)$/;
/** Made of many sources, and cleaned up where they are made. */
const LAUNCH = 'dist/src/launch/';

/** Outputs below dist/ whose source is gone; they would be run and packed all the same. */
export function staleOutputs(outputs: readonly string[], sources: readonly string[]): string[] {
  const known = new Set(sources);
  return outputs.filter((output) => {
    if (output.startsWith(LAUNCH)) return false;
    const stem = OUTPUT.exec(output)?.[1];
    return stem !== undefined && !known.has(`${stem}.ts`);
  });
}

/** Compiled tests of the given sources that contain one of the filters, all without a filter. */
export function compiledTests(sources: readonly string[], filters: readonly string[]): string[] {
  return sources
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
    .map((path) => `dist/${path.replace(/\.ts$/, '.js')}`)
    .sort();
}
