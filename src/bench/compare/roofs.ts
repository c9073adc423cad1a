// What no transfer here can exceed: one core's memory copy, one plain stream over loopback, the
// links that the bytes went over, the copy between a GPU and the host.

import { isTcpxError } from '../../base/errors.js';
import { openFolderFiles } from '../../host/read/host-files.js';
import { COLD_BYTES, measureCopies } from '../../measure/copy-rate.js';
import { measurePcie, type PcieRates } from '../../measure/pcie-copy.js';
import { ThreadPair } from '../../measure/thread-pair.js';
import type { BenchResult } from '../bench-result.js';
import type { Roof } from './comparison.js';

const ANYWHERE = { first: [], second: [] } as const;
const GIGA = 1e9;
/** Of the bytes that were moved: a NIC with less had other traffic. */
const NIC_SHARE = 0.05;

/** Roofs that are measured in turn with the contenders. */
export class MeasuredRoofs {
  readonly #pair = new ThreadPair();
  readonly #copies: number[] = [];
  readonly #streams: number[] = [];

  async measure(congestion: string): Promise<void> {
    this.#copies.push(measureCopies(COLD_BYTES) * GIGA);
    const { gigabytesPerSecond } = await this.#pair.stream(congestion, ANYWHERE);
    this.#streams.push(gigabytesPerSecond * GIGA);
  }

  /** Each is a roof of one core or stream; `cores` of them receive at once. */
  roofs(isLoopback: boolean, cores: number): Roof[] {
    const many = cores > 1 ? `, times ${cores} receiving cores` : '';
    const times = (figures: readonly number[]) => figures.map((figure) => figure * cores);
    return [
      {
        name: 'memory copy',
        figures: times(this.#copies),
        detail: `one core, 64 MiB to 64 MiB${many}; a receiver copies every byte once`,
        applies: true,
      },
      {
        name: 'loopback',
        figures: times(this.#streams),
        detail: `a plain stream of 256 KiB that stay in the cache, no protocol${many}`,
        applies: isLoopback,
      },
    ];
  }

  close(): Promise<void> {
    return this.#pair.close();
  }
}

/** Of memory that is a GPU's; a GPU that refuses leaves the comparison as it is. */
export function gpuRoof(memory: string, measure: () => PcieRates | string = measurePcie): Roof {
  const name = 'GPU copy';
  if (memory !== 'vram') return { name, figures: [], detail: 'not in this path', applies: false };
  const rates = ratesOrReason(measure);
  if (typeof rates === 'string') return { name, figures: [], detail: rates, applies: true };
  const slower = Math.min(rates.toDeviceGBps, rates.toHostGBps) * GIGA;
  const detail = 'pinned memory to a GPU and back, the slower way';
  return { name, figures: [slower], detail, applies: true };
}

function ratesOrReason(measure: () => PcieRates | string): PcieRates | string {
  try {
    return measure();
  } catch (error) {
    if (isTcpxError(error)) return error.message;
    throw error;
  }
}

/** The NICs that the kernel counted our bytes on, by the speed of their links. */
export function linkRoof({ kernel, bytesMoved }: BenchResult): Roof {
  const name = 'link';
  if (kernel === undefined || bytesMoved === undefined) {
    return { name, figures: [], detail: 'not known which NICs had the bytes', applies: true };
  }
  const used = Object.entries(kernel.nics)
    .filter(([nic]) => nic !== 'lo')
    .filter(([, counts]) => trafficOf(counts) > NIC_SHARE * bytesMoved)
    .map(([nic]) => nic);
  if (used.length === 0)
    return { name, figures: [], detail: 'no link in this path', applies: false };
  const files = openFolderFiles('/');
  const speeds = used.map((nic) => Number(files.read(`/sys/class/net/${nic}/speed`)?.trim()));
  const unknown = used.filter((_, index) => !((speeds[index] ?? Number.NaN) > 0));
  if (unknown.length > 0) {
    const detail = `${unknown.join(', ')} tells no speed`;
    return { name, figures: [], detail, applies: true };
  }
  const bytesPerSecond = speeds.reduce((sum, megabits) => sum + (megabits * 1e6) / 8, 0);
  return { name, figures: [bytesPerSecond], detail: used.join(', '), applies: true };
}

function trafficOf(counts: Readonly<Record<string, number>>): number {
  const of = (name: string): number => counts[name] ?? Number.NaN;
  return Math.max(of('rx_bytes'), of('tx_bytes'));
}
