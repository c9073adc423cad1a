// A frame as a table of fields, declared once: sizes are checked when the module loads, and
// docs/protocol.md prints the same table.

import { assert } from '../base/assert.js';

export interface FrameField {
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  readonly meaning: string;
}

/** Checks that the fields tile the frame without gap or overlap, and returns them. */
export function declareFrame(bytes: number, fields: readonly FrameField[]): readonly FrameField[] {
  let end = 0;
  for (const field of fields) {
    assert(field.offset === end, `${field.name} starts at ${end}`);
    end += field.bytes;
  }
  assert(end === bytes, `fields fill ${bytes} bytes`);
  return fields;
}
