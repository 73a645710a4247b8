// Tests what the other tests of this folder start a delivery process with.
import { expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startDeliveryProcess } from './process.ts'

const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/none', NATS_URL: 'nats://127.0.0.1:1' }
const children = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap')

it('a delivery process that is not ready in time is gone when its start has failed', async () => {
  const before = children()
  await expect(startDeliveryProcess(nowhere, 1)).rejects.toThrow('delivery did not become ready')
  // Its handle is closed a moment after its end. Left alone, it would still load its code.
  await eventually(() => expect(children()).toEqual(before), 500)
})
