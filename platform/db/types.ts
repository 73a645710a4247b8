// How PostgreSQL values become JavaScript values; exact values never become floats.
import { TypeOverrides, types } from 'pg'

const driverParser = types.getTypeParser as (oid: number) => (text: string) => unknown
const textArray = driverParser(1009) as (text: string) => (string | null)[]

/**
 * The parsers of values, where the driver's lose something: there exact numbers become floats, and calendar dates get a time zone.
 * Here int8 becomes a bigint, numeric and calendar dates stay text. All others are the driver's.
 */
export const exactTypes = new TypeOverrides()
exactTypes.setTypeParser(20, BigInt) // int8
exactTypes.setTypeParser(1016, (text) =>
  textArray(text).map((item) => (item === null ? null : BigInt(item))),
) // int8[]
exactTypes.setTypeParser(1700, String) // numeric
exactTypes.setTypeParser(1231, textArray) // numeric[]
exactTypes.setTypeParser(1082, String) // date
exactTypes.setTypeParser(1182, textArray) // date[]
exactTypes.setTypeParser(1114, String) // timestamp without time zone
