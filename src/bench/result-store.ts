// Where results of benchmarks lie: one file for each run, named by its time, and folders of runs
// as baselines. Runs beyond a number give way to newer ones, baselines stay.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../base/config.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { didYouMean } from '../base/suggestion.js';
import { saveDocument } from '../host/irq/journal.js';
import type { BenchResult } from './bench-result.js';
import { MESH_SCHEMA, type MeshDocument } from './mesh/mesh-figures.js';
import { checkTemporaryHome, makeTemporaryHome, temporaryHome } from './temporary-home.js';

/** Results of this version are read; fields that it gained are absent from older ones. */
const SCHEMA = 'tcpx.bench/1';
export const RUNS_SCHEMA = 'tcpx.bench-runs/1';

const FILE = /^(\d{8}-\d{6}-[a-z]+-[0-9a-f]{6})\.json$/;
const BASELINE = /^[a-z0-9][a-z0-9_.-]{0,63}$/i;
const LATEST = /^latest(?:~(\d+))?$/;

/** As the XDG base directory specification has it. */
export function storeFolder(wanted: string, environment: Environment): string {
  if (wanted !== '') return wanted;
  const state = environment['XDG_STATE_HOME'] ?? '';
  const base = state.startsWith('/') ? state : join(homeOf(environment), '.local/state');
  return join(base, 'nixl-tcpx', 'bench');
}

// Users of containers may have no entry in passwd, and then no home.
function homeOf(environment: Environment): string {
  const home = environment['HOME'] ?? '';
  if (home !== '') return home;
  try {
    return homedir();
  } catch {
    return temporaryHome();
  }
}

export class ResultStore {
  readonly folder: string;
  readonly #keep: number;

  constructor(folder: string, keep: number) {
    this.folder = folder;
    this.#keep = keep;
  }

