// Zero for a field that may hold 2^31 or more, or a fraction. A field that starts as a small
// integer changes its object's shape when it grows beyond one, and V8 then throws away all code
// that it compiled for that shape: in the middle of the traffic, after the first 2 GiB. Minus zero
// is no small integer, and counts like any other.

export const FLOAT_ZERO = -0;
