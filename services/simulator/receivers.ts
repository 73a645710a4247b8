// Receivers that stand for merchants' servers: they keep what is sent to a tag and show it to anyone who has the tag.
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newId } from '#core/id.ts'
import { hasForbiddenCharacter } from '#core/text.ts'
import { formatIso } from '#core/time.ts'
import type { Database } from '#runtime/db.ts'
import type { Admission } from './admission.ts'
import { countFlaky, insertReceived, listReceived } from './receiver-store.ts'

const bodyLimitBytes = 256 * 1024
const slowAnswerMs = 5_000
/** The flaky receiver takes a body when it comes the third time. */
const flakyTakesAt = 3
const listedMost = 10_000
const listedMostBytes = 64 * 1024 * 1024

/** What the receivers need of the process. */
export type ReceiversContext = {
  db: Database
  admission: Admission
  /** Ends the waits of the slow receiver. */
  stopping: AbortSignal
}

type Arrival = ReceiversContext & { request: FastifyRequest; tag: string; body: Buffer }
type Answer = { status: number; location?: string }

/** How each receiver answers, once the request is kept. */
const receivers: Readonly<Record<string, (arrival: Arrival) => Answer | Promise<Answer>>> = {
  ok: () => ({ status: 200 }),
  fail: () => ({ status: 500 }),
  flaky: async ({ db, tag, body }) => {
    const seen = await countFlaky(db, tag, createHash('sha256').update(body).digest())
    return { status: seen < flakyTakesAt ? 500 : 200 }
  },
  slow: async ({ admission, request, stopping }) => {
    admission.yieldPlace(request.raw)
    await delay(slowAnswerMs, undefined, { signal: stopping }).catch(() => undefined)
    return { status: 200 }
  },
  redirect: ({ tag }) => ({ status: 302, location: `/receivers/ok/${encodeURIComponent(tag)}` }),
  gone: () => ({ status: 410 }),
}

/** Registers the receivers and their log. */
export async function receiverRoutes(
  app: FastifyInstance,
  context: ReceiversContext,
): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: bodyLimitBytes },
      (_request, body, done) => done(null, body),
    )
    scope.get('/receivers/log', (request, reply) => showLog(context.db, request, reply))
    scope.post('/receivers/:kind/:tag', { bodyLimit: bodyLimitBytes }, (request, reply) =>
      receive(context, request, reply),
    )
  })
}

async function receive(context: ReceiversContext, request: FastifyRequest, reply: FastifyReply) {
  const { kind, tag } = request.params as { kind: string; tag: string }
  const answer = Object.hasOwn(receivers, kind) ? receivers[kind] : undefined
  if (answer === undefined) return reply.code(404).send({ message: 'there is no such receiver' })
  if (hasForbiddenCharacter(tag)) return reply.code(400).send({ message: 'the tag is malformed' })
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([, value]) => value !== undefined),
  ) as Record<string, string | string[]>
  await insertReceived(context.db, newId(), tag, { path: request.url, headers, body })
  const { status, location } = await answer({ ...context, request, tag, body })
  if (location !== undefined) reply.header('location', location)
  return reply.code(status).send({ received: true })
}

async function showLog(db: Database, request: FastifyRequest, reply: FastifyReply) {
  const { tag } = request.query as { tag?: string | string[] }
  if (typeof tag !== 'string' || tag === '' || hasForbiddenCharacter(tag)) {
    return reply.code(400).send({ message: 'name one tag: /receivers/log?tag=…' })
  }
  const received = await listReceived(db, tag, listedMost, listedMostBytes)
  return reply.header('cache-control', 'no-store').send({
    requests: received.map(({ path, headers, body, receivedAt }) => ({
      path,
      headers,
      body: body.toString(),
      received_time: formatIso(receivedAt),
    })),
  })
}