  /** With its name; as it came where none are kept. */
  save(result: BenchResult): BenchResult {
    if (this.#keep === 0) return result;
    const id = newId(result);
    const named = { ...result, id };
    this.#write(id, named);
    return named;
  }

  /** A mesh is one file, with the runs of all its pairs. */
  saveMesh(mesh: MeshDocument): MeshDocument {
    if (this.#keep === 0) return mesh;
    const id = newId({ recordedAt: mesh.recordedAt, op: 'mesh' });
    const named = { ...mesh, id, runs: mesh.runs.map((run) => ({ ...run, id })) };
    this.#write(id, named);
    return named;
  }

  #write(id: string, document: object): void {
    makeTemporaryHome(this.folder);
    saveDocument(this.#path(id), this.folder, document);
    for (const old of this.#ids().slice(this.#keep)) rmSync(this.#path(old), { force: true });
  }

  /** undefined where that name is of something else. */
  findMesh(name: string): MeshDocument | undefined {
    const [first] = this.find(name);
    if (first?.group?.pattern !== 'mesh' || first.id === undefined) return undefined;
    const path = name.includes('/') || name.endsWith('.json') ? name : this.#path(first.id);
    const document = readDocument(path);
    return isMesh(document) ? document : undefined;
  }

  /** Newest first; of a mesh its slowest pair. A file that cannot be read is left out. */
  list(): BenchResult[] {
    return this.#ids().flatMap((id) => {
      try {
        const document = readDocument(this.#path(id));
        return isMesh(document) ? slowestRun(document) : runsOf(document, this.#path(id));
      } catch {
        return [];
      }
    });
  }

  baselines(): string[] {
    checkTemporaryHome(this.folder);
    return namesIn(join(this.folder, 'baselines')).filter((name) => BASELINE.test(name));
  }

  /** The files, as `irq baseline` takes them. One of that name gives way as a whole. */
  saveBaseline(name: string, runs: readonly BenchResult[]): string[] {
    checkBaselineName(name);
    makeTemporaryHome(this.folder);
    const folder = join(this.folder, 'baselines', name);
    // Hidden from the list until it is whole.
    const fresh = join(this.folder, 'baselines', `.${name}.new`);
    rmSync(fresh, { recursive: true, force: true });
    for (const [index, run] of runs.entries()) {
      saveDocument(join(fresh, `${index + 1}.json`), fresh, run);
    }
    try {
      rmSync(folder, { recursive: true, force: true });
      renameSync(fresh, folder);
    } catch (error) {
      throw toTcpxError(error, 'ERR_SYS_CALL', `save ${folder}`);
    }
    return runs.map((_, index) => join(folder, `${index + 1}.json`));
  }

  /** `latest`, `latest~1`, an id or its beginning, a baseline, a file; several with commas. */
  find(names: string): BenchResult[] {
    return names.split(',').flatMap((name) => this.#findOne(name.trim()));
  }

  #findOne(name: string): BenchResult[] {
    if (name.includes('/') || name.endsWith('.json')) return readRuns(name);
    const ids = this.#ids();
    const latest = LATEST.exec(name);
    if (latest !== null) {
      const id = ids[Number(latest[1] ?? 0)];
      if (id !== undefined) return readRuns(this.#path(id));
      throw usage(`${name}: ${this.folder} holds ${ids.length} results`);
    }
    const matching = name === '' ? [] : ids.filter((id) => id.startsWith(name));
    if (matching.length > 1) throw usage(`${name}: ${matching.length} results begin with that`);
    const [id] = matching;
    if (id !== undefined) return readRuns(this.#path(id));
    return this.#findBaseline(name, ids);
  }

  #findBaseline(name: string, ids: readonly string[]): BenchResult[] {
    const baselines = this.baselines();
    if (!baselines.includes(name)) {
      const hint = didYouMean(name, [...baselines, ...ids, 'latest']);
      throw usage(
        `${JSON.stringify(name)}: no result or baseline of that name in ${this.folder}${hint}`,
      );
    }
    const folder = join(this.folder, 'baselines', name);
    return namesIn(folder)
      .filter((file) => file.endsWith('.json'))
      .sort((a, b) => Number.parseInt(a) - Number.parseInt(b))
      .flatMap((file) => readRuns(join(folder, file)));
  }

  #path(id: string): string {
    return join(this.folder, `${id}.json`);
  }

  /** Newest first. */
  #ids(): string[] {
    checkTemporaryHome(this.folder);
    const ids = namesIn(this.folder).flatMap((name) => FILE.exec(name)?.[1] ?? []);
    return ids.sort().reverse();
  }
}

export function checkBaselineName(name: string): void {
  if (BASELINE.test(name) && !LATEST.test(name)) return;
  const rule = 'a name has letters, digits, dots, dashes and underscores, at most 64';
  throw usage(`baseline ${JSON.stringify(name)}: ${rule}`);
}

function newId({
  recordedAt = new Date().toISOString(),
  op,
}: Pick<BenchResult, 'recordedAt' | 'op'>): string {
  const [date = '', time = ''] = recordedAt.slice(0, 19).replaceAll(/[-:]/g, '').split('T');
  return `${date}-${time}-${op}-${randomBytes(3).toString('hex')}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** One result, or several in one document. */
function readRuns(path: string): BenchResult[] {
  return runsOf(readDocument(path), path);
}

function readDocument(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')); // checked: by its schema, by whoever reads it
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `result ${path}`);
  }
}

function runsOf(document: unknown, path: string): BenchResult[] {
  const { schema, runs } = Object(document) as Partial<Record<string, unknown>>;
  if (schema === SCHEMA) return [document as BenchResult];
  if (schema === RUNS_SCHEMA && Array.isArray(runs)) return runs as BenchResult[];
  if (isMesh(document)) return [...document.runs];
  const isNewer = /^tcpx\.bench(-runs|-mesh)?\/\d+$/.test(String(schema));
  const what = isNewer ? `schema ${String(schema)} is of a newer version` : 'no result';
  throw usage(`result ${path}: ${what}; schema ${String(schema)}, this reads ${SCHEMA}`);
}

function isMesh(document: unknown): document is MeshDocument {
  const { schema, runs } = Object(document) as Partial<Record<string, unknown>>;
  return schema === MESH_SCHEMA && Array.isArray(runs);
}

function slowestRun({ pairs, slowest, runs }: MeshDocument): BenchResult[] {
  const index = pairs.findIndex(({ from, to }) => from === slowest.from && to === slowest.to);
  return runs.slice(index, index + 1);
}

function usage(message: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', message);
}
