// Certificates that Node shall trust besides its own: a process reads all of them when it starts,
// which takes longer than all else that most processes of a test do. Only those that ask the
// registry need them.

/** For processes of this one, and theirs. */
export function setCertificatesAside(): void {
  const { NODE_EXTRA_CA_CERTS: path } = process.env;
  if (path === undefined) return;
  process.env['TEST_EXTRA_CA_CERTS'] = path;
  delete process.env['NODE_EXTRA_CA_CERTS'];
}

/** The variable, for a process that asks the registry. */
export function certificates(): NodeJS.ProcessEnv {
  const path = process.env['TEST_EXTRA_CA_CERTS'];
  return path === undefined ? {} : { NODE_EXTRA_CA_CERTS: path };
}
