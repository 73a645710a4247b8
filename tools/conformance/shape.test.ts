// Shows that differences are found and described in words.
import { expect, it } from 'vitest'
import { absent, differences, exactly, holding, isoTime, oneOf, twoDecimals } from './shape.ts'

const answer = {
  code: 200,
  message: 'Payment cancelled',
  timestamp: '2026-11-21T03:18:56.923Z',
  payers: [{ amount: '1.00', status: 'paid' }],
}

it('a matching answer has no difference, also with further fields', () => {
  const shape = {
    code: oneOf(200, 201),
    message: holding('CANCELLED'),
    timestamp: isoTime,
    payers: [{ amount: twoDecimals, status: /^paid$/ }],
    missing: absent,
  }
  expect(differences(answer, shape)).toEqual([])
})

it.each([
  [{ code: 201 }, 'code is 200, not 201'],
  [{ code: '200' }, 'code is 200, not "200"'],
  [{ message: absent }, 'message is "Payment cancelled", not absent'],
  [{ nothing: 1 }, 'nothing is absent, not 1'],
  [{ payers: [] }, 'payers is [{"amount":"1.00","status":"paid"}], not a list of 0'],
  [{ payers: [{ amount: '2.00' }] }, 'payers[0].amount is "1.00", not "2.00"'],
  [{ payers: { 0: {} } }, 'payers is [{"amount":"1.00","status":"paid"}], not an object'],
  [exactly({ code: 200 }), 'the body also has message, timestamp, payers'],
  [
    { timestamp: twoDecimals },
    'timestamp is "2026-11-21T03:18:56.923Z", not an amount with two decimals',
  ],
])('the shape %j is found to differ', (shape, words) => {
  expect(differences(answer, shape)).toEqual([words])
})
