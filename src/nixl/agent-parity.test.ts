// The same question to NIXL 1.4 and to this agent gives the same status; where it does not, the
// page docs/nixl.md lists the difference, and the tests here hold it to that list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMockAgent, openMockPair, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { mockPlugin } from '../../test/support/mock-backend.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { isTcpxError } from '../base/errors.js';
import { Agent } from './agent.js';
import { decodeXferDlist, encodeXferDlist } from './descriptor-codec.js';
import { MemType, XferOp } from './memory-type.js';
import { decodeMetadata, encodeMetadata } from './metadata.js';
import { PluginManager } from './plugin-manager.js';
import { NixlStatus, nixlStatusName, nixlStatusOf } from './status.js';
import { XferDlist } from './xfer-dlist.js';

const S = NixlStatus;
const NOTHING = { memType: MemType.DRAM, descs: [] };

async function statusOf(body: () => unknown): Promise<string> {
  try {
    await body();
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return nixlStatusName(nixlStatusOf(error));
  }
  return nixlStatusName(S.SUCCESS);
}

/** An agent whose backend says what `change` makes of MOCK. */
async function openChanged(name: string, change: (backend: object) => void) {
  const plugins = new PluginManager();
  const plugin = mockPlugin(new MockNetwork());
  plugins.register({
    ...plugin,
    create: async (init) => {
      const backend = await plugin.create(init);
      change(backend);
      return backend;
    },
  });
  const agent = await Agent.create(name, { plugins });
  const handle = await agent.createBackend('MOCK');
  return { agent, handle };
}

test('parity: the same range registered twice has one key, and goes with its last', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const list = regionOf(b.memory);
  await b.agent.registerMem(list);
  await Promise.all([b.agent.registerMem(list), b.agent.registerMem(list)]);
  const [section] = decodeMetadata(b.agent.getLocalMD()).sections;
  const keys = section?.descs.map((desc) => Buffer.from(desc.metaInfo ?? []).toString('hex'));
  assert.equal(keys?.length, 4, 'as NIXL writes it: once for each registration');
  assert.equal(new Set(keys).size, 1, 'NIXL refuses a blob with two keys for one range');
  assert.equal(network.callCount('b', 'registerMem'), 1);
  a.agent.invalidateRemoteMD('b');
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  for (let left = 3; left > 0; left--) await b.agent.deregisterMem(list);
  assert.equal(network.callCount('b', 'deregisterMem'), 0);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  assert.equal(a.agent.postXferReq(request), S.SUCCESS, 'one registration is left');
  await b.agent.deregisterMem(list);
  assert.equal(network.callCount('b', 'deregisterMem'), 1);
  assert.equal(await statusOf(() => b.agent.deregisterMem(list)), 'NIXL_ERR_NOT_FOUND');
  await b.agent.registerMem(list);
  assert.equal(network.callCount('b', 'registerMem'), 2, 'anew, with a new key');
});

test('parity: one range given back twice at once is given back once', async (t) => {
  const { a, network } = await openMockPair(t);
  const list = regionOf(a.memory);
  const outcomes = await Promise.allSettled([
    a.agent.deregisterMem(list),
    a.agent.deregisterMem(list),
  ]);
  assert.deepEqual(outcomes.map((outcome) => outcome.status).sort(), ['fulfilled', 'rejected']);
  assert.equal(network.callCount('a', 'deregisterMem'), 1);
});

test('parity: siblings of one section are compared when it is loaded', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const known = decodeMetadata(b.agent.getLocalMD());
  const [section] = known.sections;
  const [desc] = section?.descs ?? [];
  assert.ok(section !== undefined && desc !== undefined);
  const blobOf = (...descs: (typeof desc)[]) =>
    encodeMetadata({ ...known, sections: [{ ...section, descs }] });
  a.agent.invalidateRemoteMD('b');
  const before = network.callCount('a', 'loadRemoteMD');
  a.agent.loadRemoteMD(blobOf(desc, desc));
  assert.equal(network.callCount('a', 'loadRemoteMD'), before + 1, 'one range, one object');
  a.agent.invalidateRemoteMD('b');
  const other = { ...desc, metaInfo: Buffer.alloc(16, 1) };
  const refused = await statusOf(() => a.agent.loadRemoteMD(blobOf(desc, other)));
  assert.equal(refused, 'NIXL_ERR_NOT_ALLOWED');
  assert.equal(a.agent.checkRemoteMD('b'), S.ERR_NOT_FOUND, 'half a peer is none');
});

