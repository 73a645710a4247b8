// Makes a self-signed certificate for tests with openssl. It must not be used by the product.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** A key with its certificate (PEM) for `subject`, for example `IP:127.0.0.1` or `DNS:example.com`. */
export function makeCertificate(subject: string): { key: string; cert: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'payweave-tls-'))
  const file = (name: string) => path.join(folder, name)
  try {
    execFileSync(
      'openssl',
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=test
        -keyout ${file('key')} -out ${file('cert')} -addext subjectAltName=${subject}`.split(/\s+/),
      { stdio: 'ignore' },
    )
    return { key: readFileSync(file('key'), 'utf8'), cert: readFileSync(file('cert'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
