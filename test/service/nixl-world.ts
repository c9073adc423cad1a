// Programs that do with the NIXL plugin what agents of NIXL do: native/nixl-check, each with an
// engine of the plugin on a service.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { MemType } from '../../src/nixl/memory-type.js';
import { decodeMetadata, encodeMetadata } from '../../src/nixl/metadata.js';
import { packageRoot } from '../e2e/child.js';
import type { SeenTelemetry } from './emulated-service.js';
import type { LineProgram, ProgramOptions } from './line-program.js';
import type { RunningService, ServiceWorld } from './service-world.js';

export const CHECK_PLUGIN = join(packageRoot, 'build/native/libtcpx-nixl-check.so');
export const CHECK_PROGRAM = join(packageRoot, 'build/native/nixl-check');

/** The parts in C++ are built wherever there is a compiler for it. */
export const hasCxx = spawnSync(process.env['CXX'] ?? 'c++', ['--version']).status === 0;
export const needsCxx = hasCxx ? false : 'needs a C++ compiler';

export interface NixlEnd {
  readonly program: LineProgram;
  readonly name: string;
  readonly info: string;
}

export function nixlProgram(world: ServiceWorld, options: ProgramOptions = {}): LineProgram {
  return world.program({ program: [CHECK_PROGRAM, CHECK_PLUGIN], ...options });
}

/** A program with an engine of this name; `params` are words of name=value. */
export async function nixlEnd(
  world: ServiceWorld,
  service: RunningService,
  name: string,
  { params = '', ...options }: ProgramOptions & { params?: string } = {},
): Promise<NixlEnd> {
  const program = nixlProgram(world, options);
  const info = await program.do(`create ${name} service_folder=${service.folder} ${params}`);
  return { program, name, info };
}

export interface NixlMemory {
  readonly id: string;
  readonly addr: string;
  readonly key: string;
  readonly bytes: number;
  readonly kind: string;
}

export async function nixlMemory(end: NixlEnd, bytes: number, kind: string): Promise<NixlMemory> {
  const text = await end.program.do(`memory ${bytes} ${kind}`);
  const [id = '', addr = '', ...key] = text.split(' ');
  return { id, addr, key: key.join(' '), bytes, kind };
}

/** How the service reaches the memory, and what the engine says of its rails. */
export async function nixlQuery({ program }: NixlEnd, { id }: NixlMemory) {
  const [way = '', ...words] = (await program.do(`query ${id}`)).split(' ');
  const telemetry = JSON.parse(words.join(' ').replace(/ -$/, '')) as SeenTelemetry;
  return { way, telemetry };
}

/** What an agent of NIXL around an engine would send. */
export function blobOf(
  end: Pick<NixlEnd, 'name' | 'info'>,
  memory: Pick<NixlMemory, 'addr' | 'bytes' | 'key'>,
  memType: MemType = MemType.DRAM,
): Uint8Array {
  const desc = {
    addr: Number(memory.addr),
    len: memory.bytes,
    devId: 0,
    metaInfo: Buffer.from(memory.key),
  };
  return encodeMetadata({
    agent: end.name,
    connections: [{ type: 'TCPX', info: Buffer.from(end.info) }],
    sections: [{ type: 'TCPX', memType, descs: [desc] }],
  });
}

/** What an agent of NIXL around an engine would hand to it, of the only region. */
export function partsOf(blob: Uint8Array): {
  end: Pick<NixlEnd, 'name' | 'info'>;
  memory: NixlMemory;
} {
  const { agent, connections, sections } = decodeMetadata(blob);
  const [connection] = connections;
  const [section] = sections;
  const desc = section?.descs[0];
  assert.ok(connection !== undefined && section !== undefined && desc !== undefined);
  const key = Buffer.from(desc.metaInfo ?? []).toString();
  const info = Buffer.from(connection.info).toString();
  const kind = section.memType === MemType.VRAM ? 'vram' : 'dram';
  const memory = { id: '', addr: String(desc.addr), key, bytes: desc.len, kind };
  return { end: { name: agent, info }, memory };
}

/** What an agent does with the metadata of another; the number of the target. */
export async function nixlLoad(
  from: NixlEnd,
  to: Pick<NixlEnd, 'name' | 'info'>,
  memory: NixlMemory,
): Promise<string> {
  await from.program.do(`peer ${to.name} ${to.info}`);
  const { addr, bytes, kind, key } = memory;
  return from.program.do(`region ${to.name} ${addr} ${bytes} ${kind} ${key}`);
}

/** Prepares, posts and waits; the number of the transfer. */
export async function move(program: LineProgram, words: string, notif = ''): Promise<string> {
  const transfer = await program.do(words);
  await posted(program, `post ${transfer} ${notif}`);
  await program.do(`wait ${transfer} 20000`);
  return transfer;
}

export async function posted(program: LineProgram, line: string): Promise<void> {
  const { status, text } = await program.ask(line);
  if (status !== 1) throw new Error(`${line}: ${status} ${text}`);
}

/** Notifications as they come, until there are so many; `agent:message` each. */
export async function notifs(program: LineProgram, count: number): Promise<string[]> {
  const endMs = performance.now() + 10_000;
  const seen: string[] = [];
  while (seen.length < count && performance.now() < endMs) {
    const [, ...fresh] = (await program.do('notifs')).split('|');
    seen.push(...fresh);
  }
  return seen;
}
