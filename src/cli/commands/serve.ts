// `tcpx serve`: the node service, to which programs attach through the C library.

import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { printJson, printText } from '../print.js';

export const serveCommand: Command = {
  name: 'serve',
  group: 'serve',
  summary: 'The node service: moves memory of local programs that attach through libtcpx_p2p.',
  settings: [
    'service.folder',
    'service.clientsMax',
    'session.port',
    'session.bind',
    'session.ctrlInterface',
    'session.nics',
    'trust.mode',
    'trust.secretFile',
    'flow.chunkBytes',
    'flow.windowChunks',
    'flow.channels',
    'flow.checksum',
    'lane.count',
    'lane.spinUs',
    'lane.bindings',
    'lane.numa',
    'engine.provider',
  ],
  meanings: {
    'session.port': {
      summary:
        'Ports of the clients: each has the lowest of PORT, PORT + 1, … that no other has. 0, or ' +
        'no --port: any free one, which connection info tells.',
      fallback: 'any',
    },
  },
  examples: [
    ['serve', 'One per node or container; programs attach to its socket.'],
    ['serve --folder /run/tcpx --json', 'Where programs of other containers reach it.'],
  ],
  async run(invocation) {
    const { NodeService } = await import('../../service/service.js');
    const { config, log } = invocation;
    const service = new NodeService({ config, log });
    // Before anybody knows of it: an interrupt right after the announcement counts as well.
    const interrupted = untilSignal();
    announce(invocation, service.socketPath);
    await Promise.race([interrupted, service.idle]);
    await service.close();
    return ExitCode.Good;
  },
};

function announce(invocation: Invocation, socket: string): void {
  const { pid } = process;
  if (invocation.isJson) printJson({ schema: 'tcpx.serve/1', socket, pid });
  else printText(`serving at ${socket}, process ${pid}`);
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
