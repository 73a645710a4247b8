// Shows what was executed for given ids; ids cannot be listed.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isUuid } from '#core/identity/id.ts'
import { formatAmount } from '#core/money/money.ts'
import { formatIso } from '#core/text/time.ts'
import type { Database } from '#platform/db/db.ts'
import { executionKinds, listExecutions } from '../store/execution-store.ts'

const maxIds = 100

/**
 * Registers `GET /executions?kind=bill|transfer|charge|payout|refund&id=…`, where `id` may be repeated. It answers 400 for a bad kind or id,
 * and amounts in major units.
 */
export async function executionRoutes(app: FastifyInstance, db: Database): Promise<void> {
  app.get('/executions', (request, reply) => showExecutions(db, request, reply))
}

async function showExecutions(db: Database, request: FastifyRequest, reply: FastifyReply) {
  const { kind, id } = request.query as { kind?: string | string[]; id?: string | string[] }
  const ids = id === undefined ? [] : [id].flat()
  const known = executionKinds.find((one) => one === kind)
  if (known === undefined || !areIds(ids)) {
    const message = `name a kind and 1 to ${maxIds} ids: /executions?kind=bill&id=…`
    return reply.code(400).send({ message })
  }
  const found = await listExecutions(db, known, ids)
  return reply.header('cache-control', 'no-store').send({
    executions: found.map(({ kind, subjectId, currency, amountMinor, executedAt }) => ({
      kind,
      id: subjectId,
      amount: formatAmount(amountMinor, currency),
      currency,
      executed_time: formatIso(executedAt),
    })),
  })
}

function areIds(ids: string[]): boolean {
  return ids.length > 0 && ids.length <= maxIds && ids.every(isUuid)
}
