// What rank 0 of a mesh tells while it runs: who has come, each round, and on a terminal how long
// the rest may take.

import { plural } from '../base/units.js';
import type { MeshRun } from '../bench/mesh/mesh-conductor.js';
import { formatMeshRound } from './bench-mesh-text.js';
import { StepProgress } from './bench-progress.js';
import { clearProgress, printNote, showProgress } from './print.js';

const REFRESH_MS = 500;

export class MeshProgress {
  readonly #isSilent: boolean;
  readonly #steps = new StepProgress();
  #timer: NodeJS.Timeout | undefined;
  #done = 0;
  #rounds = 0;

  constructor(isSilent: boolean) {
    this.#isSilent = isSilent;
  }

  begin(workers: number, rounds: number): void {
    this.#rounds = rounds;
    this.#note(`${plural(workers, 'worker')} have come; ${plural(rounds, 'round')}`);
    if (!process.stderr.isTTY) return;
    this.#show();
    this.#timer = setInterval(() => this.#show(), REFRESH_MS);
  }

  /** A round is over. */
  count(runs: readonly MeshRun[]): void {
    const rates = runs.map(({ result }) => result.bandwidthGBps.mean);
    this.#note(formatMeshRound(this.#done, this.#rounds, rates));
    this.#done++;
    if (this.#timer !== undefined) this.#show();
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    clearProgress();
  }

  #note(text: string): void {
    if (this.#timer !== undefined) clearProgress();
    if (!this.#isSilent) printNote(text);
  }

  #show(): void {
    showProgress(this.#steps.line(this.#done, this.#rounds, 'rounds', performance.now()));
  }
}
