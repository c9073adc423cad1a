// A few SVG shapes as text; numbers are rounded and every text is escaped.

import { plainText } from '../../base/foreign-text.js';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Paint {
  readonly fill?: string;
  readonly stroke?: string;
  readonly radius?: number;
  readonly dash?: string;
  readonly strokeWidth?: number;
  /** Of the fill, 0 to 1. */
  readonly opacity?: number;
}

export interface Lettering {
  readonly size: number;
  readonly fill?: string;
  readonly weight?: number;
  readonly anchor?: 'start' | 'middle' | 'end';
}

export function svgRect(box: Box, paint: Paint): string {
  const { x, y, width, height } = box;
  return (
    `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"` +
    `${paint.radius === undefined ? '' : ` rx="${paint.radius}"`}${paintText(paint)}/>`
  );
}

export function svgText(x: number, y: number, text: string, lettering: Lettering): string {
  const { size, fill = '#1f2328', weight, anchor = 'start' } = lettering;
  return (
    `<text x="${round(x)}" y="${round(y)}" font-size="${size}" fill="${fill}"` +
    (weight === undefined ? '' : ` font-weight="${weight}"`) +
    `${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}>${escapeXml(text)}</text>`
  );
}

/** Straight pieces from point to point. */
export function svgPolyline(
  points: readonly { readonly x: number; readonly y: number }[],
  paint: Paint,
): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const pieces = rest.map(({ x, y }) => `L${round(x)} ${round(y)}`).join(' ');
  const path = `M${round(first.x)} ${round(first.y)} ${pieces}`;
  return `<path d="${path}"${paintText({ fill: 'none', ...paint })}/>`;
}

function paintText({ fill, stroke, dash, strokeWidth, opacity }: Paint): string {
  return (
    ` fill="${fill ?? 'none'}"` +
    (opacity === undefined ? '' : ` fill-opacity="${round(opacity)}"`) +
    (stroke === undefined ? '' : ` stroke="${stroke}"`) +
    (strokeWidth === undefined ? '' : ` stroke-width="${strokeWidth}"`) +
    (dash === undefined ? '' : ` stroke-dasharray="${dash}"`)
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

export function escapeXml(text: string): string {
  return plainText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
