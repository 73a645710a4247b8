// Shows in a real process what is kept away and what stays.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { expect, it } from 'vitest'

it('keeps fetch unloaded until somebody uses it', () => {
  const script = `
    import { createServer } from 'node:http'
    const isLoaded = () => process.moduleLoadList.includes('NativeModule internal/deps/undici/undici')
    const before = isLoaded()
    new Headers()
    console.log(JSON.stringify([typeof createServer, before, isLoaded(), typeof WebSocket]))`
  const lean = path.join(import.meta.dirname, 'lean-http.cjs')
  const args = ['--require', lean, '--input-type=module', '--eval', script]
  const said = execFileSync(process.execPath, args, { encoding: 'utf8' })
  expect(JSON.parse(said)).toEqual(['function', false, true, 'function'])
})
