// Names of hosts by getaddrinfo, for callers that cannot wait for the event loop: it blocks.

import { bindFunction, viewMemory } from './library.js';
import { SCRATCH_BYTES, scratchAddr, scratchView, writeScratchString } from './scratch.js';
import { decodeSocketAddress } from './socket-address.js';

const SOCK_STREAM = 1;

// struct addrinfo: what it asks for and what it answers, as on 64-bit Linux.
const SOCKTYPE_OFFSET = 8;
const ADDRLEN_OFFSET = 16;
const ADDR_OFFSET = 24;
const NEXT_OFFSET = 40;
const ADDRINFO_BYTES = 48;

const HINTS_AT = SCRATCH_BYTES / 2;
const RESULT_AT = HINTS_AT + ADDRINFO_BYTES;

const getaddrinfoC = bindFunction<
  (name: number, service: number, hints: number, result: number) => number
>('int getaddrinfo(uintptr_t name, uintptr_t service, uintptr_t hints, uintptr_t result)');
const freeaddrinfoC = bindFunction<(list: number) => void>('void freeaddrinfo(uintptr_t list)');

/** Addresses of a name in the resolver's order; none where it has none. */
export function addressesOfName(name: string): string[] {
  writeScratchString(0, name);
  for (let at = HINTS_AT; at < RESULT_AT; at++) scratchView.setUint8(at, 0);
  scratchView.setInt32(HINTS_AT + SOCKTYPE_OFFSET, SOCK_STREAM, true);
  const code = getaddrinfoC(scratchAddr, 0, scratchAddr + HINTS_AT, scratchAddr + RESULT_AT);
  if (code !== 0) return [];
  const list = Number(scratchView.getBigUint64(RESULT_AT, true));
  try {
    return readAddresses(list);
  } finally {
    freeaddrinfoC(list);
  }
}

function readAddresses(list: number): string[] {
  const hosts: string[] = [];
  for (let at = list; at !== 0; ) {
    const entry = new DataView(viewMemory(at, ADDRINFO_BYTES));
    const bytes = entry.getUint32(ADDRLEN_OFFSET, true);
    const addr = Number(entry.getBigUint64(ADDR_OFFSET, true));
    hosts.push(decodeSocketAddress(new DataView(viewMemory(addr, bytes)), 0).host);
    at = Number(entry.getBigUint64(NEXT_OFFSET, true));
  }
  return hosts;
}
