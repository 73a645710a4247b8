// Shows that counting visits every row of every source once, page by page, and refuses foreign page tokens.
import { describe, expect, it } from 'vitest'
import { testKeys } from '../../test/support/keys.ts'
import { countPage, type Dependant, type DependantSource } from './dependants.ts'

const row = (cursor: number, keyId: string | null): Dependant => ({
  cursor: String(cursor).padStart(6, '0'),
  keyId,
  id: `row-${cursor}`,
})

/** Rows that are read as a table is. */
function source(kind: string, rows: Dependant[]): DependantSource & { reads: number } {
  const made = {
    kind,
    reads: 0,
    async read(after: string, limit: number) {
      made.reads += 1
      return rows.filter(({ cursor }) => cursor > after).slice(0, limit)
    },
  }
  return made
}

async function countAll(sources: DependantSource[], keys = testKeys('untimed')()) {
  const counts: Record<string, number> = {}
  let pages = 0
  let token = ''
  do {
    const page = await countPage(sources, keys, token)
    for (const { kind, keyId, count, ids } of page.dependants) {
      counts[`${kind} ${keyId}`] = (counts[`${kind} ${keyId}`] ?? 0) + count
      expect(ids.length).toBe(Math.min(count, 20))
    }
    token = page.nextPageToken
    pages += 1
  } while (token !== '')
  return { counts, pages }
}

describe('the dependants of keys', () => {
  it('the dependants of keys are counted by kind and key, in pages of a bounded size', async () => {
    const keys = testKeys('untimed')()
    const many = Array.from({ length: 2_500 }, (_, n) =>
      row(n + 1, n % 5 === 0 ? null : 'aaaaaaaa'),
    )
    const exact = Array.from({ length: 1_000 }, (_, n) => row(n + 1, 'bbbbbbbb'))
    const sources = [source('many', many), source('none', []), source('exact', exact)]
    const { counts, pages } = await countAll(sources, keys)
    expect(counts).toEqual({
      [`many ${keys.current.keyId}`]: 500,
      'many aaaaaaaa': 2_000,
      'exact bbbbbbbb': 1_000,
    })
    expect(pages).toBe(3 + 1 + 2)
  })

  it('the dependants of keys without a key id belong to no key where every key has a time', async () => {
    const { counts } = await countAll([source('old', [row(1, null)])], testKeys()())
    expect(counts).toEqual({ 'old ': 1 })
  })

  it('the dependants of keys of a file without any are none', async () => {
    expect(await countAll([])).toEqual({ counts: {}, pages: 1 })
  })

  it.each([
    'x',
    'MA',
    Buffer.from('9 ').toString('base64url'),
    Buffer.from("0 ' or 1").toString('base64url'),
  ])(
    'the dependants of keys are not read from a page token that is not ours: %s',
    async (token) => {
      const counting = countPage([source('one', [])], testKeys()(), token)
      await expect(counting).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
    },
  )
})
