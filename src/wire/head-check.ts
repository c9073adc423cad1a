// Tables for the check of a data frame's head: what each byte of a word adds to a CRC-32 as zlib
// has it, by the place of the byte in its word.

const POLYNOMIAL = 0xedb88320;

export const LAST = byteSums();
export const THIRD = behindOneMore(LAST);
export const SECOND = behindOneMore(THIRD);
export const FIRST = behindOneMore(SECOND);

function byteSums(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let sum = byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 1) !== 0 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1;
    return sum;
  });
}

function behindOneMore(sums: Int32Array): Int32Array {
  return sums.map((sum) => (sum >>> 8) ^ LAST[sum & 255]!);
}
