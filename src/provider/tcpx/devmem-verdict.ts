// Whether data came through device memory: packets that each NIC has counted before and after, and
// the rule about them. They are the only proof. Judged NIC by NIC: in a sum one that stands still
// hides behind another. Pure.

/** Of a NIC's statistics. */
export const DEVMEM_COUNTER = 'rx_devmem_pkts';

/** What a NIC of the receiving end had taken in at some moment. */
export interface NicIntake {
  readonly nic: string;
  /** Through the channels of the provider, since it was opened. */
  readonly bytes: number;
  /** In device memory, as the NIC counts them; −1 where it does not. */
  readonly packets: number;
}

/** Whether data came through the device memory of the NICs that received it. */
export interface DevmemVerdict {
  /** The worst of the NICs: `failed` where one failed, else `unknown` where one is not counted. */
  readonly verdict: 'good' | 'failed' | 'unknown';
  /** Packets of all NICs in the time that is judged; −1 where one does not count them. */
  readonly packets: number;
  /** Of each NIC that has one. */
  readonly reason: string;
  /** Of the receiving end. */
  readonly nics: readonly NicDevmem[];
}

/** The same of one NIC. */
export interface NicDevmem {
  /** Its interface. */
  readonly nic: string;
  /** What it received in the time that is judged; −1 where nobody has looked. */
  readonly bytes: number;
  /** Device-memory packets in that time; −1 where it does not count them. */
  readonly packets: number;
  /** `failed`: data arrived without device-memory packets, or host receives had some. */
  readonly verdict: 'good' | 'failed' | 'unknown' | 'idle';
  /** Of a verdict that is not good; else empty. */
  readonly reason: string;
}

/** Data that arrived without a device-memory packet did not come that way, whatever was said. */
export function judgeDevmem(
  before: readonly NicIntake[],
  after: readonly NicIntake[],
  isHostRecv: boolean,
): DevmemVerdict {
  const nics = after.map((now) => {
    const then = before.find(({ nic }) => nic === now.nic);
    return judgeNic(then ?? { nic: now.nic, bytes: 0, packets: -1 }, now, isHostRecv);
  });
  const having = (verdict: NicDevmem['verdict']) => nics.filter((nic) => nic.verdict === verdict);
  const reasons = nics.flatMap(({ nic, reason }) => (reason === '' ? [] : [`${nic}: ${reason}`]));
  const isCounted = nics.length > 0 && nics.every(({ packets }) => packets >= 0);
  const packets = isCounted ? nics.reduce((sum, nic) => sum + nic.packets, 0) : -1;
  const common = { packets, reason: reasons.join('; '), nics };
  if (having('failed').length > 0) return { verdict: 'failed', ...common };
  if (having('unknown').length > 0) return { verdict: 'unknown', ...common };
  if (nics.length > 0) return { verdict: 'good', ...common };
  return { verdict: 'unknown', ...common, reason: 'no NIC was looked at' };
}

function judgeNic(before: NicIntake, after: NicIntake, isHostRecv: boolean): NicDevmem {
  const bytes = after.bytes - before.bytes;
  const isCounted = before.packets >= 0 && after.packets >= 0;
  const packets = isCounted ? after.packets - before.packets : -1;
  const facts = { nic: after.nic, bytes, packets };
  if (bytes === 0) return { ...facts, verdict: 'idle', reason: '' };
  if (!isCounted) return { ...facts, verdict: 'unknown', reason: `no ${DEVMEM_COUNTER}` };
  if (isHostRecv && packets > 0) {
    return { ...facts, verdict: 'failed', reason: 'host receives went through device memory' };
  }
  if (!isHostRecv && packets === 0) {
    return { ...facts, verdict: 'failed', reason: 'data arrived, but not through device memory' };
  }
  return { ...facts, verdict: 'good', reason: '' };
}
