// The place of rank 0 through etcd: it puts its address under the name of the job, the others wait
// for it.

import { networkInterfaces } from 'node:os';
import { sleepMs } from '../base/clock.js';
import type { Config } from '../base/config.js';
import { formatEndpoint, parseEndpoint } from '../base/endpoint.js';
import { TcpxError } from '../base/errors.js';
import { EtcdClient } from '../nixl/etcd-client.js';
import { reachableAddress } from './client-line.js';

const PREFIX = '/nixl-tcpx/mesh/';
const CALL_MS = 5000;
const LOOK_MS = 200;
/** Nobody may find it long after all have come. */
const LEASE_MORE_S = 30;

export class MeshEtcd {
  readonly #client: EtcdClient;
  readonly #key: string;
  readonly #job: string;
  readonly #waitMs: number;
  readonly #config: Config;
  #lease: string | undefined;
  #isClosed = false;

  constructor(config: Config, job: string, waitMs: number) {
    const endpoints = config.values['nixl.etcdEndpoints'].split(',');
    const urls = endpoints.map((endpoint) => endpoint.trim().replace(/\/$/, ''));
    this.#client = new EtcdClient(urls, CALL_MS);
    this.#key = PREFIX + job;
    this.#job = job;
    this.#waitMs = waitMs;
    this.#config = config;
  }

  /** How others reach this machine. */
  get ownHost(): string {
    const { 'session.bind': bind, 'session.ctrlInterface': control } = this.#config.values;
    return reachableAddress(bind, control, networkInterfaces());
  }

  async publish(port: number): Promise<void> {
    const lease = await this.#client.grantLease(Math.ceil(this.#waitMs / 1000) + LEASE_MORE_S);
    this.#lease = lease;
    const place = formatEndpoint(this.ownHost, port);
    await this.#client.put(this.#key, Buffer.from(place), lease);
  }

  /** Whoever comes by the same name later must not find this mesh; nor is anybody looked for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const lease = this.#lease;
    this.#lease = undefined;
    // Where etcd is gone the lease runs out by itself.
    if (lease !== undefined) await this.#client.revokeLease(lease).catch(() => undefined);
  }

  async find(): Promise<{ readonly host: string; readonly port: number }> {
    const endMs = performance.now() + this.#waitMs;
    for (;;) {
      const { value } = await this.#client.get(this.#key);
      const { host, port } = value === undefined ? {} : parseEndpoint(value.toString());
      if (host !== undefined && port !== undefined) return { host, port };
      if (this.#isClosed || performance.now() > endMs) {
        throw new TcpxError(
          'ERR_PEER_TIMEOUT',
          `mesh: rank 0 of job ${this.#job} did not say in etcd where it is (${this.#key}), ` +
            `${this.#waitMs} ms (--wait)`,
        );
      }
      await sleepMs(LOOK_MS);
    }
  }
}
