// Server-sent events of an open page.
import type { FastifyReply } from 'fastify'
import type { Work } from '../http/work.ts'

/** One event with its data. */
export function sse(event: string, value: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`
}

/** What keeps a connection open while nothing happens. */
export const silence = ': nothing happened\n\n'

/** Answers with events as they come. */
export function sendEvents({ reply, stream }: Work, events: AsyncIterable<string>): FastifyReply {
  void reply.header('x-accel-buffering', 'no')
  return stream('text/event-stream; charset=utf-8', events)
}
