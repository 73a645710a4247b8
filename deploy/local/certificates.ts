// Makes an authority and certificates with openssl, for one machine and for tests; production's come from elsewhere.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const authorityDays = 3_650
const certificateDays = 30

/** Signs certificates. Its files are `ca.crt` and `ca.key` in a folder. */
export type Authority = { folder: string; certificate: string }

/** What a certificate says. With -1 days it is over since yesterday. One for clients only cannot serve. */
export type Request = { names: string[]; days?: number; isClientOnly?: boolean }

/** Makes an authority in a folder, or takes the one that is there. */
export async function openAuthority(folder: string): Promise<Authority> {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const certificate = path.join(folder, 'ca.crt')
  if (!fs.existsSync(certificate)) {
    const key = ['-keyout', path.join(folder, 'ca.key'), '-out', certificate]
    const days = String(authorityDays)
    await openssl('req', '-x509', ...ecKey, ...key, '-days', days, '-subj', '/CN=payweave here')
  }
  return { folder, certificate }
}

/** Puts `tls.crt`, `tls.key` and `ca.crt` into a folder; each is replaced in one step. */
export async function issueCertificate(
  { folder: home, certificate }: Authority,
  folder: string,
  { names, days = certificateDays, isClientOnly = false }: Request,
): Promise<void> {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const work = fs.mkdtempSync(path.join(folder, 'new-'))
  const file = (name: string) => path.join(work, name)
  try {
    const request = file('request')
    const extensions = [
      `subjectAltName=${names.join(',')}`,
      `extendedKeyUsage=${isClientOnly ? '' : 'serverAuth,'}clientAuth`,
    ]
    const added = extensions.flatMap((extension) => ['-addext', extension])
    const out = ['-keyout', file('tls.key'), '-out', request]
    await openssl('req', ...ecKey, ...out, '-subj', '/CN=payweave', ...added)
    const signer = ['-CA', certificate, '-CAkey', path.join(home, 'ca.key'), '-days', String(days)]
    const copied = ['-copy_extensions', 'copy', '-out', file('tls.crt')]
    await openssl('x509', '-req', '-in', request, ...signer, ...copied)
    fs.copyFileSync(certificate, file('ca.crt'))
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) {
      fs.chmodSync(file(name), 0o600)
      fs.renameSync(file(name), path.join(folder, name))
    }
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
}

/** Whose certificate the command line shows. */
export const commandLine = 'operator'

/** Gives each process a new certificate of this data folder's authority, in `<data>/tls/<process>`. */
export async function prepareCertificates(dataDir: string, processes: string[]): Promise<void> {
  const folder = path.join(dataDir, 'tls')
  const authority = await openAuthority(path.join(folder, 'authority'))
  await Promise.all(
    processes.map((name) =>
      issueCertificate(authority, path.join(folder, name), { names: [`DNS:payweave-${name}`] }),
    ),
  )
}

async function openssl(...words: string[]): Promise<void> {
  try {
    await run('openssl', words)
  } catch (cause) {
    const isAbsent = (cause as { code?: unknown }).code === 'ENOENT'
    const problem = isAbsent ? 'is not installed, and RPC_TLS=required needs it here' : 'failed'
    throw new Error(`openssl ${problem}`, { cause })
  }
}
