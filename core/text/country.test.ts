// Proves what counts as a country code.
import { describe, expect, it } from 'vitest'
import { isCountry } from './country.ts'

describe('isCountry', () => {
  it.each(['TT', 'US', 'GB', 'JP', 'SS', 'CW', 'AQ'])('isCountry accepts %s', (code) => {
    expect(isCountry(code)).toBe(true)
  })

  it.each(['tt', 'Tt', 'UK', 'XK', 'XX', 'ZZ', 'AN', 'EU', 'TTO', '780', '', ' TT', 'toString'])(
    'isCountry refuses %j',
    (code) => expect(isCountry(code)).toBe(false),
  )
})
