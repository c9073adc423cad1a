// KV caches as transfers: what a prompt's cache has in bytes and blocks, from the shape of a model,
// so that a figure means milliseconds per prompt. Pure.
//
// Blocks are as serving engines keep them: for each layer, keys and values apart, so many tokens of
// all heads of this GPU together. A cache that is compressed (latent attention) has one plane.

import { TcpxError } from '../base/errors.js';
import { SETTINGS } from '../base/settings.js';
import { didYouMean } from '../base/suggestion.js';
import { formatBytes } from '../base/units.js';

export interface KvShape {
  readonly model: string;
  readonly tokens: number;
  /** Of one descriptor. */
  readonly blockBytes: number;
  readonly descriptors: number;
  /** Of the prompt, its last block whole. */
  readonly bytes: number;
}

interface Model {
  readonly layers: number;
  readonly heads: number;
  readonly dim: number;
  /** Keys and values, or one that holds both. */
  readonly planes: 1 | 2;
}

/** From the models' own configuration files. */
const MODELS: Readonly<Record<string, Model>> = {
  'llama-3.1-8b': { layers: 32, heads: 8, dim: 128, planes: 2 },
  'llama-3.1-70b': { layers: 80, heads: 8, dim: 128, planes: 2 },
  'qwen3-8b': { layers: 36, heads: 8, dim: 128, planes: 2 },
  'qwen3-32b': { layers: 64, heads: 8, dim: 128, planes: 2 },
  'gpt-oss-20b': { layers: 24, heads: 8, dim: 64, planes: 2 },
  'gpt-oss-120b': { layers: 36, heads: 8, dim: 64, planes: 2 },
  'deepseek-r1': { layers: 61, heads: 1, dim: 576, planes: 1 },
};
export const KV_MODELS = Object.keys(MODELS);

/** With what they are where nobody says. */
const FIELDS = { layers: 0, heads: 0, dim: 0, tokens: 4096, block: 16, bytes: 2, tp: 1 };
type FieldName = keyof typeof FIELDS;

/** `llama-3.1-70b,tokens=8192,tp=8`, or `layers=80,heads=8,dim=128,…`. */
export function parseKvShape(text: string): KvShape {
  const [first = '', ...rest] = text.split(',');
  const isOwn = first.includes('=');
  const model = isOwn ? undefined : MODELS[first];
  if (!isOwn && model === undefined) {
    const forms = `one of ${KV_MODELS.join(', ')}, or layers=N,heads=N,dim=N`;
    throw refusal(`${JSON.stringify(first)} is no model: ${forms}${didYouMean(first, KV_MODELS)}`);
  }
  const given = parseFields(isOwn ? [first, ...rest] : rest);
  const fields = { ...FIELDS, ...model, ...given };
  for (const name of ['layers', 'heads', 'dim'] as const) {
    if (fields[name] === 0) throw refusal(`${name}=N is missing`);
  }
  return shapeOf(isOwn ? 'own' : first, fields, model?.planes ?? 2);
}

function parseFields(parts: readonly string[]): Partial<Record<FieldName, number>> {
  const fields: Partial<Record<FieldName, number>> = {};
  for (const part of parts) {
    const [name = '', value = ''] = part.split('=');
    if (!Object.hasOwn(FIELDS, name)) {
      const known = Object.keys(FIELDS);
      throw refusal(`${part}: not one of ${known.join(', ')}${didYouMean(name, known)}`);
    }
    if (!/^[1-9]\d{0,8}$/.test(value)) throw refusal(`${name}=${value}: a number from 1 on`);
    fields[name as FieldName] = Number(value);
  }
  return fields;
}

function shapeOf(model: string, fields: typeof FIELDS, planes: number): KvShape {
  const { layers, heads, dim, tokens, block, bytes: valueBytes, tp } = fields;
  if (heads % tp !== 0) throw refusal(`tp=${tp}: ${heads} heads cannot be shared by so many`);
  const blockBytes = block * (heads / tp) * dim * valueBytes;
  const descriptors = layers * planes * Math.ceil(tokens / block);
  const bytes = descriptors * blockBytes;
  const { maximum } = SETTINGS['bench.sizeBytes'];
  if (bytes > maximum) throw refusal(`${formatBytes(bytes)}, at most ${formatBytes(maximum)}`);
  return { model, tokens, blockBytes, descriptors, bytes };
}

function refusal(rule: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `--kv: ${rule}`);
}
