// Programs that do with the NIXL plugin what agents of NIXL do: native/nixl-check, each with an
// engine of the plugin on a service.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../e2e/child.js';
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

/** What an agent does with the metadata of another; the number of the target. */
export async function nixlLoad(from: NixlEnd, to: NixlEnd, memory: NixlMemory): Promise<string> {
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
