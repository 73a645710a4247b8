// Holds that a port in use is told before anything starts.
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../test/support/servers.ts'
import { requireFreePorts } from './ports.ts'

const holders: net.Server[] = []

afterEach(() => {
  for (const holder of holders.splice(0)) holder.close()
})

/** Only Linux says who it is. */
const holder =
  process.platform === 'linux' ? ` by ${path.basename(process.argv0)} (pid ${process.pid})` : ''

async function taken(): Promise<number> {
  const holder = net.createServer().listen(0, '127.0.0.1')
  holders.push(holder)
  await once(holder, 'listening')
  return (holder.address() as net.AddressInfo).port
}

describe('the look at ports before a start', () => {
  it('names every taken port with its part, who holds it, and the setting that moves it', async () => {
    const [first, second, third] = [await taken(), await taken(), await taken()]
    const [free = 0] = await freePorts(1)
    const looked = requireFreePorts(
      [
        { part: 'gateway', port: first, setting: 'PORT' },
        { part: 'quotes', port: second, setting: 'PORT_BASE' },
        { part: 'delivery', port: third, setting: 'PORT_BASE' },
        { part: 'billing', port: free, setting: 'PORT_BASE' },
      ],
      0,
    )
    await expect(looked).rejects.toThrow(
      `port ${first} (gateway) is in use${holder}; set PORT to another\n` +
        `ports ${second} (quotes), ${third} (delivery) are in use${holder}; set PORT_BASE to another`,
    )
  })

  it('waits for parts of a killed launcher to let go', async () => {
    const port = await taken()
    setTimeout(() => holders.pop()?.close(), 150)
    const looked = requireFreePorts([{ part: 'gateway', port, setting: 'PORT' }], 5_000)
    await expect(looked).resolves.toBeUndefined()
  })
})
