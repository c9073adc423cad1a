// In which order modules of a kernel are to be loaded: by what each says that it depends on, which
// differs between kernels. Pure.

/** A module's own words about it: `depends=virtio_ring,virtio`. */
export function dependenciesOf(module: Uint8Array): string[] {
  const text = Buffer.from(module).toString('latin1');
  const names = /(?:^|\0)depends=([^\0]*)\0/.exec(text)?.[1] ?? '';
  return names.split(',').filter((name) => name !== '');
}

/** Names so that each comes after those that it needs; what is not among them is built in. */
export function loadingOrder(dependencies: ReadonlyMap<string, readonly string[]>): string[] {
  const order = new Set<string>();
  const add = (name: string, above: readonly string[]): void => {
    if (above.includes(name))
      throw new Error(`modules need each other: ${above.join(' ')} ${name}`);
    const needed = dependencies.get(name);
    if (needed === undefined) return;
    for (const one of needed) if (!order.has(one)) add(one, [...above, name]);
    order.add(name);
  };
  for (const name of dependencies.keys()) add(name, []);
  return [...order];
}
