// What the commands with the keys of a merchant share: facts of one thing, and the window of a list.

import { timestampDate } from '@bufbuild/protobuf/wkt'
import { formatDateTime } from '#core/text/time.ts'
import type { CommandContext } from '../command.ts'
import { createdTimes, factLines } from './list-command.ts'

/** Prints these fields of an answer: one on a line, or all as JSON. Fields that the answer lacks are left out. */
export function printFacts(
  { json, print }: CommandContext,
  fields: readonly string[],
  answer: object,
): void {
  const known: Partial<Record<string, unknown>> = { ...answer }
  const picked = fields.filter((name) => known[name] !== undefined && known[name] !== null)
  const facts = Object.fromEntries(picked.map((name) => [name, known[name]]))
  if (json) print(JSON.stringify(facts))
  else for (const line of factLines(facts)) print(line)
}

const secondMs = 1_000

/**
 * The times of `createdOptions` as the API takes the window of a history: the last second is part of it. Undefined without them.
 * Throws a UsageError for any other form.
 */
export function windowOf(context: CommandContext): [start?: string, end?: string] {
  const { startTime, endTime } = createdTimes(context)
  const end = endTime && new Date(timestampDate(endTime).getTime() - secondMs)
  return [startTime && formatDateTime(timestampDate(startTime)), end && formatDateTime(end)]
}
