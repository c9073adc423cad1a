// A socket as a frame: a bar for each cache that its cores share, the cores below it, and what each
// core has for itself.

import { formatBytes } from '../../base/units.js';
import { sharedText, type TopologyCache, type TopologySocket } from './sockets.js';
import { type Box, svgRect, svgText } from './svg-shapes.js';
import { type CoreCell, type CpuMark, drawCores } from './topo-svg-cores.js';

export interface SocketDrawing {
  readonly shapes: readonly string[];
  readonly height: number;
}

const INSET = 4;
const TITLE_HEIGHT = 18;
const BAR_HEIGHT = 16;
const GREY = { size: 10, fill: '#57606a' } as const;

export function drawSocket(
  socket: TopologySocket,
  cells: readonly CoreCell[],
  markOf: (cpu: number) => CpuMark,
  place: Pick<Box, 'x' | 'y' | 'width'>,
): SocketDrawing {
  const threadCount = Math.max(1, ...cells.map(({ threads }) => threads.length));
  const isShared = ({ cpuCount }: TopologyCache) => (cpuCount ?? 0) > threadCount;
  const inner = { x: place.x + INSET, width: place.width - 2 * INSET };
  const shapes: string[] = [];
  shapes.push(svgText(inner.x + 4, place.y + 13, `socket ${socket.id}`, { ...GREY, weight: 600 }));
  const own = socket.caches.filter((cache) => !isShared(cache));
  if (own.length > 0) {
    const text = `each core: ${own.map(cacheText).join('  ·  ')}`;
    const right = inner.x + inner.width - 4;
    shapes.push(svgText(right, place.y + 13, text, { ...GREY, anchor: 'end' }));
  }
  let y = place.y + TITLE_HEIGHT;
  for (const cache of socket.caches.filter(isShared)) {
    const bar = { ...inner, y, height: BAR_HEIGHT - 3 };
    const text = `${cacheText(cache)} ${sharedText(cache.cpuCount)}`;
    const middle = inner.x + inner.width / 2;
    shapes.push(svgRect(bar, { fill: '#fff8c5', stroke: '#d4a72c', radius: 3 }));
    shapes.push(svgText(middle, y + 9.6, text, { size: 9, fill: '#633c01', anchor: 'middle' }));
    y += BAR_HEIGHT;
  }
  const grid = drawCores(cells, markOf, { ...inner, y });
  const height = y + grid.height + INSET - place.y;
  const frame = svgRect({ ...place, height }, { fill: '#ffffff', stroke: '#d0d7de', radius: 6 });
  return { shapes: [frame, ...shapes, ...grid.shapes], height };
}

function cacheText({ name, sizeBytes }: TopologyCache): string {
  return `${name} ${formatBytes(sizeBytes)}`;
}
