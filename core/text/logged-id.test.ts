// Shows which ids of clients are in the API log, and that no whole number of a person or card is.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { newKey } from '../identity/id.ts'
import { loggedId, searchedId } from './logged-id.ts'

it.each([
  ['order-1001', 'order-1001'],
  ['INV/2026#77', 'INV/2026#77'],
  ['01a1fc1d-3c7c-7a55-beb8-41051e057d99', '01a1fc1d-3c7c-7a55-beb8-41051e057d99'],
  ['20261123000123', '***0123'],
  ['shop:4111-1111-1111-1111:2', 'shop:***11:2'],
  ['a1868350123', 'a***0123'],
  ['868.350.1234_x', '***1234_x'],
])('the id %s is logged as %s', (id, logged) => {
  expect(loggedId(id)).toBe(logged)
})

it.each([
  '',
  'Kofi Boateng',
  'kofi@example.com',
  '+18683501234',
  'a'.repeat(65),
  newKey('', 32),
  newKey('pwk_test_', 32),
  'pws_short',
])('the text %j is no id, and not logged', (text) => {
  expect(loggedId(text)).toBeUndefined()
})

it('a logged id holds no seven digits in sequence', () => {
  const text = fc.stringMatching(/^[\d._:/#a-z-]{1,64}$/)
  fc.assert(
    fc.property(text, (id) => {
      expect(loggedId(id)).not.toMatch(/\d(?:[._:/#-]?\d){6}/)
    }),
  )
})

it.each(['order-1001', 'hostile-a7231234567b', '20261123000123', 'shop:4111-1111-1111-1111:2'])(
  'a search for the id %s compares what the log shows, from the whole id and from the shown one',
  (id) => {
    const shown = loggedId(id) ?? ''
    expect([searchedId(id), searchedId(shown)]).toEqual([shown, shown])
  },
)

it.each(['***', '***123', 'Kofi ***1234', `***${'1234'.repeat(20)}`])(
  'a search for %j finds nothing: the log shows no such id',
  (text) => {
    expect(searchedId(text)).toBeUndefined()
  },
)
