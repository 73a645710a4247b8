// Tests how valid and invalid card forms are read.
import { describe, expect, it } from 'vitest'
import { readCard, testCards } from './card.ts'

const now = new Date('2026-02-28T23:59:59.999Z')
const form = { number: '4242 4242 4242 4242', expiry: '02/26', cvc: '123' }

describe('the card form', () => {
  it('the card form takes the test cards as documented and declines every other number', () => {
    for (const [number, verdict] of Object.entries(testCards)) {
      expect(readCard({ ...form, number }, now)).toEqual({ verdict })
    }
    expect(readCard({ ...form, number: '4111111111111111' }, now).verdict?.outcome).toBe('refused')
  })

  it('a card is good to the end of its month', () => {
    expect(readCard(form, now).verdict?.outcome).toBe('paid')
    expect(readCard(form, new Date('2026-03-01T00:00:00.000Z'))).toMatchObject({
      field: 'expiry',
      problem: 'pastExpiry',
    })
  })

  it.each(['12/26', '12 / 26', '1226', '12/2026', ' 12/26 '])(
    'the card form reads expiry %j',
    (expiry) => {
      expect(readCard({ ...form, expiry }, now).verdict?.outcome).toBe('paid')
    },
  )

  it.each(['', '00/30', '13/30', '1/30', '12-30', '12/126'])(
    'the card form asks again for expiry %j',
    (expiry) => {
      expect(readCard({ ...form, expiry }, now).field).toBe('expiry')
    },
  )

  it.each(['', '12', '12345', 'abc'])('the card form asks again for security code %j', (cvc) => {
    expect(readCard({ ...form, cvc }, now).field).toBe('cvc')
  })
})
