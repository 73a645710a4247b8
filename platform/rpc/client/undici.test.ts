// Compares the parts of undici with the package that they are taken from.
import { createRequire } from 'node:module'
import * as whole from 'undici'
import { expect, it } from 'vitest'
import { undici } from './undici.ts'

it('takes the very parts that the package gives', () => {
  for (const [name, part] of Object.entries(undici)) {
    expect(part, name).toBe(whole[name as keyof typeof undici])
  }
})

it('has the package’s own request as a method', () => {
  const request: unknown = createRequire(import.meta.url)('undici/lib/api/api-request.js')
  expect(undici.Dispatcher.prototype.request).toBe(request)
})
