// The three ways to bring a plan into effect, as data: what happens, with which commands, what it
// is good for and what it costs. `tcpx irq plan --explain` and docs/irq.md print them.

export interface Strategy {
  readonly option: 'A' | 'B' | 'C';
  readonly title: string;
  readonly isRecommended: boolean;
  readonly how: string;
  readonly commands: readonly string[];
  readonly when: string;
  readonly cost: string;
}

export const STRATEGIES: readonly Strategy[] = [
  {
    option: 'A',
    title: 'static interrupt affinity and environment variables',
    isRecommended: true,
    how:
      'Bind all queue interrupts once, before any process starts, and give every process the ' +
      'same binding variables; the plugin places its own threads.',
    commands: ['tcpx irq apply --policy nccl', 'eval "$(tcpx env --policy nccl)"'],
    when: 'First: it is the simplest, it is what the reference run assumes, and it can be undone.',
    cost: 'Two NICs of a node share thread cores; interrupts and threads may share them too.',
  },
  {
    option: 'B',
    title: 'per process',
    isRecommended: false,
    how:
      'Each GPU process finds the NIC of its GPU; only that NIC’s interrupts are bound before it ' +
      'starts, and its environment names that NIC alone.',
    commands: [
      'tcpx irq apply --policy split --gpu 0',
      'eval "$(tcpx env --policy split --gpu 0)"',
      'tcpx irq run --policy split --gpu 0 -- CMD',
    ],
    when: 'Processes come and go, or only some NICs of the host are in use.',
    cost: 'Needs root at every start, and two processes on one NIC undo each other’s choice.',
  },
  {
    option: 'C',
    title: 'hybrid',
    isRecommended: false,
    how:
      'Interrupts are bound at boot from a saved plan; the launcher exports the variables; after ' +
      'the start the affinity of the threads is checked against the plan.',
    commands: [
      'systemctl enable --now tcpx-irq.service',
      'eval "$(tcpx env --plan /etc/nixl-tcpx/irq-plan.json)"',
      'tcpx irq verify --pid PID',
      'tcpx irq threads PID',
    ],
    when: 'A machine kept for this work, once a plan has proved itself by measurement.',
    cost: 'The plan file must be made again when NICs or CPUs change; verify tells.',
  },
];
