// Bodies that are made while they are read: files and events. A reader that stands still, or takes for ever, is cut off.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type CallContext, iterateWithContext } from '#platform/rpc/context.ts'

/** How long a reader may take nothing, and how long a body may last. */
export type ReaderLimits = { stalledMs: number; maxMs: number }

/** Answers with parts that are made in the context of the request, whenever they are read. */
export function streamTo(
  reply: FastifyReply,
  parts: AsyncIterable<string | Uint8Array>,
  context: CallContext,
  { stalledMs, maxMs }: ReaderLimits,
): FastifyReply {
  const { raw } = reply
  const cut = () => raw.destroy()
  // Writes that wait for their reader count as silence; a socket that goes on to another request gets its own limit.
  raw.setTimeout(stalledMs, cut)
  const end = setTimeout(cut, maxMs)
  raw.once('close', () => clearTimeout(end))
  return reply.send(Readable.from(iterateWithContext(context, parts), { objectMode: false }))
}
