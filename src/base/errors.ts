// The closed list of failures. Each code has a class, a meaning and a remedy; docs/errors.md and
// docs/troubleshooting.md are generated from this table. Tests match codes, never text.

import { errorClassName } from './error-class.js';

/** What is known about an error code. */
export interface ErrorEntry {
  /** What has happened. */
  readonly meaning: string;
  /** What to do about it. */
  readonly remedy: string;
  /** Whether the same call may succeed later. */
  readonly isRetryable: boolean;
}

function entry(meaning: string, remedy: string, isRetryable = false): ErrorEntry {
  return { meaning, remedy, isRetryable };
}

/** Every code with its meaning, its remedy and whether the same call may succeed later. */
export const ERROR_CODES = {
  ERR_USAGE_ARGUMENT: entry(
    'an argument is missing, unknown or out of range',
    'Read the named argument in --help or docs/api.md and pass a value in its range.',
  ),
  ERR_USAGE_COMMAND: entry(
    'no such command or sub-command',
    'Run tcpx --help for the list of commands.',
  ),
  ERR_USAGE_STATE: entry(
    'a call came in a state that does not allow it',
    'Follow the order shown in docs/architecture.md; the message names the state.',
  ),
  ERR_USAGE_REGION_BUSY: entry(
    'a region was deregistered while transfers use it',
    'Await the transfers first, or give deregister a time to wait.',
  ),
  ERR_USAGE_NOT_FOUND: entry(
    'no such agent, backend, plugin or registered range is known here',
    'Load the peer’s metadata, register the range or create the backend that the message names.',
  ),
  ERR_USAGE_NOT_SUPPORTED: entry(
    'the operation or memory type is not offered here',
    'The message names what is offered instead.',
  ),
  ERR_USAGE_NO_TELEMETRY: entry(
    'telemetry was asked for while it is off',
    'Create the agent with captureTelemetry, or set NIXL_TELEMETRY_ENABLE=true.',
  ),
  ERR_USAGE_ABORTED: entry(
    'the caller’s AbortSignal ended the wait',
    'Nothing to do: the program asked for it; the cause is the signal’s reason.',
  ),
  ERR_CONFIG_VALUE: entry(
    'a setting has a value outside its type or range',
    'The message names the setting, the value, the range and where it came from; correct it there.',
  ),
  ERR_CONFIG_UNKNOWN: entry(
    'a setting or a variable NIXL_TCPX_… has a name that does not exist',
    'The message names the nearest one; tcpx config lists all.',
  ),
  ERR_CONFIG_CONFLICT: entry(
    'two settings exclude each other',
    'The message names both; change one.',
  ),
  ERR_CONFIG_MISMATCH: entry(
    'the two peers disagree on a setting that must agree',
    'Start both ends with the same value of the named setting.',
  ),
  ERR_CAP_PLATFORM: entry(
    'the operating system or processor is not supported',
    'Run on Linux x86-64 or arm64 with Node 20.19 or newer.',
  ),
  ERR_CAP_BUNDLED: entry(
    'the package was bundled into a program, without the files that it starts as threads',
    'Name nixl-tcpx as external in the bundler, and install it where the program runs.',
  ),
  ERR_CAP_HUGE_PAGES: entry(
    'huge pages were demanded and the kernel has none to give',
    'Reserve them (vm.nr_hugepages) or allocate with pages: "prefer-huge".',
  ),
  ERR_CAP_SHARED_MEMORY: entry(
    'shared memory was asked for, and the two ends do not share any',
    'Run both ends on one host, in one network namespace; or use --local auto, or tcp.',
  ),
  ERR_CAP_PERMISSION: entry(
    'the operation needs a privilege this process lacks',
    'Run as root or with the capability that the message names.',
  ),
  ERR_CAP_QUOTA: entry(
    'a client of the node service has used up what it may have',
    'Release what is not needed, or raise the service.… setting that the message names.',
  ),
  ERR_CAP_CLIENT_MEMORY: entry(
    'the node service cannot reach memory of its client in the way that was asked for',
    'The message says why: same user and PID namespace, sealed files, or memory of tcpx_alloc.',
  ),
  ERR_CAP_MISSING_TOOL: entry(
    'a program that this command drives is not installed',
    'Install the package that the message names.',
  ),
  ERR_CAP_HOST: entry(
    'the host does not tell what the command needs to know',
    'Run it where /proc and /sys are complete, or name what the message says is unknown.',
  ),
  ERR_CAP_BASELINE: entry(
    'a change was asked for and no measurement from before it exists',
    'Run the benchmark first and record it with tcpx irq baseline, or pass --no-baseline.',
  ),
  ERR_CAP_IRQBALANCE: entry(
    'irqbalance runs and would undo the bindings',
    'Ban the interrupts as the message says, or stop irqbalance, then apply again.',
  ),
  ERR_CAP_NET_PLUGIN: entry(
    'no NCCL net plugin could be loaded',
    'Install the plugin, or name it with --plugin or UCCL_TCPX_PLUGIN_PATH; the message lists ' +
      'what was tried and why it failed. To try the path without one: --plugin emulator.',
  ),
  ERR_CAP_NET_PLUGIN_TABLE: entry(
    'the library has no NCCL net function table of a version that we speak',
    'Use a plugin with a table of version 7 to 11; the message names what the library exports.',
  ),
  ERR_CAP_NET_DEVICE: entry(
    'a named interface is not among the plugin’s devices',
    'Correct the interface list; tcpx devices without it shows what the plugin finds.',
  ),
  ERR_CAP_SOCKET_BUDGET: entry(
    'the data sockets that a NIC allows are held by other channels or processes',
    'Use fewer channels or sockets, end the named holder, or set tcpx.socketBudget.',
  ),
  ERR_NCCLNET_HUNG: entry(
    'a call into the NCCL net plugin did not return; its process was ended',
    'The message names the call and the channel; see the plugin’s last lines and the NIC.',
    true,
  ),
  ERR_CAP_CHECKSUM: entry(
    'flow.checksum is on and no CRC-32 code was found',
    'Use an ordinary build of Node, or install zlib; the message lists what was probed.',
  ),
  ERR_CAP_GPU: entry(
    'no usable NVIDIA GPU: the driver library, the device or a capability of it is absent',
    'The message names what was probed; install the driver, or give the container the GPU.',
  ),
  ERR_CAP_PLUGIN: entry(
    'a backend plugin could not be loaded or is not one',
    'The message names the module and the rule it broke; install a plugin of this API version.',
  ),
  ERR_CAP_BACKEND: entry(
    'no backend of this agent can do it, or the backend refused',
    'Create a backend that supports the memory type, the peer and notifications.',
  ),
  ERR_SYS_CALL: entry(
    'a system call failed',
    'The message names the call, its errno and the object; the errno tells what to change.',
  ),
  ERR_SYS_DESCRIPTORS: entry(
    'the process, or the machine, has no file descriptors left',
    'Raise the limit (ulimit -n, LimitNOFILE= of a unit, fs.file-max): a channel takes three.',
  ),
  ERR_SYS_ADDRESS_IN_USE: entry(
    'the port to listen on is taken',
    'Choose another with --port, or end the process that holds it (ss -ltnp).',
  ),
  ERR_SYS_RESOLVE: entry(
    'a host name could not be resolved',
    'Check the name, or give an address.',
  ),
  ERR_NCCLNET_CALL: entry(
    'a call into the NCCL net plugin returned an error',
    'Read the plugin’s warnings (--log-level info); they name the cause.',
  ),
  ERR_NCCLNET_EXIT: entry(
    'the process that hosts the NCCL net plugin died, or had to be ended',
    'Read the plugin’s last lines in the message; the plugin ends its process on data-path errors.',
  ),
  ERR_CUDA_CALL: entry(
    'a CUDA driver call failed',
    'The message names the call, its object and the driver’s word for the result.',
  ),
  ERR_NCCLNET_SCATTER_LIST: entry(
    'what the plugin says about a receive breaks a rule: its device handle, or the count, bounds ' +
      'or sum of its fragments',
    'Never expected: the message names the rule and the fragment. Report it with both versions.',
  ),
  ERR_WIRE_MAGIC: entry(
    'the first bytes of a connection are not ours',
    'Something else speaks on that port: check address and port on both ends.',
  ),
  ERR_WIRE_VERSION: entry(
    'the peer speaks another protocol version',
    'Install the same major version of nixl-tcpx on both ends.',
  ),
  ERR_WIRE_FRAME: entry(
    'a frame is malformed: unknown kind, bad length, non-zero reserved bytes',
    'A bug or a hostile peer; the message names the rule. Report it with both versions.',
  ),
  ERR_WIRE_STATE: entry(
    'a well-formed frame arrived in a state that does not allow it',
    'A bug or a hostile peer; the message names the state. Report it with both versions.',
  ),
  ERR_WIRE_LIMIT: entry(
    'the peer exceeded a limit: window, descriptor count, frame size',
    'Raise the named setting on this end if the peer is right, or lower it on the peer.',
  ),
  ERR_WIRE_METADATA: entry(
    'a metadata blob, descriptor list or listener message is malformed',
    'The message names the field and the rule; check that the sender speaks NIXL’s format.',
  ),
  ERR_WIRE_AUTH: entry(
    'the peer did not prove the shared secret, or what was said was changed on its way',
    'The message says which end lacks it. Give both ends the same secret (--secret-file or ' +
      'NIXL_TCPX_TRUST_SECRET).',
  ),
  ERR_PEER_UNREACHABLE: entry(
    'no connection to the peer could be made',
    'Check that the peer listens on that address and port and that no firewall is between.',
    true,
  ),
  ERR_PEER_TIMEOUT: entry(
    'the peer did not answer in time',
    'See whether the peer lives and takes what it is sent; on slow networks raise ' +
      'session.handshakeTimeoutMs, or lower session.minRateBytes.',
    true,
  ),
  ERR_PEER_REFUSED: entry(
    'the peer answered and refused',
    'The message carries the reason that the peer gave.',
  ),
  ERR_PEER_SAME_HOST: entry(
    'the peer is on this host, which the plugin cannot serve: data would pass by device memory',
    'Use the tcp provider (or --host-recv) between processes of one host.',
  ),
  ERR_PEER_UNTRUSTED: entry(
    'a peer without a secret connects from beyond loopback',
    'Give both ends a secret, or accept the risk with --trust network.',
  ),
  ERR_PEER_LOST: entry(
    'the connection to the peer ended while it was needed',
    'See the peer’s log; connect again once it is back.',
    true,
  ),
  ERR_PEER_GOODBYE: entry(
    'the peer closed the session in an orderly way',
    'Connect again if the peer is meant to be there.',
    true,
  ),
  ERR_PEER_CHANGED: entry(
    'metadata for a known peer differs from what was loaded, or comes from elsewhere',
    'Invalidate the peer first if it was restarted; two agents must not share a name.',
  ),
  ERR_PEER_STALE_SESSION: entry(
    'the peer does not know the session any more: it was restarted, or gave it up',
    'Connect again and fetch the peer’s descriptors again.',
    true,
  ),
  ERR_PEER_STALE_REGION: entry(
    'a descriptor names a region that its owner has deregistered or never had',
    'Fetch the peer’s descriptors again.',
  ),
  ERR_PEER_NO_REGION: entry(
    'the peer has registered no region under the name that was asked for',
    'Register it there with { name }, before the peer asks, or give lookup a time to wait.',
    true,
  ),
  ERR_PEER_KEY: entry(
    'the key in a descriptor is not the region’s key',
    'Use the descriptor as its owner made it.',
  ),
  ERR_PEER_RIGHTS: entry(
    'the region does not grant this operation',
    'Register the region with the right that the operation needs.',
  ),
  ERR_PEER_BOUNDS: entry(
    'the operation reaches beyond the region',
    'Keep offset + length within the region.',
  ),
  ERR_PEER_EXPIRED: entry(
    'the time for which the region was granted is over',
    'Ask its owner to register it again; it set expiresMs.',
  ),
  ERR_PEER_DEVICE: entry(
    'the peer could not copy between its GPU memory and its staging memory',
    'See the peer’s log for the CUDA error; restart that process, its GPU context may be lost.',
  ),
  ERR_XFER_FAILED: entry(
    'the transfer failed; bytes may have landed in part',
    'The cause tells why; the error carries how many bytes were confirmed.',
    true,
  ),
  ERR_XFER_CHECKSUM: entry(
    'payload arrived damaged again and again, although the chunks were sent anew',
    'The message names NIC and channel: take the NIC out of session.nics and test it.',
  ),
  ERR_XFER_CANCELLED: entry('the transfer was cancelled by its owner', 'None needed.'),
  ERR_XFER_DEADLINE: entry(
    'the transfer did not finish by its deadline',
    'Raise the deadline, or find out with tcpx doctor why the path is slow.',
    true,
  ),
  ERR_XFER_DEVICE: entry(
    'a copy between GPU memory and staging memory failed here',
    'See the log for the CUDA error; after a fault the process has to be restarted.',
  ),
  ERR_XFER_UNMATCHED: entry(
    'a send or receive found no counterpart before its session ended',
    'Post as many receives on one end as sends on the other, before disconnecting.',
  ),
  ERR_XFER_ORDER: entry(
    'a send and the receive of its turn have different tags',
    'Post sends and receives in the same order on both ends.',
  ),
  ERR_XFER_SHORT: entry(
    'a send is shorter than the receive of its turn',
    'Post both with the same size.',
  ),
  ERR_XFER_OVERSIZE: entry(
    'a send is longer than the receive of its turn',
    'Post both with the same size.',
  ),
  ERR_XFER_PATH: entry(
    'the data did not take the path that was asked for: the NICs’ counters say otherwise',
    'Read docs/irq-investigation.md, “rx no cmsg”; compare with --host-recv.',
  ),
  ERR_XFER_VERIFY: entry(
    'bytes at the target differ from those sent',
    'Never expected: keep the seed and the first mismatch from the message and report it.',
  ),
} as const satisfies Readonly<Record<string, ErrorEntry>>;

