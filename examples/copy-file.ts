// A file from one machine to another, with its progress: one end offers it, the other fetches it.
//   node copy-file.mjs offer FILE [HOST:PORT]
//   node copy-file.mjs fetch COPY [HOST:PORT]

import { readFile, writeFile } from 'node:fs/promises';
import { Engine } from 'nixl-tcpx';

const [command, path = '', where = '127.0.0.1:20000'] = process.argv.slice(2);
const engine = await Engine.open();
if (command === 'offer') {
  engine.register(await readFile(path), { name: 'file', rights: { read: true, write: false } });
  console.log(`offering ${path} on port ${engine.listen(where)}`);
} else {
  const session = await engine.connect(where);
  const remote = await session.lookup('file');
  const local = Buffer.alloc(remote.bytes);
  const transfer = session.read({ local, remote });
  const shown = setInterval(() => {
    const percent = (100 * transfer.progress().bytesConfirmed) / remote.bytes;
    process.stderr.write(`\r${percent.toFixed(0)} %`);
  }, 100);
  const receipt = await transfer.finally(() => clearInterval(shown));
  await writeFile(path, local);
  console.log(`${receipt.bytes} bytes in ${(receipt.durationUs / 1000).toFixed(0)} ms`);
  await engine.close();
}
