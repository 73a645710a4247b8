// A process for the tests of the lifecycle. It does what its first argument says; it must not be used elsewhere.
import { readSettings } from '#platform/config/config.ts'
import { runProcess, waitForStart } from '#platform/process/lifecycle.ts'

const behaviour = process.argv[2]
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const keepAlive = setInterval(() => {}, 1_000)
const { promise: never } = Promise.withResolvers<void>()

runProcess('sample', async (stopping) => {
  if (behaviour === 'bad-settings') readSettings('quotes')
  if (behaviour === 'bad-start') throw new Error('start: secret words')
  stopping.addEventListener('abort', () => say('stop requested'))
  if (behaviour === 'slow-start') {
    say('starting')
    await new Promise((resolve) => stopping.addEventListener('abort', resolve))
  }
  if (behaviour === 'rejects') setTimeout(() => void Promise.reject(new Error('secret words')), 20)
  if (behaviour === 'throws') {
    setTimeout(() => {
      throw new Error('secret words')
    }, 20)
  }
  // Longer than any test waits, and no longer than one waits for it.
  const closeWithinMs = { hangs: 500, 'hangs-on': 60_000 }[behaviour ?? '']
  if (behaviour === 'together') {
    // Each of them is closed once the other one is closing too.
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const partOf = (own: 0 | 1) => ({
      name: `peer ${own}`,
      closeWithinMs: 500,
      close: () => {
        begun[own].resolve()
        return begun[own === 0 ? 1 : 0].promise
      },
    })
    return [[partOf(0), partOf(1)]]
  }
  return [
    { name: 'door', close: () => void say('door closed') },
    {
      name: 'work',
      ...(closeWithinMs !== undefined && { closeWithinMs }),
      close() {
        say('work closing')
        if (closeWithinMs !== undefined) return never
        if (behaviour === 'bad-close') throw new Error('secret words')
        return new Promise((resolve) => setTimeout(resolve, 50))
      },
    },
    {
      name: 'store',
      close() {
        clearInterval(keepAlive)
        say('store closed')
      },
    },
  ]
})

if (process.argv.includes(waitForStart)) say('loaded')
