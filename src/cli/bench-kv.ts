// `--kv`: a benchmark whose transfers have the shape of a prompt's KV cache.

import type { Config } from '../base/config.js';
import type { KvShape } from '../bench/kv-shape.js';
import { type Command, type Invocation, type OwnFlag, usageError } from './command.js';

export const KV_FLAG: OwnFlag = {
  name: 'kv',
  kind: 'text',
  value: 'MODEL,tokens=N,...',
  summary:
    'Size and blocks of a prompt’s KV cache: llama-3.1-70b,tokens=8192,block=16,tp=8, or ' +
    'layers=N,heads=N,dim=N.',
};

export interface KvWorkload {
  readonly config: Config;
  /** For the result; empty where nobody asked for it. */
  readonly kv: { readonly kv?: KvShape };
}

export async function kvWorkload(command: Command, invocation: Invocation): Promise<KvWorkload> {
  const { config } = invocation;
  const text = invocation.text('kv');
  if (text === undefined) return { config, kv: {} };
  const rival = config.effective.find(
    ({ name, origin }) =>
      (name === 'bench.sizeBytes' || name === 'bench.blockBytes') && origin.startsWith('flag'),
  );
  if (rival !== undefined) {
    throw usageError(
      command,
      `--kv says the size and the blocks; so does ${rival.origin.slice(5)}`,
    );
  }
  const { parseKvShape } = await import('../bench/kv-shape.js');
  const { deriveConfig } = await import('../bench/derived-config.js');
  const kv = parseKvShape(text);
  const sizes = { 'bench.sizeBytes': kv.bytes, 'bench.blockBytes': kv.blockBytes };
  return { config: deriveConfig(config, sizes, 'flag --kv'), kv: { kv } };
}