test('parity: an agent asks about itself', async (t) => {
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a');
  assert.equal(a.agent.checkRemoteMD('a'), S.SUCCESS, 'it has memory for loopback');
  assert.equal(a.agent.checkRemoteMD('a', NOTHING), S.SUCCESS);
  assert.equal(a.agent.checkRemoteMD('a', piecesOf(a.memory, [0, 8])), S.ERR_NOT_FOUND);
  await a.agent.deregisterMem(regionOf(a.memory));
  assert.equal(a.agent.checkRemoteMD('a'), S.SUCCESS, 'NIXL keeps the empty section');
  assert.equal(await statusOf(() => a.agent.makeConnection('a')), 'NIXL_ERR_NOT_FOUND');
  const bare = await Agent.create('bare');
  assert.equal(bare.checkRemoteMD('bare'), S.ERR_NOT_FOUND);
});

test('parity: empty lists', async (t) => {
  const { a } = await openMockPair(t);
  const { agent } = a;
  assert.equal(await statusOf(() => agent.registerMem(NOTHING)), 'NIXL_ERR_BACKEND');
  assert.equal(await statusOf(() => agent.deregisterMem(NOTHING)), 'NIXL_SUCCESS');
  const none = { ...NOTHING, memType: MemType.VRAM };
  assert.equal(await statusOf(() => agent.deregisterMem(none)), 'NIXL_ERR_NOT_FOUND');
  assert.equal(await statusOf(() => agent.prepXferDlist('', NOTHING)), 'NIXL_ERR_NOT_FOUND');
  assert.equal(await statusOf(() => agent.prepXferDlist('b', NOTHING)), 'NIXL_ERR_NOT_FOUND');
  const create = (op: XferOp, name: string) => () =>
    agent.createXferReq(op, NOTHING, NOTHING, name);
  assert.equal(await statusOf(create(XferOp.WRITE, 'b')), 'NIXL_ERR_NOT_FOUND');
  assert.equal(await statusOf(create(XferOp.READ, 'nobody')), 'NIXL_ERR_NOT_FOUND');
  const uneven = () =>
    agent.createXferReq(XferOp.WRITE, NOTHING, piecesOf(a.memory, [0, 8]), 'nobody');
  assert.equal(await statusOf(uneven), 'NIXL_ERR_INVALID_PARAM', 'counts come before names');
  assert.equal(agent.checkRemoteMD('b', NOTHING), S.SUCCESS);
});

test('parity: pieces of no bytes are moved like others; ranges of none are refused', async (t) => {
  const { a, b } = await openMockPair(t);
  const parts = [
    [0, 0],
    [8, 8],
    [16, 0],
  ] as const;
  const [here, there] = [piecesOf(a.memory, ...parts), piecesOf(b.memory, ...parts)];
  a.memory.bytes.fill(9);
  const request = a.agent.createXferReq(XferOp.WRITE, here, there, 'b', { notif: 'done' });
  assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  assert.equal(request.totalBytes, 8);
  assert.equal(
    Buffer.from(b.memory.bytes.subarray(6, 18)).toString('hex'),
    `0000${'09'.repeat(8)}0000`,
  );
  assert.equal(b.agent.getNotifs().get('a')?.length, 1);
  const end = piecesOf(b.memory, [4096, 0]);
  assert.equal(a.agent.checkRemoteMD('b', end), S.SUCCESS, 'the end is inside');
  assert.equal(a.agent.checkRemoteMD('b', piecesOf(b.memory, [4097, 0])), S.ERR_NOT_FOUND);
  const list = new XferDlist(MemType.DRAM).add(4096, 0);
  assert.deepEqual(decodeXferDlist(encodeXferDlist(list)).at(0), list.at(0));
  // Listed: what NIXL's backend would take or not.
  const empty = { memType: MemType.DRAM, descs: [{ addr: a.memory.addr, len: 0, devId: 0 }] };
  assert.equal(await statusOf(() => a.agent.registerMem(empty)), 'NIXL_ERR_INVALID_PARAM');
});

test('parity: registration without a backend, and of storage', async (t) => {
  const { a } = await openMockPair(t);
  const bare = await Agent.create('bare');
  const list = regionOf(a.memory);
  assert.equal(await statusOf(() => bare.registerMem(list)), 'NIXL_ERR_NOT_FOUND');
  assert.equal(await statusOf(() => bare.deregisterMem(list)), 'NIXL_ERR_NOT_FOUND');
  for (const memType of [MemType.BLK, MemType.OBJ, MemType.FILE]) {
    const file = { memType, descs: [{ addr: 0, len: 8, devId: 0 }] };
    for (const body of [
      () => a.agent.registerMem(file),
      () => a.agent.deregisterMem(file),
      () => a.agent.prepXferDlist('', file),
      () => a.agent.prepXferDlist('b', file),
      () => a.agent.createXferReq(XferOp.WRITE, file, file, 'b'),
      () => a.agent.getLocalPartialMD(file),
    ]) {
      assert.equal(await statusOf(body), 'NIXL_ERR_NOT_FOUND', `${memType}: ${body.toString()}`);
    }
    assert.equal(a.agent.checkRemoteMD('b', file), S.ERR_NOT_FOUND);
  }
  await assert.rejects(bare.registerMem(list), /createBackend/);
  await assert.rejects(a.agent.registerMem({ ...list, memType: MemType.FILE }), /FILE_SEG.*DRAM/);
});

