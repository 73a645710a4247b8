// Tests how nats-server is found and unpacked, and the error when it is missing.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../../test/support/servers.ts'
import { natsProgram } from './program.ts'

let folder: string
let server: http.Server
let archive: Buffer
let url: string

beforeEach(async () => {
  folder = temporaryFolder('program')
  archive = archiveOf('v2.12.15')
  server = http.createServer((request, answer) => {
    answer.end(request.method === 'HEAD' ? undefined : archive)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/release.tar.gz`
})

afterEach(() => {
  vi.unstubAllEnvs()
  server.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** A release whose program only prints a version. */
function archiveOf(version: string): Buffer {
  const release = path.join(folder, 'made', 'nats-server-release')
  fs.mkdirSync(release, { recursive: true })
  program(release, version)
  const file = path.join(folder, 'release.tar.gz')
  execFileSync('tar', ['-czf', file, '-C', path.dirname(release), path.basename(release)])
  return fs.readFileSync(file)
}

function program(dir: string, version: string): string {
  const file = path.join(dir, 'nats-server')
  fs.writeFileSync(file, `#!/bin/sh\necho nats-server: ${version}\n`, { mode: 0o755 })
  return file
}

/** A machine with the tools that a release needs, and neither nats-server nor apt. */
function bareMachine(tools: string[]): void {
  const bin = path.join(folder, 'bin')
  fs.mkdirSync(bin)
  for (const tool of tools) {
    const found = execFileSync('/bin/sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim()
    fs.symlinkSync(found, path.join(bin, tool))
  }
  vi.stubEnv('PATH', bin)
}

function obtain(sha256: string): Promise<string> {
  const cacheDir = path.join(folder, 'a cache')
  fs.mkdirSync(cacheDir, { recursive: true })
  return natsProgram({
    fallbackDir: folder,
    cacheDir,
    release: { url, sha256 },
    log: () => {},
    systemFolders: [],
  })
}

const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('the nats-server program', () => {
  it('the nats-server program is the installed one where there is one', async () => {
    bareMachine([])
    const installed = program(path.join(folder, 'bin'), 'v2.9.10')
    expect(await obtain('none')).toBe(installed)
  })

  it('the nats-server program is downloaded once and then taken from the cache', async () => {
    bareMachine(['tar', 'gzip', 'sh'])
    const downloaded = await obtain(sum(archive))
    server.close()
    expect(path.dirname(downloaded)).toBe(path.join(folder, 'a cache'))
    expect(await obtain(sum(archive))).toBe(downloaded)
    expect(fs.readdirSync(path.dirname(downloaded))).toEqual(['nats-server'])
  })

  it('the nats-server program is not taken from a download with another checksum; the error names an installation', async () => {
    bareMachine(['tar', 'gzip', 'sh'])
    const refused = obtain(sum(Buffer.from('another archive')))
    await expect(refused).rejects.toThrow('sudo apt-get install nats-server')
    await expect(refused).rejects.toThrow('another SHA-256')
    expect(fs.readdirSync(path.join(folder, 'a cache'))).toEqual([])
  })

  it.each(['v2.7.4', 'v2.9.9'])(
    'the nats-server program is not an installed %s, which is too old',
    async (version) => {
      bareMachine(['tar', 'gzip', 'sh'])
      program(path.join(folder, 'bin'), version)
      expect(await obtain(sum(archive))).toContain('a cache')
    },
  )
})
