// TCP_INFO: what the kernel knows about one connection. Older kernels give a shorter struct;
// fields beyond it are undefined.

import { IPPROTO_TCP, readSocketOption } from './socket.js';

const TCP_INFO = 11;
const INFO_BYTES_MAX = 320;

export interface TcpInfo {
  readonly state: number;
  /** Retransmissions and window probes since the peer's kernel last answered. */
  readonly unansweredRetransmits: number;
  readonly unansweredProbes: number;
  readonly rttUs: number;
  readonly rttVarUs: number;
  readonly congestionWindow: number;
  readonly unackedSegments: number;
  readonly retransmitsTotal: number;
  readonly bytesAcked: number | undefined;
  readonly bytesReceived: number | undefined;
  readonly notSentBytes: number | undefined;
  readonly rttMinUs: number | undefined;
  readonly deliveryRateBps: number | undefined;
  readonly busyUs: number | undefined;
  readonly receiveLimitedUs: number | undefined;
  readonly sendBufferLimitedUs: number | undefined;
}

export function readTcpInfo(fd: number): TcpInfo {
  return decodeTcpInfo(readSocketOption(fd, IPPROTO_TCP, TCP_INFO, INFO_BYTES_MAX));
}

/** Pure: offsets of struct tcp_info, stable since each field was added. */
export function decodeTcpInfo(bytes: Uint8Array): TcpInfo {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (offset: number): number => view.getUint32(offset, true);
  const optionalWord = (offset: number): number | undefined =>
    offset + 4 <= bytes.byteLength ? word(offset) : undefined;
  const optionalLong = (offset: number): number | undefined =>
    offset + 8 <= bytes.byteLength ? word(offset) + word(offset + 4) * 2 ** 32 : undefined;
  return {
    state: view.getUint8(0),
    unansweredRetransmits: view.getUint8(2),
    unansweredProbes: view.getUint8(3),
    unackedSegments: word(24),
    rttUs: word(68),
    rttVarUs: word(72),
    congestionWindow: word(80),
    retransmitsTotal: word(100),
    bytesAcked: optionalLong(120),
    bytesReceived: optionalLong(128),
    notSentBytes: optionalWord(144),
    rttMinUs: optionalWord(148),
    deliveryRateBps: optionalLong(160),
    busyUs: optionalLong(168),
    receiveLimitedUs: optionalLong(176),
    sendBufferLimitedUs: optionalLong(184),
  };
}
