// Opens a control-plane TCP connection with a time limit and typed failures.

import { connect, type Socket } from 'node:net';
import { afterMs } from '../base/clock.js';
import { formatEndpoint } from '../base/endpoint.js';
import { TcpxError } from '../base/errors.js';

export function connectSocket(host: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const fail = (code: 'ERR_PEER_UNREACHABLE' | 'ERR_PEER_TIMEOUT', reason: string) => {
      socket.destroy();
      const where = formatEndpoint(host, port);
      reject(new TcpxError(code, `connect to ${where}: ${reason}`, { facts: { host, port } }));
    };
    const stopTimer = afterMs(timeoutMs, () => {
      fail('ERR_PEER_TIMEOUT', `no answer within ${timeoutMs} ms`);
    });
    socket.once('error', (error) => {
      stopTimer();
      fail('ERR_PEER_UNREACHABLE', error.message);
    });
    socket.once('connect', () => {
      stopTimer();
      resolve(socket);
    });
  });
}
