// Lines of the plugin's log that mean trouble: how to know them, what they mean, what causes them
// and what helps. Patterns are fragments that no other line has.

export interface CatalogueEntry {
  readonly id: string;
  readonly pattern: RegExp;
  /** fatal: the process ends with it. */
  readonly level: 'note' | 'warning' | 'fatal';
  readonly meaning: string;
  readonly cause: string;
  readonly remedy: string;
}

type Words = readonly [meaning: string, cause: string, remedy: string];

function entry(
  id: string,
  level: CatalogueEntry['level'],
  pattern: RegExp,
  [meaning, cause, remedy]: Words,
): CatalogueEntry {
  return { id, level, pattern, meaning, cause, remedy };
}

const RECEIVE: readonly CatalogueEntry[] = [
  entry('no-cmsg', 'fatal', /\brx no cmsg\b/, [
    'data came, and not into device memory',
    'no device-memory kernel, a peer on the same host, no steering rule, a rule for another GPU',
    'see the verdict devmem.no-cmsg',
  ]),
  entry('host-memory', 'fatal', /data landed on host memory|copied \d+ bytes to user buffer/, [
    'payload in the part that goes to host memory',
    'header split off, a wrong queue, or packets too small',
    'ethtool header split, MTU, steering rules',
  ]),
  entry('cmsg-truncated', 'fatal', /cmsg truncated/, [
    'more than 2048 fragments in one receive',
    'tiny fragments',
    'a larger MTU, or smaller chunks',
  ]),
  entry('cmsg-bytes', 'fatal', /cmsg total bytes \d+, expected \d+/, [
    'fragments do not cover what was received',
    'kernel and driver do not belong together',
    'matching kernel and driver',
  ]),
  entry('too-many-fragments', 'fatal', /segs, failstop|request too many pages/, [
    'more fragments than a request holds',
    'a message larger than the chunk, or tiny fragments',
    'messages no larger than the chunk, chunks no larger than 512 KiB',
  ]),
  entry('unknown-cmsg', 'note', /cmsg: unknown \d+\.\d+/, [
    'a control message of another kernel',
    'mainline device memory, or timestamps',
    'the kernel of the TCPX image',
  ]),
  entry('recycle', 'warning', /do_recycle_devmem_batch/, [
    'fragments could not be given back',
    'the socket was closed first, or another kernel',
    'consume before close',
  ]),
  entry('recv-timeout', 'warning', /recv timeout error 11/, [
    'control came ten seconds ago, its data did not',
    'loss, steering, or no device-memory pages left',
    'retransmits, rules, pages; consume sooner',
  ]),
  entry('control-timeout', 'warning', /rx ctrl timeout cnt/, [
    'no control record for ten seconds',
    'an idle or a stuck sender',
    'look at the sender; harmless when it was idle',
  ]),
];

const REQUESTS: readonly CatalogueEntry[] = [
  entry('pool-exhausted', 'warning', /unable to allocate requests/, [
    'all 16 requests of a connection are in use',
    'the caller has more in flight than 16, receives not yet consumed included',
    'a window of 16 at most; consume before the next receive',
  ]),
  entry('bad-test', 'warning', /test called with (?:invalid|NULL) request/, [
    'the order of requests was broken',
    'a request other than the oldest was tested, or one that was done',
    'test the oldest only, each until done once',
  ]),
  entry('bad-consumed', 'warning', /irecvConsumed called with/, [
    'a receive was consumed out of turn',
    'twice, too early or out of order',
    'consume each once, in order, when done',
  ]),
  entry('queue-full', 'warning', /no more socket direct task queue slot/, [
    '16 receives wait to be consumed',
    'the consumer is too slow',
    'consume sooner',
  ]),
  entry('not-registered', 'warning', /mhandle is null/, [
    'memory without registration',
    'no regMr, or its handle was lost',
    'register on the connection that is used',
  ]),
  entry('unaligned', 'warning', /data not aligned/, [
    'a pointer that is not on 4 KiB',
    'a buffer from an ordinary allocator',
    'memory of page alignment',
  ]),
  entry('unconsumed-close', 'warning', /some pages not yet freed/, [
    'closed while receives were not consumed',
    'the caller',
    'consume before close',
  ]),
];

