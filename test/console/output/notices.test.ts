// The notice of a page, which its address names.
import { expect, it } from 'vitest'
import { noticeOf } from '../../../console/pages/blocks.ts'

it.each([
  ['notice=stored', 'The rule is stored.'],
  ['notice=deleted', undefined],
  ['notice=constructor', undefined],
  ['', undefined],
])('a page whose address has "%s" shows the notice %s', (query, notice) => {
  expect(noticeOf(new URLSearchParams(query), { stored: 'The rule is stored.' })).toBe(notice)
})
