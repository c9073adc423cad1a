// Calls about chunks, from call traces of plugin processes or from logs with a line per chunk.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { parsePerfLog } from '../diag/parse/perf-log.js';
import type { ChunkCall } from '../diag/stall.js';
import { listFlatFolder } from '../host/flat/flat-files.js';
import { parseTrace, type TraceLine } from '../provider/tcpx/trace/trace-file.js';

const BYTES_MAX = 256 * 1024 * 1024;

/** A file, or every trace and log in a folder. */
export function readCalls(path: string): readonly ChunkCall[] {
  const calls = filesOf(path).flatMap((file) => callsOf(readText(file)));
  if (calls.length > 0) return calls;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `${path}: holds no line about a chunk`);
}

function filesOf(path: string): readonly string[] {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (kind?.isDirectory() !== true) return [path];
  const names = listFlatFolder(path) ?? [];
  return names.filter((name) => /\.(trace|log|txt)$/.test(name)).map((name) => join(path, name));
}

function readText(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > BYTES_MAX) throw new Error('larger than 256 MiB');
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `trace ${path}`);
  }
}

function callsOf(text: string): readonly ChunkCall[] {
  const traced = parseTrace(text).flatMap(callOf);
  if (traced.length > 0) return traced;
  return parsePerfLog(text).chunks.flatMap(
    ({ role, chunk, channel, tag, bytes, offset }, index) => {
      if (tag === undefined) return [];
      return [
        {
          role: role === 'server' ? 'receive' : 'send',
          step: 'posted',
          channel: String(channel ?? 0),
          tag: String(tag),
          chunk,
          bytes,
          offset,
          timeUs: index,
        } satisfies ChunkCall,
      ];
    },
  );
}

const POSTS: Readonly<Record<string, ChunkCall['role']>> = { isend: 'send', irecv: 'receive' };

function callOf({ call, fields, timeUs }: TraceLine): readonly ChunkCall[] {
  const { tag, channel = '' } = fields;
  const isFailed = Number(fields['result'] ?? 0) < 0;
  if (tag === undefined || isFailed) return [];
  const number = (name: string) => {
    const text = fields[name];
    return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  };
  const place = {
    ...{ tag, channel, timeUs },
    ...{ chunk: number('chunk'), bytes: number('bytes'), offset: number('offset') },
  };
  const posted = POSTS[call];
  if (posted !== undefined) return [{ role: posted, step: 'posted', ...place }];
  if (call === 'irecvConsumed') return [{ role: 'receive', step: 'consumed', ...place }];
  if (call !== 'test') return [];
  return [{ role: fields['role'] === 'receive' ? 'receive' : 'send', step: 'done', ...place }];
}