const SETUP: readonly CatalogueEntry[] = [
  entry('no-interface', 'warning', /\bno interface found\b/, [
    'the interface list matches nothing',
    'a wrong SOCKET_IFNAME, or a container without the host network',
    'correct NCCL_GPUDIRECTTCPX_SOCKET_IFNAME',
  ]),
  entry('no-control', 'warning', /no ctrl interface found/, [
    'the control interface matches nothing, data NICs are used',
    'a wrong CTRL_DEV',
    'correct NCCL_GPUDIRECTTCPX_CTRL_DEV',
  ]),
  entry('virtual-nic', 'note', /pci_path \(null\)/, [
    'a NIC without a device',
    'loopback, veth or a pod network',
    'the host network and a real NIC',
  ]),
  entry('rxdm-absent', 'warning', /receive-datapath-manager.*error: 2\b/, [
    'no socket of the receive manager',
    'it does not run, or its folder is not mounted here',
    'start it, with the same UNIX_CLIENT_PREFIX',
  ]),
  entry('rxdm-refused', 'warning', /receive-datapath-manager.*error: (?:111|13)\b/, [
    'the socket of the receive manager does not answer',
    'it crashed and left its socket, or another user',
    'restart it; check mode and owner',
  ]),
  entry('rule-refused', 'warning', /Create FlowSteerRule Failed/, [
    'a steering rule was refused',
    'the table of the NIC is full, or an unknown GPU',
    'fewer connections; the log of the receive manager',
  ]),
  entry('connect-failed', 'warning', /Connect to \S+ from \S+ failed|failed to connect socket/, [
    'TCP could not connect',
    'firewall, a wrong subnet, or the peer has gone',
    'routes and firewall; the peer’s log',
  ]),
  entry('accept-failed', 'warning', /failed accept socket/, [
    'retries of an accept are used up',
    'the receive manager, or the peer',
    'the lines before it; the peer’s log',
  ]),
  entry(
    'bounce-import',
    'fatal',
    /gpumem fd client connect failed|GPU fd not found|recv metadata failed/,
    [
      'the bounce buffer of a GPU could not be had',
      'the receive manager does not serve this GPU',
      'its list of GPUs, and their PCI form',
    ],
  ),
  entry('too-many-sockets', 'warning', /the total number of sockets is greater than/, [
    'sockets times threads is more than 8',
    'NSOCKS_PERTHREAD times NTHREADS',
    'lower one of them',
  ]),
  entry('binding-range', 'warning', /invalid range \S+/, [
    'a part of a binding was left out',
    'a single core without a dash',
    'write 8-8',
  ]),
  entry('no-gpu', 'warning', /no cuDevices found/, [
    'no GPU is visible',
    'device files or the driver are not mounted',
    'check nvidia-smi where the program runs',
  ]),
  entry('cuda', 'fatal', /\bC(?:U|uda) failure\b|\bXid\b/, [
    'a call of the GPU’s driver failed',
    'driver and library do not match, or memory is short',
    'the driver; what the container mounts',
  ]),
  entry('dma-buf', 'warning', /cuMemGetHandleForAddressRange.*failed|gpu_tx_reg_mr failed/, [
    'GPU memory could not be exported',
    'no open kernel modules, sizes that are no pages, or another kernel',
    'driver, kernel, sizes',
  ]),
  entry('unpack-version', 'warning', /compiled with unmatching unpack versions/, [
    'plugin and NCCL disagree about unpacking',
    'builds of different headers',
    'builds that belong together',
  ]),
  entry('disabled', 'note', /GPUDirectTCPX disabled/, [
    'the plugin was switched off',
    'NCCL_GPUDIRECTTCPX_SOCKET_ENABLE=0',
    'unset it',
  ]),
];

const FLOW: readonly CatalogueEntry[] = [
  entry('peer-closed', 'warning', /Connection closed by remote peer/, [
    'the peer ended the connection',
    'it exited or failed',
    'the peer’s log first',
  ]),
  entry('send-failed', 'warning', /Call to socket op send\(0\).*failed/, [
    'a send failed, its request hangs',
    'reset, or memory whose registration has ended',
    'the peer; how long registrations live',
  ]),
  entry('completion-timeout', 'warning', /tx comp timeout/, [
    'sent, and not confirmed for ten seconds',
    'the receiver stands still, or loss',
    'the receiver’s state; retransmits',
  ]),
  entry('send-timeout', 'warning', /send timeout error 11/, [
    'a socket not writable for ten seconds',
    'a closed window: the receiver does not consume',
    'the consumer; device-memory pages',
  ]),
  entry('many-sends', 'warning', /more than 64 sends for/, [
    'zero-copy sends in small pieces',
    'limits of socket buffers',
    'net.core.optmem_max, tcp_wmem',
  ]),
  entry('recv-sync', 'warning', /Recv sync mismatch/, [
    'ends disagree about RECV_SYNC',
    'the variable differs',
    'the same value on both ends',
  ]),
];

export const PLUGIN_CATALOGUE: readonly CatalogueEntry[] = [
  ...RECEIVE,
  ...REQUESTS,
  ...SETUP,
  ...FLOW,
];

export function catalogued(text: string): CatalogueEntry | undefined {
  return PLUGIN_CATALOGUE.find(({ pattern }) => pattern.test(text));
}
