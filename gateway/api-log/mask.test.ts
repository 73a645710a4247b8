// Plants secrets and personal data in every field of every route, and shows that none is kept.
import type { TSchema } from 'typebox'
import { describe, expect, it } from 'vitest'
import { newKey } from '#core/identity/id.ts'
import { routeRows } from '../http/app.ts'
import type { RouteRow } from '../http/route.ts'
import { operations } from '../openapi/document.ts'
import { refusalFields, successFields } from '../openapi/envelopes.ts'
import type { OperationName } from '../openapi/operation.ts'
import { keptJson } from './mask.ts'
import { masksOfRoute } from './route-masks.ts'

/** What must never be kept, wherever a client puts it. */
const planted = {
  name: 'Ama Mensah-Boateng',
  phone: '+18683501234',
  'phone without plus': '8683501234567',
  email: 'ama.mensah@example.com',
  address: '12 Frederick Street',
  card: '4111111111111111',
  'card with blanks': '4111 1111 1111 1111',
  'long card': '378282246310005',
  'API key': newKey('', 32),
  'subscription key': newKey('pwk_test_', 32),
  'session token': `pws_${newKey('', 43)}`,
  'sealed token': Buffer.from(newKey('', 60)).toString('base64'),
  signature: 't=1700000000,v1=00ff00ff00ff00ff00ff00ff00ff00ff',
  'free text': 'She asked for two tickets, as a surprise',
  url: 'https://shop.example/hook?secret=hunter2',
  pin: 739_146,
}

type Node = { properties?: Record<string, TSchema>; items?: TSchema; anyOf?: TSchema[] }

/** Values of a schema's form with the plant in every leaf; and with it in the place of every object and list. */
function filled(schema: TSchema, plant: unknown, isDeep: boolean): unknown {
  const { properties, items, anyOf } = schema as Node
  if (anyOf !== undefined) {
    const option = anyOf.find((one) => 'items' in one || 'properties' in one)
    return option === undefined ? plant : filled(option, plant, isDeep)
  }
  if (items !== undefined) return isDeep ? [filled(items, plant, isDeep), plant] : plant
  if (properties === undefined) return plant
  const fields = Object.entries(properties).map(([name, child]) => [
    name,
    isDeep || !('properties' in child) ? filled(child, plant, isDeep) : plant,
  ])
  // A name that the client chose, and an object of their own.
  const own = { [String(plant)]: plant, own: { [String(plant)]: [plant] } }
  return { ...Object.fromEntries(fields), ...own }
}

const nameOf = ({ method, path }: RouteRow): OperationName => `${method} /${path.slice(1)}`

/** Every schema of a route, with the mask that is for it. */
function masked(row: RouteRow, plant: unknown, isDeep: boolean): string {
  const masks = masksOfRoute(row)
  const successes = Object.entries(operations[nameOf(row)]?.successes ?? {})
  const fill = (schema: TSchema) => filled(schema, plant, isDeep)
  const kept = [
    masks.query(fill(row.query.schema)),
    ...[row.body?.schema, row.form?.check.schema].map((schema) =>
      masks.body(schema === undefined ? plant : fill(schema)),
    ),
    ...successes.map(([code, success]) => {
      const fields = successFields(row, Number(code), success)
      // The words of a success are ours.
      const value = { ...(fill(fields) as object), message: 'Done.' }
      return masks.response(Number(code), value, undefined)
    }),
    masks.response(400, fill(refusalFields(row.envelope)), String(plant)),
    masks.response(299, plant, undefined),
  ]
  return kept.map(keptJson).join('\n')
}

describe.each(Object.entries(planted))('%s', (_, plant) => {
  it.each(routeRows.map((row) => [nameOf(row), row] as const))(
    'nothing of it is kept of %s, wherever it is put',
    (_name, row) => {
      for (const isDeep of [true, false]) {
        const kept = masked(row, plant, isDeep)
        expect(kept).not.toContain(String(plant))
        expect(kept).not.toContain(JSON.stringify(String(plant)).slice(1, -1))
      }
    },
  )
})

const rowOf = (name: OperationName) => {
  const row = routeRows.find((one) => nameOf(one) === name)
  if (row === undefined) throw new Error(`no route ${name}`)
  return masksOfRoute(row)
}

describe('what is kept', () => {
  it('a request is readable: amounts, ids, choices, and how long the rest was', () => {
    const { body, query } = rowOf('POST /payments/request')
    expect(query({ version: '2024-10-01', extra: 'x' })).toEqual({
      version: '2024-10-01',
      '[unknown fields]': 1,
    })
    const kept = body({
      api_key: newKey('', 32),
      transaction_request: {
        id: 'order-1001',
        amount: '25.00',
        currency: 'USD',
        description: 'Two tickets',
        payers: [{ mobile_number: '+18683501234', payment_channel: 'payment_link', email: '' }],
        urls: { notify: 'https://shop.example/hook' },
        fees: 'none',
      },
    })
    expect(kept).toEqual({
      api_key: '[32 characters]',
      transaction_request: {
        id: 'order-1001',
        amount: '25.00',
        currency: 'USD',
        description: '[11 characters]',
        payers: [
          {
            mobile_number: '[12 characters]',
            payment_channel: 'payment_link',
            email: '[0 characters]',
          },
        ],
        urls: { notify: '[25 characters]' },
        fees: '[4 characters]',
      },
    })
  })

  it('both shapes of a party and its fees are masked field by field', () => {
    const { body } = rowOf('POST /institution/transaction')
    expect(
      body({
        fees: [{ fee_type: 'a', fee_amount: '1.00', fee_currency: 'USD' }],
        debit_party: [{ key: 'mobile_number', value: '+18683501234' }],
        credit_party: { currency: 'TTD', account_number: '123' },
      }),
    ).toEqual({
      fees: [{ fee_type: '[1 character]', fee_amount: '1.00', fee_currency: 'USD' }],
      debit_party: [{ key: '[13 characters]', value: '[12 characters]' }],
      credit_party: { currency: 'TTD', account_number: '[3 characters]' },
    })
  })

  it('a refusal is kept with its words, unless they name a field that only the client knows', () => {
    const { response } = rowOf('POST /payments/request')
    const refused = {
      status: 'error',
      code: 400,
      message: 'transaction_request.payers[0].amount must be a decimal.',
      errorCode: 'INVALID_PARAMETER',
      field: 'transaction_request.payers[0].amount',
    }
    expect(response(400, refused, refused.field)).toEqual(refused)
    const header = {
      ...refused,
      message: 'Missing or malformed: PW-ip-address.',
      field: 'PW-ip-address',
    }
    expect(response(400, header, 'PW-ip-address')).toEqual(header)
    const foreign = {
      ...refused,
      message: 'metadata.Ama must not contain NUL.',
      field: 'metadata.Ama',
    }
    expect(response(400, foreign, foreign.field)).toEqual({
      ...refused,
      message: '[34 characters]',
      field: '[12 characters]',
    })
  })

  it('a long list is cut, and so is a long text', () => {
    const { response } = rowOf('GET /payments/list')
    const payment = { amount: '1.00', currency: 'USD', description: 'x' }
    const kept = response(200, { payments: Array.from({ length: 25 }, () => payment) }, undefined)
    expect(kept).toMatchObject({ payments: expect.arrayContaining(['[5 more]']) })
    expect(keptJson({ text: 'x'.repeat(10_000) })).toHaveLength(8_192)
    expect(keptJson(undefined)).toBe('')
  })
})
