// The payload that `tcpx bench` writes and verifies: tests of the data path check with the same.

export { fillPattern, findMismatch } from '../bench/pattern.js';
