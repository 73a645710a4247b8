// Tests how what identifies a customer is masked in answers and on pages.
import { expect, it } from 'vitest'
import { maskLookup, maskName } from './mask.ts'

it.each([
  ['MOBILE', '+12025550100', '*******0100'],
  ['MOBILE', '202 555-0100', '******0100'],
  ['EMAIL', 'ama@example.com', 'a***@example.com'],
  ['EMAIL', 'é@example.com', 'é***@example.com'],
  ['ACCOUNT_NUMBER', 'DW0000001234', '********1234'],
  ['ACCOUNT_NUMBER', '1234', '****'],
  ['ACCOUNT_NUMBER', '12', '**'],
] as const)('the %s %s is shown masked as %s', (type, value, shown) => {
  expect(maskLookup(type, value)).toBe(shown)
})

it.each([
  ['Efua', 'E***'],
  ['É', 'É***'],
  ['', '***'],
])('the name %j is shown masked as %s', (name, shown) => {
  expect(maskName(name)).toBe(shown)
})
