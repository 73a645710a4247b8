// Makes self-signed certificates for tests with openssl. It must not be used by the product.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/**
 * A key with its certificate (PEM) for `subject`, for example `IP:127.0.0.1` or `DNS:example.com`. It is good for so
 * many days; with -1 it is over since yesterday.
 */
export function makeCertificate(subject: string, days = 1): { key: string; cert: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'payweave-tls-'))
  const file = (name: string) => path.join(folder, name)
  const openssl = (words: string) =>
    execFileSync('openssl', words.trim().split(/\s+/), { stdio: 'ignore' })
  try {
    openssl(`req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test
      -keyout ${file('key')} -out ${file('request')} -addext subjectAltName=${subject}`)
    openssl(`x509 -req -in ${file('request')} -signkey ${file('key')} -days ${days}
      -copy_extensions copy -out ${file('cert')}`)
    return { key: readFileSync(file('key'), 'utf8'), cert: readFileSync(file('cert'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
