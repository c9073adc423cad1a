// The part of docs/troubleshooting.md that people write.

export const TROUBLESHOOTING_PREAMBLE = `\
A failing command prints one line on stderr: its error code, what was attempted and what was seen.
With \`--json\` the same is a document on stdout, schema \`tcpx.error/1\`, with meaning and remedy.
Look up the code below. When the line is not enough:

1. \`tcpx config\` shows every effective setting and where it came from, and which provider
   would be used, and why.
2. \`--log-level debug\` shows each session event on both ends.
3. \`--stack\` adds the stack trace of the error.

The exit code narrows it down before that:

| exit code | meaning |
| --- | --- |
| 0 | good |
| 1 | the command worked and the answer is "no": a check failed |
| 2 | usage: an argument, a command or a setting is wrong |
| 3 | the environment lacks something |
| 4 | a failure at run time |

All codes with their classes are in [errors](errors.md), all settings in
[configuration](configuration.md).
`;
