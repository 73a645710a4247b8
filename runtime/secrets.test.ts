// Which secret files are accepted, and that a refusal does not show the content.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readSecret } from './secrets.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-secrets-'))
afterAll(() => rmSync(dir, { recursive: true }))

describe('a secret file', () => {
  it('is 64 hex digits, with or without a final newline', () => {
    const hex = 'a1'.repeat(32)
    writeFileSync(join(dir, 'pepper'), `${hex}\n`)
    expect(readSecret(dir, 'pepper')).toEqual(Buffer.from(hex, 'hex'))
  })

  it('is named when it is absent', () => {
    expect(() => readSecret(dir, 'absent.key')).toThrow(/absent\.key cannot be read/)
  })

  it('is refused without its content being shown when it is not 32 bytes', () => {
    writeFileSync(join(dir, 'short.key'), 'c0ffee')
    expect(() => readSecret(dir, 'short.key')).toThrow(/short\.key must hold 64 hex digits/)
    expect(() => readSecret(dir, 'short.key')).not.toThrow(/c0ffee/)
  })
})
