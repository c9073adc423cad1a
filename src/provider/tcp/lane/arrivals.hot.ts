// The peer's WRITE and NOTIFY frames: how many have come, how many of them have landed here (less
// while GPU copies are under way), how many of those it knows of.

import { assert } from '../../../base/assert.js';

/** Landed frames after which the peer is told even while more arrive. */
const ACK_EVERY = 4;

export class Arrivals {
  arrived = 0;
  landed = 0;
  ackSent = 0;
  /** Turns that an acknowledgement still waits for a frame to ride on. */
  ackDelayTurns = 0;

  /** A frame is complete; it lands at once, or when it has been copied. */
  onArrived(): void {
    this.arrived = (this.arrived + 1) | 0;
  }

  /** The oldest frame that had not is complete at its place. */
  onLanded(ackDelayTurns: number): void {
    assert(this.landed !== this.arrived, 'what lands has arrived');
    this.landed = (this.landed + 1) | 0;
    this.ackDelayTurns = ackDelayTurns;
  }

  /** A head that acknowledges all that has landed goes into the vector. */
  onAcked(): void {
    this.ackSent = this.landed;
  }

  /** A refusal acknowledges what came before the refused frame, and no more. */
  onAckedTo(sequence: number): void {
    this.ackSent = sequence | 0;
  }

  /** Whether a frame of its own must tell the peer; asked once per turn. */
  isAckDue(isMoreComing: boolean): boolean {
    const owed = (this.landed - this.ackSent) | 0;
    if (owed === 0) return false;
    if (owed >= ACK_EVERY) return true;
    if (isMoreComing) return false;
    if (this.ackDelayTurns === 0) return true;
    this.ackDelayTurns--;
    return false;
  }

  /** The channel ends: what has landed is told at once. */
  endDelay(): void {
    this.ackDelayTurns = 0;
  }
}