test('parity: a chosen backend that does not take the memory is BACKEND', async (t) => {
  const { agent, handle } = await openChanged('a', (backend) => {
    Object.assign(backend, { getSupportedMems: () => [MemType.DRAM] });
  });
  t.after(() => agent.close());
  const list = { memType: MemType.VRAM, descs: [{ addr: 4096, len: 8, devId: 0 }] };
  assert.equal(await statusOf(() => agent.registerMem(list)), 'NIXL_ERR_NOT_FOUND');
  const chosen = () => agent.registerMem(list, { backends: [handle] });
  assert.equal(await statusOf(chosen), 'NIXL_ERR_BACKEND');
});

test('parity: partial metadata', async (t) => {
  const { a } = await openMockPair(t);
  const { agent, memory } = a;
  const bare = await Agent.create('bare');
  const empty = decodeMetadata(bare.getLocalPartialMD(NOTHING));
  assert.deepEqual(empty, { agent: 'bare', connections: [], sections: [] });
  const list = regionOf(memory);
  assert.equal(await statusOf(() => bare.getLocalPartialMD(list)), 'NIXL_ERR_NOT_FOUND');
  const [desc] = list.descs;
  assert.ok(desc !== undefined);
  const twice = agent.getLocalPartialMD({ ...list, descs: [desc, desc] });
  assert.equal(decodeMetadata(twice).sections[0]?.descs.length, 2, 'asked twice, told twice');
  const unknown = { ...list, descs: [{ ...desc, len: 8 }] };
  assert.equal(await statusOf(() => agent.getLocalPartialMD(unknown)), 'NIXL_ERR_NOT_FOUND');
  // Listed: NIXL gives a blob without sections where nothing of the type is registered at all.
  const other = { ...list, memType: MemType.VRAM };
  assert.equal(await statusOf(() => agent.getLocalPartialMD(other)), 'NIXL_ERR_NOT_FOUND');
  const local = await openChanged('local', (backend) => {
    Object.assign(backend, { supportsRemote: false });
  });
  t.after(() => local.agent.close());
  const alone = () => local.agent.getLocalPartialMD(list);
  assert.equal(await statusOf(alone), 'NIXL_ERR_BACKEND', 'no backend here reaches others');
});

test('parity: a blob that is cut off anywhere is MISMATCH and changes nothing', async (t) => {
  const { a, b } = await openMockPair(t);
  await b.agent.registerMem(regionOf(b.network.allocate(64)));
  const blob = b.agent.getLocalMD();
  for (let bytes = 0; bytes < blob.length; bytes++) {
    const cut = await statusOf(() => a.agent.loadRemoteMD(blob.subarray(0, bytes)));
    assert.equal(cut, 'NIXL_ERR_MISMATCH', `cut after ${bytes} of ${blob.length}`);
  }
  assert.equal(a.agent.checkRemoteMD('b'), S.SUCCESS);
  a.agent.loadRemoteMD(blob);
});

test('parity: lists without a backend in common make no request', async (t) => {
  const network = new MockNetwork();
  const open = async (name: string, ...types: string[]) => {
    const plugins = new PluginManager();
    for (const type of types) plugins.register(mockPlugin(network), type);
    const agent = await Agent.create(name, { plugins });
    t.after(() => agent.close());
    const handles = [];
    for (const type of types) handles.push(await agent.createBackend(type));
    return { agent, handles };
  };
  const a = await open('a', 'ONE', 'TWO');
  const memory = network.allocate(64);
  const [one, two] = a.handles;
  assert.ok(one !== undefined && two !== undefined);
  await a.agent.registerMem(regionOf(memory));
  const here = a.agent.prepXferDlist('', piecesOf(memory, [0, 8]), { backends: [one] });
  const there = a.agent.prepXferDlist('a', piecesOf(memory, [8, 8]), { backends: [two] });
  const make = () => a.agent.makeXferReq(XferOp.WRITE, here, [0], there, [0]);
  assert.equal(await statusOf(make), 'NIXL_ERR_INVALID_PARAM');
});
