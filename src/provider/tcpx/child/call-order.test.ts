import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallOrder } from './call-order.js';

const LISTEN = 1;
const SEND = 2;
const RECEIVE = 3;
const MEMORY = 7;
const DEVICE = 99;

function connected(): CallOrder {
  const order = new CallOrder();
  order.onInit();
  order.onInitDone();
  order.onListening(LISTEN);
  order.beforeAccept(LISTEN, DEVICE);
  order.onAccepted(LISTEN, RECEIVE);
  order.onConnected(SEND);
  order.onRegistered(SEND, MEMORY);
  order.onRegistered(RECEIVE, MEMORY);
  return order;
}

function post(order: CallOrder, comm: number, request: number): void {
  order.beforePost(comm, comm === SEND, MEMORY);
  order.onPosted(comm, request);
}

function finish(order: CallOrder, comm: number, request: number): void {
  order.beforeTest(comm, request);
  order.onDone(comm);
}

test('call order: init comes first, once, and must have succeeded', () => {
  const order = new CallOrder();
  assert.throws(() => order.requireReady(), /init succeeded/);
  order.onInit();
  assert.throws(() => order.requireReady(), /init succeeded/, 'a failed init allows nothing');
  assert.throws(() => order.onInit(), /once/);
});

test('call order: one accept per listen comm, with a device handle', () => {
  const order = new CallOrder();
  assert.throws(() => order.beforeAccept(LISTEN, DEVICE), /listen comm/);
  order.onListening(LISTEN);
  assert.throws(() => order.beforeAccept(LISTEN, 0), /device handle/);
  order.beforeAccept(LISTEN, DEVICE);
  order.beforeAccept(LISTEN, DEVICE); // polls
  assert.throws(() => order.onCloseListen(LISTEN), /during accept/);
  order.onAccepted(LISTEN, RECEIVE);
  assert.throws(() => order.beforeAccept(LISTEN, DEVICE), /one accept/);
  order.onCloseListen(LISTEN);
  assert.throws(() => order.onCloseListen(LISTEN), /once/);
});

test('call order: memory is registered before it is posted, on a living comm', () => {
  const order = connected();
  assert.throws(() => order.beforePost(SEND, true, 8), /registered/);
  assert.throws(() => order.beforePost(SEND, false, MEMORY), /send comm sends/);
  assert.throws(() => order.beforePost(55, true, MEMORY), /connected/);
  assert.throws(() => order.onDeregister(SEND, 8), /was registered/);
  order.onClose(SEND, true);
  assert.throws(() => order.beforePost(SEND, true, MEMORY), /connected/);
});

test('call order: only the oldest request is tested, and only while it is outstanding', () => {
  const order = connected();
  assert.throws(() => order.beforeTest(SEND, 100), /outstanding/);
  post(order, SEND, 100);
  post(order, SEND, 101);
  assert.throws(() => order.beforeTest(SEND, 101), /oldest/);
  finish(order, SEND, 100);
  assert.throws(() => order.beforeTest(SEND, 100), /oldest/);
  finish(order, SEND, 101);
});

test('call order: the 17th request is refused; unconsumed receives count', () => {
  const order = connected();
  for (let index = 0; index < 16; index++) post(order, RECEIVE, 200 + index);
  assert.throws(() => order.beforePost(RECEIVE, false, MEMORY), /pool of 16/);
  finish(order, RECEIVE, 200);
  assert.throws(() => order.beforePost(RECEIVE, false, MEMORY), /pool of 16/, 'done, not consumed');
  order.beforeConsume(RECEIVE, 200);
  post(order, RECEIVE, 200);
});

test('call order: receives are consumed in order, once, after done; sends never', () => {
  const order = connected();
  post(order, RECEIVE, 300);
  post(order, RECEIVE, 301);
  assert.throws(() => order.beforeConsume(RECEIVE, 300), /after done/);
  finish(order, RECEIVE, 300);
  finish(order, RECEIVE, 301);
  assert.throws(() => order.beforeConsume(RECEIVE, 301), /in order/);
  order.beforeConsume(RECEIVE, 300);
  assert.throws(() => order.beforeConsume(RECEIVE, 300), /in order/);
  post(order, SEND, 400);
  finish(order, SEND, 400);
  assert.throws(() => order.beforeConsume(SEND, 400), /only receives/);
});

test('call order: a listen comm whose accept has failed is closed, and accepts no more', () => {
  const order = new CallOrder();
  order.onInit();
  order.onInitDone();
  order.onListening(LISTEN);
  order.beforeAccept(LISTEN, DEVICE);
  assert.throws(() => order.onCloseListen(LISTEN), /during accept/);
  order.onAcceptFailed(LISTEN);
  assert.throws(() => order.beforeAccept(LISTEN, DEVICE), /one accept/);
  order.onCloseListen(LISTEN);
});
