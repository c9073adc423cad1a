// What the agent wants from a central metadata store, whichever it is.

export interface FetchedMetadata {
  readonly blob: Uint8Array;
  /** The store's revision when it was read; 0 in stores that count none. */
  readonly revision: bigint;
}

export interface MetadataStore {
  /** `etcd` or `tcpstore`: where metadata fetched from it is said to come from. */
  readonly origin: string;
  publish(label: string, blob: Uint8Array): Promise<void>;
  /** Waits for a key that is not there yet, as long as the store's setting says. */
  fetch(agent: string, label: string): Promise<FetchedMetadata>;
  /** Removes everything that this agent published. */
  withdraw(): Promise<void>;
  /**
   * Calls back once when the agent withdraws or dies after `sinceRevision`, that of its metadata;
   * stores that cannot tell never do.
   */
  watchPeer(agent: string, sinceRevision: bigint, onGone: () => void): void;
  close(): Promise<void>;
}

/** The label under which an agent's full metadata lies. */
export const FULL_LABEL = 'metadata';
