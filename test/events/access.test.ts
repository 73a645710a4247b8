// How a process proves itself to the broker: by the password of a file, which may change while it runs.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { natsFrom } from '#platform/events/nats/access.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'payweave-nats-'))
})
afterAll(() => rm(folder, { recursive: true }))

it('a process with a wrong password tries again, and comes in with the right one', async () => {
  const url = new URL(process.env['TEST_NATS_URL'] ?? '')
  const natsPasswordFile = path.join(folder, 'nats-password')
  await writeFile(natsPasswordFile, 'wrong\n')
  const settings = {
    payweaveEnv: 'local' as const,
    natsUrl: `nats://${url.host}`,
    natsPasswordFile,
    natsCredsFile: undefined,
    natsCaFile: undefined,
  }
  const warned = vi.fn<() => void>()
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, { warn: warned })
  // The user is the process's own name.
  const nats = connectNats({ ...natsFrom(settings), name: url.username, log })
  try {
    await eventually(() => expect(warned).toHaveBeenCalled())
    expect(nats.ready()).toBe(false)
    await writeFile(natsPasswordFile, `${decodeURIComponent(url.password)}\n`)
    await eventually(() => nats.ready())
    await eventually(() => nats.ensureStream())
  } finally {
    await nats.close()
  }
}, 40_000)
