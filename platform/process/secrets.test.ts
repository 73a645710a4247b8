// Which secret files are accepted, that a refusal does not show the content, and that a change is followed.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, it } from 'vitest'
import { keyIdOf } from '#core/identity/key-ring.ts'
import { openKeys, readKeys } from './secrets.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-secrets-'))
afterAll(() => rmSync(dir, { recursive: true }))

const hexOf = (byte: number) => Buffer.alloc(32, byte).toString('hex')
const idOf = (byte: number) => keyIdOf(Buffer.alloc(32, byte))
const time = '2026-03-01T10:00:00.000Z'

describe('a secret file', () => {
  it('a secret file is 64 hex digits, with or without a final newline', () => {
    const hex = 'a1'.repeat(32)
    writeFileSync(join(dir, 'pepper'), `${hex}\n`)
    expect(readKeys(dir, 'pepper').current.key).toEqual(Buffer.from(hex, 'hex'))
  })

  it('a secret file is a list of keys', () => {
    writeFileSync(join(dir, 'pepper'), `current ${hexOf(2)} ${time}\nold ${hexOf(1)}\n`)
    expect(readKeys(dir, 'pepper').keys.map(({ keyId }) => keyId)).toEqual([idOf(2), idOf(1)])
  })

  it('a secret file is named when it is absent', () => {
    expect(() => readKeys(dir, 'absent.key')).toThrow(/absent\.key cannot be read/)
  })

  it('a secret file is refused without its content being shown when it is not 32 bytes', () => {
    writeFileSync(join(dir, 'short.key'), 'c0ffee')
    expect(() => readKeys(dir, 'short.key')).toThrow(/short\.key must hold 64 hex digits/)
    expect(() => readKeys(dir, 'short.key')).not.toThrow(/c0ffee/)
  })
})

describe('opened keys', () => {
  it('opened keys follow their files, and keep the last good list when one is damaged', async () => {
    let nowMs = 0
    const warnings: unknown[] = []
    const metrics = new Registry()
    const file = join(dir, 'link.key')
    writeFileSync(file, hexOf(1))
    const { 'link.key': keys } = openKeys({
      dir,
      names: ['link.key'],
      log: { warn: (...line: unknown[]) => void warnings.push(line) },
      metrics,
      now: () => nowMs,
    })
    expect(keys().current.keyId).toBe(idOf(1))

    writeFileSync(file, `current ${hexOf(2)} ${time}\nold ${hexOf(1)}\n`)
    nowMs += 1_000
    expect(keys().current.keyId).toBe(idOf(2))
    expect(keys().find(null)?.keyId).toBe(idOf(1))
    const shown = await metrics.metrics()
    expect(shown).toContain(`{file="link.key",key_id="${idOf(2)}",state="current"} 1772359200`)
    expect(shown).toContain(`{file="link.key",key_id="${idOf(1)}",state="old"} 0`)
    expect(shown).not.toContain(hexOf(2).slice(0, 16))

    writeFileSync(file, 'damaged')
    nowMs += 1_000
    expect(keys().current.keyId).toBe(idOf(2))
    expect(warnings).toHaveLength(1)
    expect(JSON.stringify(warnings)).not.toContain('damaged')
  })

  it('opened keys end the start of a process whose file cannot be read', () => {
    const log = { warn: () => undefined }
    expect(() => openKeys({ dir, names: ['absent.key'], log })).toThrow(/absent\.key/)
  })
})
