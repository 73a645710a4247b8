// Closing a connection to the broker, in a process that nothing else keeps alive.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

/** Closes a connection whose broker went away, so that what is written is never sent. */
const script = `
  import { keepConnected } from ${JSON.stringify(join(import.meta.dirname, 'connection.ts'))}
  const never = new Promise(() => undefined)
  const connected = Promise.withResolvers()
  const ended = Promise.withResolvers()
  const connection = {
    async *status() { await never },
    getServer: () => 'gone',
    closed: () => ended.promise,
    isClosed: () => false,
    close: async () => ended.resolve(),
    drain: () => never,
  }
  const log = { info: () => connected.resolve(), warn() {} }
  const broker = keepConnected({ open: async () => connection, log })
  await connected.promise
  await broker.close()
  process.stdout.write('closed')
`

it('closing ends when the broker takes nothing any more, also when nothing else is left to do', async () => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  expect(stdout).toBe('closed')
})