/** One of the keys of `ERROR_CODES`. Match codes, never texts. */
export type ErrorCode = keyof typeof ERROR_CODES;
/** What was seen, by name. */
export type ErrorFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** What goes with an error. */
export interface TcpxErrorOptions {
  /** What was seen, by name. */
  readonly facts?: ErrorFacts;
  /** The error behind it. */
  readonly cause?: unknown;
}

/**
 * The one error type; `code` says which condition, `facts` carry what was seen.
 * @example
 * if (isTcpxError(error, 'ERR_PEER_UNREACHABLE') && error.isRetryable) await tryElsewhere();
 */
export class TcpxError extends Error {
  /** Class of the code: `UsageError`, `PeerError`, `TransferError`, … */
  override readonly name: string;
  /** Which condition; see docs/errors.md. */
  readonly code: ErrorCode;
  /** What was seen, as fields. */
  readonly facts: ErrorFacts;

  constructor(code: ErrorCode, message: string, options: TcpxErrorOptions = {}) {
    super(checkedMessage(message), causeOf(options));
    if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code)) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'TcpxError: the code is none of ERROR_CODES');
    }
    this.name = errorClassName(code);
    this.code = code;
    this.facts = options.facts ?? {};
  }

  /** Whether the same call may succeed later without a change. */
  get isRetryable(): boolean {
    return ERROR_CODES[this.code].isRetryable;
  }

  /** What a line of a log needs; the message too, which errors leave out of their JSON. */
  toJSON(): object {
    const { name, code, message, isRetryable, facts, cause } = this;
    const reason = cause instanceof Error && !isTcpxError(cause) ? cause.message : cause;
    return { name, code, message, isRetryable, facts, cause: reason };
  }
}

// Programs without types pass anything.
function checkedMessage(message: unknown): string {
  if (typeof message === 'string') return message;
  throw new TcpxError('ERR_USAGE_ARGUMENT', 'TcpxError: the message is not a text');
}

function causeOf(options: TcpxErrorOptions | null): { cause: unknown } | undefined {
  const isRecord = typeof options === 'object' && options !== null;
  if (isRecord) return options.cause === undefined ? undefined : { cause: options.cause };
  throw new TcpxError('ERR_USAGE_ARGUMENT', 'TcpxError: options are not an object');
}

/** Whether a value is one of our errors; with `code`, whether it is that one. */
export function isTcpxError(value: unknown, code?: ErrorCode): value is TcpxError {
  return value instanceof TcpxError && (code === undefined || value.code === code);
}

export function toTcpxError(value: unknown, code: ErrorCode, attempted: string): TcpxError {
  if (value instanceof TcpxError) return value;
  const reason = value instanceof Error ? value.message : String(value);
  return new TcpxError(code, `${attempted}: ${reason}`, { cause: value });
}
