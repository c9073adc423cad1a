// Lines of a foreign log, bounded: a log may be long, hold no line end at all, or be made to hurt.

/** Longer lines are cut: no line that is looked for is as long. */
const LINE_CHARS_MAX = 4096;
/** A minute of tracing has some hundred thousand lines; what lies behind is not looked at. */
const LINES_MAX = 2_000_000;

export function* logLines(text: string): Generator<string> {
  let from = 0;
  for (let count = 0; count < LINES_MAX && from <= text.length; count++) {
    const found = text.indexOf('\n', from);
    const end = found < 0 ? text.length : found;
    yield text.slice(from, Math.min(end, from + LINE_CHARS_MAX)).trimEnd();
    if (found < 0) return;
    from = end + 1;
  }
}

/** Who said a line: `host:pid:tid [device] NCCL INFO …`, perhaps with what mpirun puts before. */
export interface Speaker {
  readonly host: string;
  readonly pid: number;
  readonly device: number | undefined;
}

const PREFIX =
  /^(?:\[\d+,\d+\]<std(?:out|err)>:\s?)?(?:\[[\d :-]{10,30}\] )?([\w.-]+):(\d+):(\d+) /;
const DEVICE = /^\[(\d+)\] /;

export interface SpokenLine {
  readonly speaker: Speaker | undefined;
  /** Without the prefix. */
  readonly text: string;
}

export function splitSpeaker(line: string): SpokenLine {
  const match = PREFIX.exec(line);
  if (match === null) return { speaker: undefined, text: line };
  const rest = line.slice(match[0].length);
  const device = DEVICE.exec(rest);
  return {
    speaker: {
      host: match[1] ?? '',
      pid: Number(match[2]),
      device: device === null ? undefined : Number(device[1]),
    },
    text: device === null ? rest : rest.slice(device[0].length),
  };
}
