// Receivers that stand for merchants' servers: they keep what is sent to a tag and show it to anyone who has the tag.
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newId } from '#core/id.ts'
import { hasForbiddenCharacter } from '#core/text.ts'
import { formatIso } from '#core/time.ts'
import type { Database } from '#runtime/db.ts'
import type { Environment } from '#runtime/setting.ts'
import type { Admission } from './admission.ts'
import { countFlaky, insertReceived, listReceived } from './receiver-store.ts'

const bodyLimitBytes = 256 * 1024
const slowAnswerMs = 5_000
/** The flaky receiver takes a body when it comes the third time. */
const flakyTakesAt = 3
const listedMost = 10_000
const listedMostBytes = 64 * 1024 * 1024

/** Characters of a tag that is a secret. */
const minSecretTagLength = 16
const maxTagLength = 128

/** What the receivers need of the process. */
export type ReceiversContext = {
  db: Database
  environment: Environment
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
    scope.get('/receivers/log', (request, reply) => showLog(context, request, reply))
    scope.post('/receivers/:kind/:tag', { bodyLimit: bodyLimitBytes }, (request, reply) =>
      receive(context, request, reply),
    )
  })
}

async function receive(context: ReceiversContext, request: FastifyRequest, reply: FastifyReply) {
  const { kind, tag } = request.params as { kind: string; tag: string }
  const answer = Object.hasOwn(receivers, kind) ? receivers[kind] : undefined
  if (answer === undefined) return reply.code(404).send({ message: 'There is no such receiver.' })
  const problem = problemOf(tag, context.environment)
  if (problem !== undefined) return reply.code(400).send({ message: problem })
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([, value]) => value !== undefined),
  ) as Record<string, string | string[]>
  await insertReceived(context.db, newId(), tag, { path: request.url, headers, body })
  const { status, location } = await answer({ ...context, request, tag, body })
  if (location !== undefined) reply.header('location', location)
  return reply.code(status).send({ received: true })
}

async function showLog(
  { db, environment }: ReceiversContext,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { tag } = request.query as { tag?: string | string[] }
  if (typeof tag !== 'string' || tag === '') {
    return reply.code(400).send({ message: 'Name one tag: /receivers/log?tag=…' })
  }
  const problem = problemOf(tag, environment)
  if (problem !== undefined) return reply.code(400).send({ message: problem })
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

/** What is wrong with a tag. In a hosted sandbox anyone may read the log of a tag that they guess. */
function problemOf(tag: string, environment: Environment): string | undefined {
  if (hasForbiddenCharacter(tag)) return 'The tag is malformed.'
  const { length } = Array.from(tag)
  if (length > maxTagLength) return `The tag must have at most ${maxTagLength} characters.`
  if (environment === 'local' || length >= minSecretTagLength) return undefined
  return `The tag must be a secret of your own choice: ${minSecretTagLength} or more characters.`
}
