// The lines from GPUs to their NICs: along the free margins of groups, so that none crosses the box
// of another device.

import type { Box } from './svg-shapes.js';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PlacedDevice {
  readonly box: Box;
  /** The group, a switch or a root bus, in which it is drawn. */
  readonly group: Box;
}

/** Free space at the left edge of each group, and below each row of GPUs. */
export const LINK_SPACE = 16;
const LANE_WIDTH = 3;
const LANES = Math.floor(LINK_SPACE / LANE_WIDTH) - 1;

/**
 * Down into the gap below the GPU, left into the margin of its group, along it to the NIC; to a NIC
 * of another group by way of the free strip below all groups. `lane` keeps lines apart.
 */
export function routeLink(
  gpu: PlacedDevice,
  nic: PlacedDevice,
  lane: number,
  bottom: number,
): readonly Point[] {
  const offset = LANE_WIDTH + (lane % LANES) * LANE_WIDTH;
  const startX = gpu.box.x + gpu.box.width / 2;
  const gapY = gpu.box.y + gpu.box.height + offset;
  const endY = nic.box.y + nic.box.height / 2;
  const ownX = gpu.group.x + offset;
  const start = [
    { x: startX, y: gpu.box.y + gpu.box.height },
    { x: startX, y: gapY },
    { x: ownX, y: gapY },
  ];
  if (gpu.group === nic.group) return [...start, { x: ownX, y: endY }, { x: nic.box.x, y: endY }];
  const farX = nic.group.x + offset;
  const stripY = bottom + offset;
  return [
    ...start,
    { x: ownX, y: stripY },
    { x: farX, y: stripY },
    { x: farX, y: endY },
    { x: nic.box.x, y: endY },
  ];
}
