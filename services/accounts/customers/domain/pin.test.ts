// Tests the hashes of pins.
import { createHook } from 'node:async_hooks'
import { expect, it } from 'vitest'
import { fixedKeys } from '../../../../test/support/keys.ts'
import { hashPin } from './pin.ts'

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
  const secrets = { pepper: fixedKeys(), seal: fixedKeys() }
  const hashes = await Promise.all([1, 1, 2, 3].map((pin) => hashPin(secrets, pin)))
  hook.disable()
  expect(atOnce).toBe(1)
  expect(new Set(hashes.map(({ hash }) => hash.toString('hex'))).size).toBe(4)
})
