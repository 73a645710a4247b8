// Tests that the reference shows what the guides show of an operation, in each language.
import { expect, it } from 'vitest'
import { guideSample } from './guide-samples.ts'
import { operationPages } from './reference.ts'

it('the reference has samples in TypeScript, Python and PHP for the operations of the guides', () => {
  const reference = operationPages()
    .map(({ markdown }) => markdown)
    .join('\n')
  const operations = [...reference.matchAll(/^`(GET|POST) (\/\S+)` · /gm)]
  expect(operations).toHaveLength(26)
  const shown = operations.flatMap(([, method = '', path = '']) => {
    const sample = guideSample(method, path)
    if (sample === undefined) return []
    expect(sample.blocks.map(({ language }) => language)).toEqual(['ts', 'python', 'php'])
    for (const { code } of sample.blocks) expect(reference).toContain(code)
    return [`${method} ${path}`]
  })
  expect(shown.toSorted()).toEqual([
    'GET /bill_payments/receipt',
    'GET /bill_payments/status',
    'GET /institution/transaction',
    'GET /payments/status',
    'POST /account/account_session',
    'POST /account/personal_account',
    'POST /bill_payments/pay',
    'POST /institution/transaction',
    'POST /payments/refund',
    'POST /payments/request',
    'POST /quote',
  ])
})
