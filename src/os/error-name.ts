// Names of system errors, for layers above FFI.

export { errnoName as systemErrorName } from '../ffi/libc/errno.js';
