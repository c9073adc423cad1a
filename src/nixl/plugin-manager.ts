// Finds and loads backend plugins: built-in ones by registration, third-party ones by path or
// package name at run time. A module is a plugin when it exports `nixlBackendPlugin` of this API
// version; anything else is refused with the rule that it broke.

import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkRecord, checkText, shownValue } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import { BACKEND_API_VERSION, type BackendPlugin } from './backend.js';
import { isMemType } from './memory-type.js';
import { backendTypeProblem, checkBackendType } from './names.js';
import { resolvePackage } from './package-resolution.js';

const PLUGIN_EXPORT = 'nixlBackendPlugin';

/**
 * Finds the backends that an agent can create.
 * @example
 * const plugins = new PluginManager();
 * plugins.declare('ACME', './acme.js');
 * const agent = await Agent.create('a', { plugins });
 */
export class PluginManager {
  readonly #plugins = new Map<string, BackendPlugin>();
  /** Declared but not imported yet: type name → path or package. */
  readonly #declared = new Map<string, string>();
  readonly #baseDirectory: string;

  /** Relative paths and package names are looked up from `baseDirectory`. */
  constructor(baseDirectory = process.cwd()) {
    this.#baseDirectory = baseDirectory;
  }

  /** Adds a plugin that is already in the program. */
  register(plugin: BackendPlugin, type?: string): void {
    checkRecord('register plugin', plugin);
    this.#register(plugin, type === undefined ? plugin.name : type);
  }

  #register(plugin: BackendPlugin, type: string): void {
    const problem = pluginProblem(plugin);
    if (problem !== undefined) throw refusal(type, problem);
    checkBackendType(type, 'register plugin');
    this.#plugins.set(type, plugin);
  }

  /** Names a plugin without importing it; a type may differ from the plugin's own name. */
  declare(type: string, specifier: string): void {
    checkBackendType(type, 'declare plugin');
    checkText('declare plugin: the path or package', specifier);
    this.#declared.set(type, specifier);
  }

  /** Imports a plugin and registers it, under its own name unless told otherwise. */
  async load(specifier: string, type?: string): Promise<BackendPlugin> {
    checkText('load plugin: the path or package', specifier);
    if (type !== undefined) checkBackendType(type, 'load plugin');
    const plugin = await this.#importPlugin(specifier);
    this.register(plugin, type ?? plugin.name);
    return plugin;
  }

  /** Names of those that are known. */
  getAvailPlugins(): string[] {
    return [...new Set([...this.#plugins.keys(), ...this.#declared.keys()])].toSorted();
  }

  /** The plugin behind a type, imported now if it was only declared. */
  async get(type: string): Promise<BackendPlugin> {
    checkText('the backend type', type);
    const known = this.#plugins.get(type);
    if (known !== undefined) return known;
    const specifier = this.#declared.get(type);
    if (specifier !== undefined) return this.load(specifier, type);
    throw new TcpxError(
      'ERR_USAGE_NOT_FOUND',
      `plugin ${JSON.stringify(type)} is unknown; known: ${this.getAvailPlugins().join(', ')}`,
      { facts: { type } },
    );
  }

  async #importPlugin(specifier: string): Promise<BackendPlugin> {
    const file = await this.#resolve(specifier);
    let exported: unknown;
    try {
      const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
      exported = module[PLUGIN_EXPORT];
    } catch (error) {
      throw refusal(specifier, `it fails to import: ${String(error)}`, error);
    }
    const problem = pluginProblem(exported);
    if (problem !== undefined) throw refusal(specifier, problem);
    return exported as BackendPlugin;
  }

  async #resolve(specifier: string): Promise<string> {
    if (specifier.startsWith('.') || isAbsolute(specifier)) {
      return resolveFile(resolve(this.#baseDirectory, specifier), specifier);
    }
    const file = await resolvePackage(specifier, this.#baseDirectory);
    if (file !== undefined) return file;
    throw new TcpxError(
      'ERR_USAGE_NOT_FOUND',
      `plugin package ${specifier} is not installed where ${this.#baseDirectory} finds packages`,
    );
  }
}

async function resolveFile(path: string, specifier: string): Promise<string> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) {
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `plugin file ${path} does not exist`);
  }
  if (!info.isDirectory()) return path;
  try {
    return createRequire(join(path, 'package.json')).resolve(path);
  } catch (error) {
    throw refusal(specifier, 'the directory has no entry point', error);
  }
}

/** The first rule that a supposed plugin breaks. */
function pluginProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return `it exports no ${PLUGIN_EXPORT} object`;
  const plugin = value as Partial<Record<keyof BackendPlugin, unknown>>;
  if (plugin.apiVersion !== BACKEND_API_VERSION) {
    const other = shownValue(plugin.apiVersion);
    return `it is made for API version ${other}, this is ${BACKEND_API_VERSION}`;
  }
  if (typeof plugin.name !== 'string') return 'its name is not a text';
  const nameProblem = backendTypeProblem(plugin.name);
  if (nameProblem !== undefined) return `its name ${nameProblem}`;
  if (typeof plugin.version !== 'string') return 'its version is not a text';
  if (typeof plugin.create !== 'function') return 'it has no create function';
  if (!isTextMap(plugin.defaultParams)) return 'its defaultParams are not texts by name';
  const memTypes: unknown = plugin.memTypes;
  const areMems =
    Array.isArray(memTypes) && memTypes.every((m) => typeof m === 'number' && isMemType(m));
  return areMems ? undefined : 'its memTypes are not NIXL memory types';
}

function isTextMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every((text) => typeof text === 'string');
}

function refusal(specifier: string, problem: string, cause?: unknown): TcpxError {
  return new TcpxError('ERR_CAP_PLUGIN', `load plugin ${specifier}: ${problem}`, {
    cause,
    facts: { specifier },
  });
}
