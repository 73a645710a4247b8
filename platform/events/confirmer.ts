// Asks one consumer which events it has, until each is confirmed or refused. Does not publish: events that it lacks
// become due for the relay again by themselves.
import { InboxState } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { startLoop } from '../process/loop.ts'
import { type Answer, type Need, noteAnswers, start, unansweredBy } from './confirmation-store.ts'
import type { OutboxMetrics } from './event-metrics.ts'

/** The Seen RPC of a consumer; a client of payweave.events.v1.InboxService is one. */
export type SeenClient = {
  /** Asks which of these events (UUIDs) the consumer has processed or rejected. Rejects with the Failure of an RPC. */
  seen(
    request: { eventIds: string[] },
    options?: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<{ known: { eventId: string; state: InboxState }[] }>
}

export type ConfirmerOptions = {
  db: Database
  log: Logger
  metrics: OutboxMetrics
  consumer: { name: string; subjects: string[]; client: SeenClient }
  /** Every consumer of every subject, since an event ends with its last answer. */
  needs: Need[]
}

export interface Confirmer {
  /** Called after events were published: the consumer is asked soon. */
  expect(): void
  /** Stops asking; resolves after the current round. */
  close(): Promise<void>
}

const pageIds = 500
/** Maximum pages in one round. The next round continues after them, so that every event of a backlog has its turn. */
const pagesPerRound = 20
const askMs = { min: 500, max: 5_000 }

/**
 * Starts the loop: every 0.5 s while answers come, slower up to 5 s while none do. Errors are logged once, and the loop
 * goes on.
 */
export function startConfirmer(options: ConfirmerOptions): Confirmer {
  const { log, consumer } = options
  const stopping = new AbortController()
  let place = start
  let expecting: NodeJS.Timeout | undefined
  let failing = false

  async function askPages(): Promise<number> {
    let answered = 0
    for (let page = 0; page < pagesPerRound && !stopping.signal.aborted; page += 1) {
      const events = await unansweredBy(options.db, consumer, place, pageIds)
      if (events.length > 0) {
        const ids = events.map((event) => event.event_id)
        answered += await askAndNote(options, ids, stopping.signal)
      }
      place = events.length < pageIds ? start : (events.at(-1) ?? start)
      if (place === start) break
    }
    return answered
  }

  async function round(): Promise<boolean | number> {
    try {
      const answered = await askPages()
      if (failing) log.info({ consumer: consumer.name }, 'consumer answers again')
      failing = false
      return answered > 0 ? askMs.min : false
    } catch (error) {
      if (stopping.signal.aborted) return false
      place = start
      // Reported once, and not at each round of a consumer that is down.
      if (!failing) log.warn({ consumer: consumer.name, err: error }, 'events not confirmed')
      failing = true
      return false
    }
  }

  const loop = startLoop({
    kind: 'confirmer',
    log,
    pauseMs: askMs.min,
    idlePauseMs: askMs.max,
    round,
  })
  return {
    expect() {
      if (failing) return
      // Ends a long pause half a second after a publication, when the consumer has most likely processed it.
      expecting ??= setTimeout(() => {
        expecting = undefined
        loop.notify()
      }, askMs.min).unref()
    },
    async close() {
      clearTimeout(expecting)
      stopping.abort()
      await loop.close()
    },
  }
}

/**
 * Asks for these events and notes what the consumer knows; returns how many it knew. Rejects with the Failure of the
 * RPC, or as `Database.transaction` does.
 */
async function askAndNote(
  { db, metrics, consumer, needs }: Omit<ConfirmerOptions, 'log'>,
  eventIds: string[],
  signal: AbortSignal,
): Promise<number> {
  const { known } = await consumer.client.seen({ eventIds }, { signal })
  const answers: Answer[] = known.flatMap(({ eventId, state }): Answer[] => {
    if (state === InboxState.SEEN) return [{ eventId, state: 'seen' }]
    return state === InboxState.POISONED ? [{ eventId, state: 'poisoned' }] : []
  })
  if (answers.length === 0) return 0
  const ended = await db.transaction((tx) => noteAnswers(tx, consumer.name, answers, needs))
  metrics.confirmed.inc(ended.confirmed)
  metrics.deadLettered.inc(ended.deadLettered)
  return answers.length
}
