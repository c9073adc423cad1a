// Places of clients, the lowest free one first: a client's listening port is its place in the range
// of session.port, so those of clients that went are used again before the range grows.

import { assert } from '../base/assert.js';

export class Places {
  readonly #taken = new Set<number>();

  take(): number {
    let place = 0;
    while (this.#taken.has(place)) place++;
    this.#taken.add(place);
    return place;
  }

  giveBack(place: number): void {
    assert(this.#taken.delete(place), 'a place is given back once, by who took it');
  }
}
