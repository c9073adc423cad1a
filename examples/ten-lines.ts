import { Engine } from 'nixl-tcpx';

const target = await Engine.open();
const inbox = target.register(new Uint8Array(1024));
const source = await Engine.open();
const outbox = source.register(new Uint8Array(1024).fill(7));
const session = await source.connect('127.0.0.1', target.listen({ port: 0 }));
const places = { local: outbox, localOffset: 0, remote: inbox.descriptor, remoteOffset: 0 };
const receipt = await session.write([{ ...places, bytes: 1024 }]).done;
console.log(`${receipt.bytesConfirmed} bytes landed in ${Math.round(receipt.durationUs)} µs`);
await Promise.all([source.close(), target.close()]);
