// How PostgreSQL values become JavaScript values; exact values never become floats.
import { types } from 'pg'

type Parse = (text: string) => unknown

const asText: Parse = (text) => text
const driverParser = types.getTypeParser as (oid: number, format?: 'text' | 'binary') => Parse
const textArray = driverParser(1009) as (text: string) => (string | null)[]

/**
 * Parsers by type oid where the driver's lose something: exact numbers become floats there, calendar dates get a time
 * zone.
 */
const parsers = new Map<number, Parse>([
  [20, BigInt], // int8
  [1016, (text) => textArray(text).map((item) => (item === null ? null : BigInt(item)))], // int8[]
  [1700, asText], // numeric
  [1231, textArray], // numeric[]
  [1082, asText], // date
  [1182, textArray], // date[]
  [1114, asText], // timestamp without time zone
])

/**
 * Returns the parser of a type's values, by its oid: int8 becomes a bigint, numeric and calendar dates stay text, all
 * others are the driver's.
 */
export function getTypeParser(oid: number, format?: 'text' | 'binary'): Parse {
  return parsers.get(oid) ?? driverParser(oid, format)
}
