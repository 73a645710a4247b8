// The log of a simulated process: warnings and errors go into the history.
import { createLogger, type Logger } from '#platform/telemetry/log.ts'
import type { Process, Scheduler } from './engine/scheduler.ts'

/** Its fields are left out: they hold stacks, and what the history says anyway. */
export function quietLog(scheduler: Scheduler, process: Process): Logger {
  const destination = {
    write(line: string) {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message?: string } }
      scheduler.record(process.name, `logs: ${msg}${err?.message ? ` (${err.message})` : ''}`)
    },
  }
  return createLogger({ part: process.name, level: 'warn', destination })
}
