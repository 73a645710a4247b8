// Keeps docs/errors.md equal to the table of error codes (`npx vitest run gateway -u` writes it), and the page complete.
import { describe, expect, it } from 'vitest'
import { publicReasons } from '#core/errors/errors.ts'
import { errorDocument, errorPage } from './error-page.ts'

describe('the error catalogue', () => {
  it('the error catalogue is docs/errors.md', async () => {
    await expect(errorDocument()).toMatchFileSnapshot('../../docs/errors.md')
  })

  it('the error catalogue has one section for each code, which doc_url leads to', () => {
    const ids = [...errorPage().matchAll(/<section id="(\w+)">/g)].map(([, id]) => id)
    expect(ids.toSorted()).toEqual(Object.keys(publicReasons).toSorted())
  })

  it('the error catalogue names both statuses of a time-out', () => {
    expect(errorPage()).toContain('TIMEOUT</a> <small>HTTP 408 or 504</small>')
  })

  it('the error catalogue shows code as code and no text as markup', () => {
    expect(errorPage()).toContain('<code>Retry-After</code>')
    expect(errorPage()).not.toContain('`')
  })
})
