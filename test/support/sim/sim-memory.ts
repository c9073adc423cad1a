// The memory of a machine, in cells that are lent to transfers. What belongs to no transfer must
// never change: each free cell has a shadow, compared before it is lent again and at the end.

import type { Random } from '../../../src/base/random.js';
import type { Region, RegionDescriptor, RegionRegistry } from '../../../src/memory/region.js';
import { createFixedMemory, type FixedMemory } from '../../../src/os/fixed-memory.js';
import type { SimPlugin } from './sim-plugin.js';
import { Violation } from './violation.js';

export const CELL_BYTES = 1024;
/** Cells per region; between regions lies one cell that nobody registers. */
const REGION_CELLS = 15;
const REGIONS = 4;
const CELLS = REGIONS * (REGION_CELLS + 1);

/** Longer than any run: by a clock that is not the machine's own it would be over. */
const EXPIRES_MS = 1e7;

/** The plugin that reaches a machine's memory, and how often by way of a shadow. */
interface PluginUse {
  readonly plugin: SimPlugin;
  readonly stagedChance: number;
}

const spare: { readonly memory: FixedMemory; readonly shadow: Uint8Array }[] = [];

export class SimMemory {
  readonly #memory: FixedMemory;
  readonly #shadow: Uint8Array;
  readonly #random: Random;
  readonly #registry: RegionRegistry;
  readonly #plugin: PluginUse | undefined;
  readonly #lent = new Uint8Array(CELLS);
  readonly #regions: Region[] = [];
  /** Regions that are being deregistered, by index. */
  readonly closing = new Map<number, Region>();
  /** Descriptors that were good once. */
  readonly stale: RegionDescriptor[] = [];
  /** Grants nothing. */
  readonly closed: Region;
  readonly name: string;

  constructor(name: string, registry: RegionRegistry, random: Random, plugin?: PluginUse) {
    this.name = name;
    this.#random = random;
    this.#registry = registry;
    this.#plugin = plugin;
    const { memory, shadow } = spare.pop() ?? {
      memory: createFixedMemory(CELLS * CELL_BYTES),
      shadow: new Uint8Array(CELLS * CELL_BYTES),
    };
    this.#memory = memory;
    this.#shadow = shadow;
    for (let cell = 0; cell < CELLS; cell++) this.refill(cell);
    for (let index = 0; index < REGIONS; index++) this.register(index);
    const addr = memory.addr + REGION_CELLS * CELL_BYTES;
    this.closed = this.#publish({ addr, bytes: CELL_BYTES }, false, true);
  }

  register(index: number): void {
    const addr = this.#memory.addr + index * (REGION_CELLS + 1) * CELL_BYTES;
    const bytes = REGION_CELLS * CELL_BYTES;
    // The last one is memory that a plugin cannot reach.
    this.#regions[index] = this.#publish({ addr, bytes }, true, index < REGIONS - 1);
  }

  #publish(range: { addr: number; bytes: number }, isOpen: boolean, isShared: boolean): Region {
    const rights = { read: isOpen, write: isOpen };
    const use = isShared ? this.#plugin : undefined;
    const terms = { expiresMs: EXPIRES_MS };
    const region = this.#registry.register(range, rights, terms, use !== undefined);
    use?.plugin.share(region, this.#random.nextChance(use.stagedChance));
    return region;
  }

  includes(addr: number): boolean {
    return addr >= this.#memory.addr && addr < this.#memory.addr + this.#memory.bytes;
  }

  get regions(): readonly Region[] {
    return this.#regions;
  }

  regionIndex(cell: number): number {
    return Math.floor(cell / (REGION_CELLS + 1));
  }

  region(cell: number): Region {
    const region = this.#regions[this.regionIndex(cell)];
    if (region === undefined) throw new Error(`cell ${cell} has no region`);
    return region;
  }

  /** Undefined while it is being deregistered. */
  openRegion(cell: number): Region | undefined {
    return this.closing.has(this.regionIndex(cell)) ? undefined : this.region(cell);
  }

  offset(cell: number): number {
    return (cell % (REGION_CELLS + 1)) * CELL_BYTES;
  }

  /** Free cells in a row, inside one region that is open; undefined when none were found. */
  lend(count: number): number[] | undefined {
    for (let tries = 0; tries < 6; tries++) {
      const first = this.#random.nextBetween(0, CELLS - 1);
      const cells = Array.from({ length: count }, (_, index) => first + index);
      if (!cells.every((cell) => this.#isFree(cell))) continue;
      if (this.regionIndex(first) !== this.regionIndex(first + count - 1)) continue;
      for (const cell of cells) {
        this.checkShadow(cell);
        this.#lent[cell] = 1;
      }
      return cells;
    }
    return undefined;
  }

  #isFree(cell: number): boolean {
    if (cell >= CELLS || this.#lent[cell] !== 0) return false;
    const isGap = cell % (REGION_CELLS + 1) === REGION_CELLS;
    return !isGap && !this.closing.has(this.regionIndex(cell));
  }

  /** New contents, as a program that uses its buffer again. */
  refill(cell: number): void {
    const words = this.#memory.uint32;
    let value = this.#random.nextUint32();
    const first = (cell * CELL_BYTES) / 4;
    for (let word = first; word < first + CELL_BYTES / 4; word++) {
      words[word] = value;
      value = (Math.imul(value, 0x9e3779b1) + 0x7f4a7c15) >>> 0;
    }
    this.#shadow.set(this.bytes(cell), cell * CELL_BYTES);
  }

  /** What stands there now is what shall stay. */
  adopt(cell: number): void {
    this.#shadow.set(this.bytes(cell), cell * CELL_BYTES);
  }

  /** Refuses new accesses to a region; it is closed when the last one is over. */
  beginClose(index: number): void {
    const region = this.#regions[index];
    if (region === undefined || this.closing.has(index)) return;
    this.#registry.beginClose(region);
    this.closing.set(index, region);
  }

  /** Registers anew what nobody uses any more. */
  pollClosing(): void {
    for (const [index, region] of this.closing) {
      if (this.#registry.users(region) > 0) continue;
      void this.#plugin?.plugin.regions.remove(region);
      this.#registry.finishClose(region);
      this.stale.push(region.descriptor);
      this.closing.delete(index);
      this.register(index);
    }
  }

  users(): number {
    return this.#regions.reduce((sum, region) => sum + this.#registry.users(region), 0);
  }

  giveBack(cells: readonly number[]): void {
    for (const cell of cells) {
      this.refill(cell);
      this.#lent[cell] = 0;
    }
  }

  bytes(cell: number): Uint8Array {
    return this.#memory.uint8.subarray(cell * CELL_BYTES, (cell + 1) * CELL_BYTES);
  }

  shadow(cell: number): Uint8Array {
    return this.#shadow.subarray(cell * CELL_BYTES, (cell + 1) * CELL_BYTES);
  }

  checkShadow(cell: number): void {
    if (Buffer.compare(this.bytes(cell), this.shadow(cell)) === 0) return;
    const at = this.bytes(cell).findIndex((byte, index) => byte !== this.shadow(cell)[index]);
    throw new Violation(
      `memory of ${this.name}: cell ${cell} changed at byte ${at} although no transfer owns it`,
    );
  }

  checkFree(): void {
    for (let cell = 0; cell < CELLS; cell++) if (this.#lent[cell] === 0) this.checkShadow(cell);
  }

  destroy(): void {
    spare.push({ memory: this.#memory, shadow: this.#shadow });
  }
}
