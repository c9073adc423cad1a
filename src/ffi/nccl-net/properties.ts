// Properties of one device of a plugin: decoded from its struct, and compared between devices.

import type { PropertyKind, PropertyLayout } from './table-layout.js';

export type PropertyValue = string | number | null;
export type DeviceProperties = Readonly<Record<string, PropertyValue>>;

/** Reads the NUL-terminated string at an address of the plugin's memory. */
export type ReadText = (addr: number) => string;

export function decodeProperties(
  layout: PropertyLayout,
  view: DataView,
  readText: ReadText,
): DeviceProperties {
  const properties: Record<string, PropertyValue> = {};
  for (const [name, offset, kind] of layout.fields) {
    properties[name] = decodeField(view, offset, kind, readText);
  }
  return properties;
}

function decodeField(
  view: DataView,
  offset: number,
  kind: PropertyKind,
  readText: ReadText,
): PropertyValue {
  switch (kind) {
    case 'int':
      return view.getInt32(offset, true);
    case 'float':
      return view.getFloat32(offset, true);
    case 'size':
      return Number(view.getBigUint64(offset, true));
    case 'u64':
      // A guid may use all 64 bits; as text it stays exact.
      return `0x${view.getBigUint64(offset, true).toString(16)}`;
    case 'text': {
      const addr = Number(view.getBigUint64(offset, true));
      return addr === 0 ? null : readText(addr);
    }
  }
}

/** What names a device; every device has its own, so it is no difference. */
const IDENTITY: readonly string[] = ['name', 'pciPath', 'guid'];

export interface PropertyDifference {
  readonly property: string;
  /** One value per device, in device order. */
  readonly values: readonly PropertyValue[];
}

export function propertyDifferences(devices: readonly DeviceProperties[]): PropertyDifference[] {
  const [first] = devices;
  if (first === undefined) return [];
  return Object.keys(first)
    .filter((property) => !IDENTITY.includes(property))
    .map((property) => ({ property, values: devices.map((device) => device[property] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== values[0]));
}

const POINTER_NAMES: readonly (readonly [number, string])[] = [
  [1, 'host'],
  [2, 'cuda'],
  [4, 'dmabuf'],
];

/** `3` → `host+cuda`. */
export function pointerSupportName(mask: number): string {
  const names = POINTER_NAMES.filter(([bit]) => (mask & bit) !== 0).map(([, name]) => name);
  return names.length === 0 ? 'none' : names.join('+');
}

const NET_DEVICE_NAMES = ['host', 'unpack'];

export function netDeviceName(type: number): string {
  return NET_DEVICE_NAMES[type] ?? `type ${type}`;
}
