// Plain data of what else shapes a host: who moves interrupts, the IOMMU, limits and sysctls.

/** A program or setting that writes interrupt affinity, so that a binding may not last. */
export interface IrqWriter {
  readonly kind:
    | 'irqbalance'
    | 'tuned'
    | 'tuna'
    | 'google-guest-agent'
    | 'google_set_multiqueue'
    | 'kernel argument';
  /** Runs (or is in force) now; false = only installed or enabled. */
  readonly isActive: boolean;
  readonly pid: number | undefined;
  /** What was seen and where. */
  readonly evidence: string;
  /** Banned IRQs and CPUs, one-shot mode, the argument's value; undefined when not readable. */
  readonly options: readonly string[] | undefined;
}

export interface IommuModel {
  /** undefined when nothing tells. */
  readonly isActive: boolean | undefined;
  readonly groups: readonly IommuGroup[];
  /** Kernel arguments that switch it, for example `iommu=pt`. */
  readonly kernelArguments: readonly string[] | undefined;
}

export interface IommuGroup {
  readonly id: number;
  readonly type: string | undefined;
  readonly devices: readonly string[];
}

/** Infinity is `'unlimited'`, so that JSON keeps it. */
export type LimitValue = number | 'unlimited';

export interface ResourceLimit {
  readonly soft: LimitValue;
  readonly hard: LimitValue;
}

export interface LimitsModel {
  /** Of the process that read them. */
  readonly memlockBytes: ResourceLimit | undefined;
  readonly openFiles: ResourceLimit | undefined;
  readonly processes: ResourceLimit | undefined;
  readonly rmemMaxBytes: number | undefined;
  readonly wmemMaxBytes: number | undefined;
  readonly rmemDefaultBytes: number | undefined;
  readonly wmemDefaultBytes: number | undefined;
  readonly optmemMaxBytes: number | undefined;
  /** min, default, max. */
  readonly tcpRmemBytes: readonly number[] | undefined;
  readonly tcpWmemBytes: readonly number[] | undefined;
  readonly congestionControl: string | undefined;
  readonly congestionAvailable: readonly string[];
  /** Further sysctls that matter to throughput, by dotted name, as the kernel prints them. */
  readonly sysctls: Readonly<Record<string, string>>;
}
