// Tests the hashes of pins.
import { createHook } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { fixedKeys } from '../../../../test/support/keys.ts'
import { hashPin, type PinOwner } from './pin.ts'

const secrets = { pepper: fixedKeys(), seal: fixedKeys() }
const owner = { projectId: randomUUID(), checkDeadline: () => undefined }

/** Whether the pins were hashed; else the reason why not. */
async function outcomes(owners: readonly PinOwner[]): Promise<string[]> {
  const hashes = await Promise.allSettled(owners.map((one) => hashPin(secrets, 1, one)))
  return hashes.map((one) => (one.status === 'fulfilled' ? 'hashed' : one.reason.reason))
}

it('pins are hashed one at a time, each with a salt of its own', async () => {
  const running = new Set<number>()
  let atOnce = 0
  const hook = createHook({
    init(id, type) {
      if (type !== 'SCRYPTREQUEST') return
      running.add(id)
      atOnce = Math.max(atOnce, running.size)
    },
    before: (id) => void running.delete(id),
  }).enable()
  const hashes = await Promise.all([1, 1, 2, 3].map((pin) => hashPin(secrets, pin, owner)))
  hook.disable()
  expect(atOnce).toBe(1)
  expect(new Set(hashes.map(({ hash }) => hash.toString('hex'))).size).toBe(4)
})

it('pins of one project wait up to a limit, and leave room for those of another', async () => {
  const other = { ...owner, projectId: randomUUID() }
  const seen = await outcomes([...Array.from({ length: 17 }, () => owner), other])
  expect(seen).toEqual([...Array(16).fill('hashed'), 'SERVICE_UNAVAILABLE', 'hashed'])
  expect(await outcomes([owner])).toEqual(['hashed'])
})

it('pins of all projects wait up to a limit, and one whose caller stopped waiting is not hashed', async () => {
  let hashes = 0
  const hook = createHook({
    init: (_id, type) => void (hashes += Number(type === 'SCRYPTREQUEST')),
  })
  hook.enable()
  const late = () => ({
    projectId: randomUUID(),
    checkDeadline() {
      throw new Failure('TIMEOUT', 'late')
    },
  })
  const seen = await outcomes(Array.from({ length: 33 }, late))
  hook.disable()
  expect(seen).toEqual([...Array(32).fill('TIMEOUT'), 'SERVICE_UNAVAILABLE'])
  expect(hashes).toBe(0)
})
