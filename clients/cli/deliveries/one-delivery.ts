// The rule of `deliveries replay <id>`: options that select many deliveries are refused beside the id.
import type { CommandContext } from '../command.ts'
import { createdOptions } from '../operations/list-command.ts'
import { UsageError } from '../usage-error.ts'

const ofMany = ['kind', 'state', 'rate', 'receiver', 'subject', 'event-type']

/** Throws a UsageError when an option selects many deliveries. */
export function refuseFilters({ options }: CommandContext): void {
  for (const option of [...ofMany, ...Object.keys(createdOptions)]) {
    if (options[option] === undefined) continue
    throw new UsageError(`--${option} selects many deliveries and cannot be combined with <id>`)
  }
}
