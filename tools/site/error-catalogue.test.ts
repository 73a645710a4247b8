// Keeps docs/integrate/errors.md equal to the table of error codes (`npm run schemas` writes it), and the page complete.
import { describe, expect, it } from 'vitest'
import { publicReasons } from '#core/errors/errors.ts'
import { errorDocument, errorSections } from './error-catalogue.ts'

describe('the error catalogue', () => {
  it('the error catalogue is docs/integrate/errors.md', async () => {
    await expect(errorDocument()).toMatchFileSnapshot('../../docs/integrate/errors.md')
  })

  it('the error catalogue has one section for each code', () => {
    const codes = [...errorSections().matchAll(/^## (\w+)$/gm)].map(([, code]) => code)
    expect(codes.toSorted()).toEqual(Object.keys(publicReasons).toSorted())
  })

  it('the error catalogue names both statuses of a time-out', () => {
    expect(errorSections()).toContain('## TIMEOUT\n\nHTTP 408 or 504. ')
  })
})
