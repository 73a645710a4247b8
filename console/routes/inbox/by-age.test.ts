// Tests how items of several sources become one list by age, in pages of which none repeats or misses an item.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, it } from 'vitest'
import { text } from '../../pages/blocks.ts'
import { pageByAge } from './by-age.ts'
import type { AgedKind, InboxItem } from './items.ts'

const item = (kind: AgedKind, ms: number): InboxItem => ({
  kind,
  id: `${kind}-${ms}`,
  since: timestampFromMs(ms),
  projectId: '',
  name: text(''),
  about: '',
  amount: '',
  decisions: [],
})

/** A source of these items, in pages of two. */
function sourceOf(kind: AgedKind, items: InboxItem[]) {
  const read = (pageToken: string) => {
    const at = Number(pageToken)
    const nextPageToken = at + 2 < items.length ? String(at + 2) : ''
    return Promise.resolve({ items: items.slice(at, at + 2), nextPageToken })
  }
  return { kind, read }
}

const bills = [1, 4, 5, 6, 20].map((ms) => item('bill', ms))
const refunds = [2, 3, 3, 21].map((ms, at) => ({ ...item('refund', ms), id: `refund-${at}` }))
const sources = () => [
  sourceOf('bill', bills),
  sourceOf('refund', refunds),
  sourceOf('dead_letter', []),
]

async function listAll(size: number, between = () => {}) {
  const found: string[] = []
  let pageToken = ''
  do {
    const page = await pageByAge(sources(), pageToken, size)
    expect(page.items.length).toBeLessThanOrEqual(size)
    found.push(...page.items.map(({ id }) => id))
    pageToken = page.nextPageToken
    between()
  } while (pageToken !== '')
  return found
}

const inOrder = [
  'bill-1',
  'refund-0',
  'refund-1',
  'refund-2',
  'bill-4',
  'bill-5',
  'bill-6',
  'bill-20',
  'refund-3',
]

it.each([1, 2, 3, 4, 9, 10])('pages of %d items are one list by age', async (size) => {
  expect(await listAll(size)).toEqual(inOrder)
})

it('an item that somebody has decided on in the meantime hides no other', async () => {
  const found = await listAll(5, () => {
    const at = bills.findIndex(({ id }) => id === 'bill-4')
    if (at >= 0) bills.splice(at, 1)
  })
  expect(found).toEqual(inOrder)
})

it.each(['x', '{"bill":1}', '{"bill":{"id":"1"}}', 'null', '"text"'])(
  'the text %j is no cursor',
  async (text) => {
    const token = Buffer.from(text).toString('base64url')
    await expect(pageByAge(sources(), token, 1)).rejects.toMatchObject({
      reason: 'INVALID_PARAMETER',
    })
  },
)
