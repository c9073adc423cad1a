import { Engine } from 'nixl-tcpx';

const target = await Engine.open();
const inbox = Buffer.alloc(1024);
target.register(inbox, { name: 'inbox' });
const source = await Engine.open();
const session = await source.connect(`127.0.0.1:${target.listen('127.0.0.1:0')}`);
const remote = await session.lookup('inbox');
const receipt = await session.write({ local: Buffer.from('hello'), remote });
console.log(`${receipt.bytes} bytes landed: ${inbox.toString('utf8', 0, receipt.bytes)}`);
await Promise.all([source.close(), target.close()]);
