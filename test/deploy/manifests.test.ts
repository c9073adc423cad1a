// The manifests in deploy/: of the shape that Kubernetes has, by the types of its API as an npm
// package has them, no field more; and what they say fits what our command reads.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Container } from 'kubernetes-types/core/v1.js';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';
import { at } from '../../src/base/assert.js';
import { launchPlace } from '../../src/bench/mesh/launcher.js';
import { benchMeshCommand } from '../../src/cli/commands/bench-mesh.js';
import { parseInvocation } from '../../src/cli/invocation.js';
import { packageRoot } from '../e2e/child.js';

const FOLDER = join(packageRoot, 'deploy');
const MODULES: Readonly<Record<string, string>> = { 'batch/v1': 'batch/v1', v1: 'core/v1' };

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

function manifestsOf(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });
}

/** A program that says the manifest is of its type: fields that the type lacks are errors there. */
function programOf(manifest: Manifest): string {
  const { apiVersion, kind } = manifest;
  const module = MODULES[apiVersion];
  assert.ok(module !== undefined, `${apiVersion} is known`);
  const text = JSON.stringify(manifest, null, 2);
  const type = `import type { ${kind} } from 'kubernetes-types/${module}';`;
  return `${type}\nexport const it: ${kind} = ${text};\n`;
}

/** Of each program what the compiler says against it. */
function complaintsOf(programs: readonly string[]): string[][] {
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], lib: ['lib.es5.d.ts'] },
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const names = programs.map((_, index) => join(packageRoot, `manifest-${index}.ts`));
  const textOf = (name: string) => programs[names.indexOf(name)];
  const own: ts.CompilerHost = {
    ...host,
    getSourceFile: (name, target, ...rest) => {
      const text = textOf(name);
      if (text === undefined) return host.getSourceFile(name, target, ...rest);
      return ts.createSourceFile(name, text, target);
    },
    fileExists: (name) => textOf(name) !== undefined || host.fileExists(name),
    readFile: (name) => textOf(name) ?? host.readFile(name),
  };
  const program = ts.createProgram(names, options, own);
  return names.map((name) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(name))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  );
}

describe('manifests', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));

  test('are of the types of Kubernetes; a wrong one is not', () => {
    const good = files.flatMap(manifestsOf).map(programOf);
    assert.ok(good.length >= 2);
    const job = good.find((text) => text.includes('Indexed')) ?? '';
    const wrong = [
      job.replace('"subdomain"', '"subDomain"'),
      job.replace('"completions": 2', '"completions": "2"'),
      job.replace(/"name": "mesh",\n/, ''),
    ];
    for (const text of wrong) assert.notEqual(text, job);
    const complaints = complaintsOf([...good, ...wrong]);
    for (const said of complaints.slice(0, good.length)) assert.deepEqual(said, []);
    const [field, type, lack] = complaints.slice(good.length).map((said) => said.join('\n'));
    assert.match(field ?? '', /subDomain.* does not exist in type 'PodSpec'/);
    assert.match(type ?? '', /'string' is not assignable to type 'number'/);
    assert.match(lack ?? '', /Property 'name' is missing/);
  });

  test('a pod of the mesh finds its rank, the others and its command', () => {
    const [service, job] = manifestsOf('gke-a3-high-mesh.yaml') as [Job, Job];
    const { completions, template } = job.spec ?? { template: {} };
    const pod = template.spec;
    const name = job.metadata?.name ?? '';
    assert.equal(pod?.subdomain, service.metadata?.name);
    const container: Container = at(pod?.containers ?? [], 0);
    const variables = (container.env ?? []).map((one) => [one.name, one.value ?? 'x'.repeat(20)]);
    const environment = Object.fromEntries(variables) as Record<string, string>;
    const identity = { HOSTNAME: `${name}-1`, JOB_COMPLETION_INDEX: '1' };
    const place = launchPlace({ ...environment, ...identity });
    assert.deepEqual([place?.rank, place?.size], [1, completions]);
    assert.equal(place?.firstHost, `${name}-0.${pod?.subdomain}`);
    const words = container.command ?? [];
    assert.deepEqual(words.slice(0, 4), ['npx', 'tcpx', 'bench', 'mesh']);
    const { config } = parseInvocation(benchMeshCommand, words.slice(4));
    assert.equal(config.values['engine.provider'], 'tcpx');
  });
});
