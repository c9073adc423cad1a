// Small readings shared by the sysfs readers: one number, one CPU list, one link.

import { parseCpuList, parseCpuMask } from '../../base/cpu-set.js';
import type { HostFiles } from './host-files.js';

export function readLine(files: HostFiles, path: string): string | undefined {
  const text = files.read(path)?.trim();
  return text === '' ? undefined : text;
}

/** A whole number; undefined when there is none. */
export function readNumber(files: HostFiles, path: string): number | undefined {
  return parseWhole(readLine(files, path));
}

export function parseWhole(text: string | undefined): number | undefined {
  if (text === undefined || !/^-?\d+$/.test(text)) return undefined;
  return Number(text);
}

/** Node numbers: -1 means that the platform gave none, which is not node 0. */
export function readNode(files: HostFiles, path: string): number | undefined {
  const node = readNumber(files, path);
  return node === undefined || node < 0 ? undefined : node;
}

export function readCpuList(files: HostFiles, path: string): number[] | undefined {
  const text = files.read(path)?.trim();
  // `(null)` is what nohz_full prints when it is off.
  return text === undefined ? undefined : text === '(null)' ? [] : parseCpuList(text);
}

export function readCpuMask(files: HostFiles, path: string): number[] | undefined {
  const text = files.read(path);
  return text === undefined ? undefined : parseCpuMask(text);
}

/** Last name of what a link leads to: the driver behind `driver`, the group of `iommu_group`. */
export function readLinkName(files: HostFiles, path: string): string | undefined {
  const real = files.realPath(path);
  return real === undefined ? undefined : real.slice(real.lastIndexOf('/') + 1);
}
