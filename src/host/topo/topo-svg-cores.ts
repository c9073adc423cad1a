// The cores of one node as a grid: one cell per physical core, one half per hardware thread,
// coloured where a NIC's interrupts are delivered.

import { svgRect, svgText } from './svg-shapes.js';

export interface CoreCell {
  /** CPU numbers of the core's threads, ascending. */
  readonly threads: readonly number[];
}

/** What is known about one CPU. */
export interface CpuMark {
  /** Colours of the NICs whose interrupts arrive here. */
  readonly irqColours: readonly string[];
  /** Interrupts of NICs here, as a share of the busiest CPU's; undefined when no count is known. */
  readonly load: number | undefined;
  /** Lanes of some NIC are bound here. */
  readonly hasLane: boolean;
  readonly isOnline: boolean;
}

const CELL_WIDTH = 18;
const THREAD_HEIGHT = 11;
const GAP = 2;
const IDLE_FILL = '#e7eaee';

export interface CoreGrid {
  readonly shapes: readonly string[];
  readonly height: number;
}

export function drawCores(
  cells: readonly CoreCell[],
  markOf: (cpu: number) => CpuMark,
  place: { readonly x: number; readonly y: number; readonly width: number },
): CoreGrid {
  const perRow = Math.max(1, Math.floor((place.width + GAP) / (CELL_WIDTH + GAP)));
  const threadCount = Math.max(1, ...cells.map(({ threads }) => threads.length));
  const rowHeight = threadCount * THREAD_HEIGHT + 3 * GAP;
  const shapes: string[] = [];
  for (const [index, cell] of cells.entries()) {
    const x = place.x + (index % perRow) * (CELL_WIDTH + GAP);
    const y = place.y + Math.floor(index / perRow) * rowHeight;
    for (const [thread, cpu] of cell.threads.entries()) {
      shapes.push(...drawThread(cpu, markOf(cpu), x, y + thread * THREAD_HEIGHT));
    }
  }
  return { shapes, height: Math.ceil(cells.length / perRow) * rowHeight };
}

const FAINTEST = 0.4;

/** A CPU that may take interrupts and took few is drawn faint; its number stays readable. */
function loadPaint({ irqColours, load }: CpuMark): { readonly opacity?: number } {
  if (irqColours.length === 0 || load === undefined) return {};
  return { opacity: FAINTEST + (1 - FAINTEST) * load };
}

function drawThread(cpu: number, mark: CpuMark, x: number, y: number): string[] {
  const box = { x, y, width: CELL_WIDTH, height: THREAD_HEIGHT - 1 };
  const shapes: string[] = [];
  const colours = mark.irqColours.length === 0 ? [IDLE_FILL] : mark.irqColours;
  const part = CELL_WIDTH / colours.length;
  // Two NICs on one CPU: the cell shows both, side by side.
  for (const [index, fill] of colours.entries()) {
    const isOff = !mark.isOnline;
    shapes.push(
      svgRect(
        { ...box, x: x + index * part, width: part },
        isOff
          ? { fill: '#ffffff', stroke: '#c4cad1', dash: '2 2', radius: 2 }
          : { fill, radius: 2, ...loadPaint(mark) },
      ),
    );
  }
  if (mark.hasLane) shapes.push(svgRect(box, { stroke: '#24292f', strokeWidth: 1.4, radius: 2 }));
  const isMarked = mark.irqColours.length > 0;
  const ink = isMarked ? '#ffffff' : '#8b949e';
  const lettering = { size: 7, fill: ink, anchor: 'middle' } as const;
  shapes.push(svgText(x + CELL_WIDTH / 2, y + 7.6, String(cpu), lettering));
  return shapes;
}
