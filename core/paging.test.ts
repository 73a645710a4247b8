// Tests of pages: their sizes, and tokens that were made by us, by nobody or by somebody else.
import { describe, expect, it } from 'vitest'
import { randomId } from './identity/id.ts'
import { cursorIn, idIn, pageOf, pageSizeOf, timeCursorIn, tokenOf } from './paging.ts'

const id = randomId()
const refused = expect.objectContaining({ reason: 'INVALID_PARAMETER' })

describe('a page', () => {
  it('a page has the default size unless another one is requested', () => {
    expect([pageSizeOf(0), pageSizeOf(0, 25), pageSizeOf(7)]).toEqual([50, 25, 7])
  })

  it('a page has a token of its last row only if a row more was found', () => {
    const token = (last: number) => `after ${last}`
    expect(pageOf([1, 2, 3], 2, token)).toEqual({ rows: [1, 2], nextPageToken: 'after 2' })
    expect(pageOf([1, 2], 2, token)).toEqual({ rows: [1, 2], nextPageToken: '' })
    expect(pageOf([], 2, token)).toEqual({ rows: [], nextPageToken: '' })
  })
})

describe('a page token', () => {
  it('a page token returns the cursor that it was made of', () => {
    const time = new Date(1_700_000_000_123)
    expect(idIn(tokenOf(id))).toBe(id)
    expect(cursorIn(tokenOf(1_700_000_000_123_456n, id))).toEqual({
      at: 1_700_000_000_123_456n,
      id,
    })
    expect(timeCursorIn(tokenOf(time.getTime(), id))).toEqual({ time, id })
  })

  it('an empty page token is the beginning', () => {
    expect([idIn(''), cursorIn(''), timeCursorIn('')]).toEqual([undefined, undefined, undefined])
  })

  it.each(['x', tokenOf('1'), tokenOf(1, 'x'), tokenOf(-1, id), tokenOf(1, id, 'x'), `${id} 1`])(
    'a page token that is not one of ours is refused: %s',
    (token) => {
      for (const read of [idIn, cursorIn, timeCursorIn]) expect(() => read(token)).toThrow(refused)
    },
  )

  it('a page token with a time that no clock shows is refused, and its refusal names the field', () => {
    const token = tokenOf(10n ** 14n, id)
    expect(() => timeCursorIn(token)).toThrow(refused)
    expect(() => timeCursorIn(token, 'cursor')).toThrow('cursor is not one of ours')
  })
})
