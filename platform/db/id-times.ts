// Conditions on UUID v7 ids that follow from a condition on the business time of their rows, so that an index of the ids serves both.

/** More than the clocks of a process and its database differ, and than a row is younger than its id. */
const slack = "interval '1 hour'"

function firstIdAt(time: string): string {
  const ms = `greatest(0, extract(epoch from ${time}) * 1000)::bigint`
  return `(select rpad(lpad(to_hex(${ms}), 12, '0'), 32, '0')::uuid)`
}

/**
 * SQL by which the id of a row lies where its business time from `from` until before `to` allows it. Ids hold real time, which
 * business time is never behind and may be ahead of by `clock_ahead()`, which only grows. All three are SQL expressions, the times
 * from 1970 to 9999.
 */
export function idsOfTimes(id: string, from: string, to: string): string {
  return `${id} >= ${firstIdAt(`${from} - clock_ahead() - ${slack}`)} and ${id} < ${firstIdAt(`${to} + ${slack}`)}`
}

/** A time of creation from `from` until before `to`; undefined: without that bound. */
export type TimeWindow = { from: Date | undefined; to: Date | undefined }

const firstTime = new Date(0)
const lastTime = new Date('9999-12-31T00:00:00Z')

/** The two parameters of a statement for a window; nothing is from before 1970. */
export function windowValues({ from, to }: TimeWindow): [from: Date, to: Date] {
  const notBefore = (time: Date) => (time < firstTime ? firstTime : time)
  return [notBefore(from ?? firstTime), notBefore(to ?? lastTime)]
}
