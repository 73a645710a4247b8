// Receivers that stand for merchants' servers: they keep what is sent to a tag and show it to anyone who has the tag.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newId } from '#core/identity/id.ts'
import { hasForbiddenCharacter } from '#core/text/text.ts'
import type { Environment } from '#platform/config/setting.ts'
import type { Database } from '#platform/db/db.ts'
import {
  createReceiverQuota,
  type ReceiverQuota,
  receiverQuotas,
} from '../operations/receiver-quota.ts'
import { countFlaky, insertReceived } from '../store/receiver-store.ts'
import type { Admission } from './admission.ts'
import { sendBusy } from './public-port.ts'
import { createReceiverLog } from './receiver-log.ts'

const bodyLimitBytes = 256 * 1024
const slowAnswerMs = 5_000
/** The flaky receiver accepts a body when it arrives for the third time. */
const flakyTakesAt = 3
/** Maximum logs of more than a page that are read at once; eight cost about 130 MiB. */
const maxLargeReaders = 8
/** Minimum characters of a tag that counts as a secret. */
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
type ReceiverResponse = { status: number; location?: string }

/** How each receiver answers, after the request was stored. */
const receivers: Readonly<
  Record<string, (arrival: Arrival) => ReceiverResponse | Promise<ReceiverResponse>>
> = {
  ok: () => ({ status: 200 }),
  fail: () => ({ status: 500 }),
  flaky: async ({ db, tag, body }) => {
    const seen = await countFlaky(db, tag, createHash('sha256').update(body).digest())
    return { status: seen < flakyTakesAt ? 500 : 200 }
  },
  slow: async ({ admission, request, stopping }) => {
    admission.yieldSlot(request.raw)
    await delay(slowAnswerMs, undefined, { signal: stopping }).catch(() => undefined)
    return { status: 200 }
  },
  redirect: ({ tag }) => ({ status: 302, location: `/receivers/ok/${encodeURIComponent(tag)}` }),
  gone: () => ({ status: 410 }),
}

/** Registers the receivers and their log. They answer 400 for a bad tag and 404 for an unknown kind of receiver. */
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
    scope.get('/receivers/log', logReader(context))
    const quota = createReceiverQuota(context.db)
    scope.post('/receivers/:kind/:tag', { bodyLimit: bodyLimitBytes }, (request, reply) =>
      receive(context, quota, request, reply),
    )
  })
}

async function receive(
  context: ReceiversContext,
  quota: ReceiverQuota,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { kind, tag } = request.params as { kind: string; tag: string }
  const answer = Object.hasOwn(receivers, kind) ? receivers[kind] : undefined
  if (answer === undefined) return reply.code(404).send({ message: 'There is no such receiver.' })
  const problem = problemOf(tag, context.environment)
  if (problem !== undefined) return reply.code(400).send({ message: problem })
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([, value]) => value !== undefined),
  ) as Record<string, string | string[]>
  const path = request.url
  const text = `${tag}${path}${JSON.stringify(headers)}`
  await quota.makeRoom(tag, body.length + Buffer.byteLength(text))
  await insertReceived(context.db, newId(), tag, { path, headers, body })
  const { status, location } = await answer({ ...context, request, tag, body })
  if (location !== undefined) reply.header('location', location)
  return reply.code(status).send({ received: true })
}

/** Shows the log of one tag. */
function logReader({ db, environment }: ReceiversContext) {
  const open = createReceiverLog(db, receiverQuotas.perTag)
  let largeReaders = 0
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { tag } = request.query as { tag?: string | string[] }
    if (typeof tag !== 'string' || tag === '') {
      return reply.code(400).send({ message: 'Name one tag: /receivers/log?tag=…' })
    }
    const problem = problemOf(tag, environment)
    if (problem !== undefined) return reply.code(400).send({ message: problem })
    const log = await open(tag)
    if (reply.raw.destroyed) return reply.hijack()
    if (log.isLarge) {
      if (largeReaders >= maxLargeReaders) return sendBusy(reply)
      largeReaders += 1
      reply.raw.once('close', () => {
        largeReaders -= 1
      })
    }
    return reply.type('application/json; charset=utf-8').send(Readable.from(log.read()))
  }
}

/**
 * The problem of a tag, if any. Outside of a local start it must be hard to guess, since anyone who knows it reads its
 * log.
 */
function problemOf(tag: string, environment: Environment): string | undefined {
  if (hasForbiddenCharacter(tag)) return 'The tag is malformed.'
  const { length } = Array.from(tag)
  if (length > maxTagLength) return `The tag must have at most ${maxTagLength} characters.`
  if (environment === 'local' || length >= minSecretTagLength) return undefined
  return `The tag must be a secret of your own choice: ${minSecretTagLength} or more characters.`
}
