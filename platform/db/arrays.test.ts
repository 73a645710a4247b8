// Proves on a real PostgreSQL that arrays in binary form keep their values.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type ArrayType, arrayParameter } from './arrays.ts'
import { type Database, isRefused, sql } from './db.ts'

let home: TestDatabase
let db: Database

beforeAll(async () => {
  const clock = new URL('migrations/clock', import.meta.url).pathname
  home = await createTestDatabase('arrays', [clock])
  db = home.open()
})
afterAll(() => home.drop())

/** What the server makes of an array, element by element. */
async function roundTrip(type: ArrayType, values: unknown[]): Promise<unknown[]> {
  const statement = sql(
    `array_${type}`,
    `select ($1::${type}[])[i] as value from generate_series(1, cardinality($1::${type}[])) as i`,
  )
  const rows = await db.rows<{ value: unknown }>(statement, [arrayParameter(type, values)])
  return rows.map(({ value }) => value)
}

const quoted = `O'Neil "sells" \\ %s $1 {},NULL 😀 é`
const uuids = ['00000000-0000-0000-0000-000000000000', '019ab1c2-d3e4-7f56-89ab-cdef01234567']

const all: [ArrayType, unknown[]][] = [
  ['boolean', [true, null, false]],
  ['bytea', [Buffer.from([0, 255, 92, 1]), null, Buffer.alloc(0)]],
  ['bigint', [9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n, null, 0n]],
  ['smallint', [32_767, -32_768, null]],
  ['integer', [2_147_483_647, -2_147_483_648, null]],
  ['text', ['', quoted, null, ' a ', 'NULL', 'x'.repeat(70_000)]],
  ['timestamptz', [new Date('2026-11-21T18:00:00.123Z'), null, new Date('1970-01-01T00:00:00Z')]],
  ['uuid', [...uuids, null]],
]

describe('an array in binary form', () => {
  it.each(all)(
    'an array in binary form has the same elements of %s at the server',
    async (type, values) => {
      expect(await roundTrip(type, values)).toEqual(values)
      expect(await roundTrip(type, [])).toEqual([])
    },
  )

  it('an array in binary form takes what is undefined as null, and a UUID in any case', async () => {
    expect(await roundTrip('text', [undefined, 'a'])).toEqual([null, 'a'])
    expect(await roundTrip('uuid', [uuids[1]?.toUpperCase()])).toEqual([uuids[1]])
  })

  it.each<[string, ArrayType, unknown]>([
    ['no UUID', 'uuid', 'not-a-uuid'],
    ['a UUID with other signs', 'uuid', '019ab1c2-d3e4-7f56-89ab-cdef0123456g'],
    ['a UUID that is too long', 'uuid', `${uuids[1]}0`],
    ['a smallint that is too large', 'smallint', 32_768],
    ['an integer that is too large', 'integer', 2 ** 31],
    ['a bigint that is too large', 'bigint', 2n ** 63n],
    ['no time', 'timestamptz', new Date(Number.NaN)],
  ])('an array in binary form is not made of %s', (_, type, value) => {
    expect(() => arrayParameter(type, [value])).toThrow(RangeError)
  })

  it('an array in binary form with a character that no text has is refused by the server', async () => {
    const refused: unknown = await roundTrip('text', ['a\0b']).catch((error: unknown) => error)
    expect(isRefused(refused)).toBe(true)
  })
})
