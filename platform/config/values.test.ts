// What the setting of version notices takes and refuses.
import { describe, expect, it } from 'vitest'
import { versionNotices } from './values.ts'

const deprecation = '2027-07-01T00:00:00Z'

describe('the notices of contract versions', () => {
  it('the notices of contract versions may be an empty object', () => {
    expect(versionNotices.read('{}')).toEqual({})
  })

  it('the notices of contract versions have a deprecation, and perhaps a sunset and a link', () => {
    const link = 'https://example.com/changes'
    const sunset = '2029-07-01T00:00:00Z'
    const text = JSON.stringify({ '2024-10-01': { deprecation, sunset, link } })
    expect(versionNotices.read(text)).toEqual({
      '2024-10-01': { deprecation: new Date(deprecation), sunset: new Date(sunset), link },
    })
  })

  it.each([
    ['no JSON', 'tomorrow'],
    ['another version', JSON.stringify({ '2025-01-01': { deprecation } })],
    ['no deprecation', JSON.stringify({ '2024-10-01': {} })],
    [
      'a day that is not real',
      JSON.stringify({ '2024-10-01': { deprecation: '2027-02-30T00:00:00Z' } }),
    ],
    [
      'a sunset before it',
      JSON.stringify({ '2024-10-01': { deprecation, sunset: '2027-06-30T00:00:00Z' } }),
    ],
    ['a misspelt field', JSON.stringify({ '2024-10-01': { deprecation, sunst: deprecation } })],
    [
      'a link that would break the header',
      JSON.stringify({ '2024-10-01': { deprecation, link: 'https://a.example/">' } }),
    ],
  ])('the notices of contract versions are refused with %s', (_what, text) => {
    expect(() => versionNotices.read(text)).toThrow(/must|takes|are/)
  })
})
