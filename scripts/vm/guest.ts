// Runs inside the guest. Placeholder boot check: prints CPUs, NICs and interrupts.
import { readFileSync } from 'node:fs';
process.stdout.write(readFileSync('/proc/interrupts', 'utf8'));
