// The ring lies in memory/, because plugin hosts use it too.

export {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
  ringFreeBytes,
} from '../memory/record-ring.hot.js';
