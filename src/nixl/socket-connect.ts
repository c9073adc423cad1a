// Opens a control-plane TCP connection with a time limit and typed failures.

import { connect, type Socket } from 'node:net';
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
    const timer = setTimeout(() => {
      fail('ERR_PEER_TIMEOUT', `no answer within ${timeoutMs} ms`);
    }, timeoutMs);
    socket.once('error', (error) => {
      clearTimeout(timer);
      fail('ERR_PEER_UNREACHABLE', error.message);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
