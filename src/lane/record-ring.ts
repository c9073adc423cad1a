// The ring lies in memory/, because plugin hosts use it too.

export {
  NOTIFICATION_EVENT_BYTES,
  RECORD_HEADER_BYTES,
  RecordRing,
} from '../memory/record-ring.js';
