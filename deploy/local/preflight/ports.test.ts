// Tests that a port in use is named before anything starts.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../test/support/servers.ts'
import { requireFreePorts } from './ports.ts'

const holders: net.Server[] = []
const others: ChildProcess[] = []

afterEach(() => {
  for (const other of others.splice(0)) other.kill('SIGKILL')
  for (const holder of holders.splice(0)) holder.close()
})

/** Only Linux shows the process. */
const own = `${path.basename(process.argv0)} (pid ${process.pid})`
const holder = process.platform === 'linux' ? ` by ${own}` : ''

async function taken(): Promise<number> {
  const holder = net.createServer().listen(0, '127.0.0.1')
  holders.push(holder)
  await once(holder, 'listening')
  return (holder.address() as net.AddressInfo).port
}

/** A port on which another process listens. */
async function takenByOther(): Promise<{ port: number; pid: number }> {
  const program = `const server = require('node:net').createServer()
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const other = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  others.push(other)
  const [said] = (await once(other.stdout, 'data')) as [Buffer]
  return { port: Number(said), pid: other.pid ?? 0 }
}

describe('the check of ports before a start', () => {
  it('the check of ports before a start names every port in use with its part, its process, and the setting that changes it', async () => {
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

  it('the check of ports before a start names each process that holds one of several ports', async (context) => {
    context.skip(process.platform !== 'linux', 'only Linux says who listens')
    const [mine, other] = [await taken(), await takenByOther()]
    const looked = requireFreePorts(
      [mine, other.port].map((port) => ({ part: 'quotes', port, setting: 'PORT_BASE' })),
      0,
    )
    await expect(looked).rejects.toThrow(
      `in use by ${own}, ${path.basename(process.execPath)} (pid ${other.pid}); set PORT_BASE to another`,
    )
  })

  it('the check of ports before a start waits for parts of a killed launcher to release their ports', async () => {
    const port = await taken()
    setTimeout(() => holders.pop()?.close(), 150)
    const looked = requireFreePorts([{ part: 'gateway', port, setting: 'PORT' }], 5_000)
    await expect(looked).resolves.toBeUndefined()
  })
})
