// The public names, listed one by one.

export { ERROR_CODES, type ErrorCode, isTcpxError, TcpxError } from './base/errors.js';
