// What to do about the plugin's last words, where they are known to have a remedy. Pure.

const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /too many pages|segs, failstop/,
    'a message had more than 2048 fragments: lower --chunk, or raise the MTU',
  ],
  [/cmsg truncated/, 'a message had more than 2048 fragments: lower --chunk, or raise the MTU'],
  [/no cmsg/, 'data did not come through device memory: docs/irq-investigation.md has the causes'],
  [
    /data landed on host memory/,
    'payload came with the header: switch header split on (ethtool -G NIC tcp-data-split on)',
  ],
  [
    /receive-datapath-manager.*error: 2\b/,
    'no socket of the receive datapath manager: start it, with the same ' +
      'NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX',
  ],
];

/** `; hint: …`, or empty. */
export function hintFor(words: readonly string[]): string {
  const found = HINTS.find(([pattern]) => words.some((word) => pattern.test(word)));
  return found === undefined ? '' : `; hint: ${found[1]}`;
}
