// What happens to customers without anybody calling: reviews and questions are handed on, silence is a refusal, broken uploads go.
import { forEachOf, type Loop, startLoop } from '#runtime/loop.ts'
import { openAtRest } from '../at-rest.ts'
import { deleteOrphans, listArtefacts } from './artefact-store.ts'
import type { ReviewBackend } from './backend.ts'
import { findOverdueChallenges, readQuestion } from './challenge-store.ts'
import type { Customers } from './customers.ts'
import { lapse } from './registration.ts'
import { readSubmission } from './review-store.ts'
import { type ClaimedTask, claimTasks, markDone, markLater } from './task-store.ts'

const batchSize = 100
const width = 8
// Longer than a call may take. Two hands on one task do no harm, since each call may be repeated; a task that a
// killed worker had in hand waits this long.
const leaseMs = 15_000
/** Longer than any upload may last. */
const orphanAgeS = 600
const sweepPauseMs = 30_000

/** Tells the back end what it must know, until it knows it; no transaction is open during a call. */
export function startTasks(customers: Customers, backend: ReviewBackend): Loop {
  const { db, log } = customers
  return startLoop({
    kind: 'backend tasks',
    log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    async round() {
      const tasks = await claimTasks(db, batchSize, leaseMs)
      await forEachOf(tasks, { width, kind: 'backend task', log }, (task) =>
        work(customers, backend, task),
      )
      return tasks.length === batchSize
    },
  })
}

async function work(
  customers: Customers,
  backend: ReviewBackend,
  task: ClaimedTask,
): Promise<void> {
  const { db, log } = customers
  try {
    if (task.kind === 'submit_onboarding') await submit(customers, backend, task.subjectId)
    else await ask(customers, backend, task.subjectId)
  } catch (error) {
    log.warn({ err: error, kind: task.kind, attempts: task.attempts }, 'back end not told')
    await markLater(db, task)
    return
  }
  await markDone(db, task)
}

async function submit(
  { db, secrets }: Customers,
  backend: ReviewBackend,
  reviewId: string,
): Promise<void> {
  const submission = await readSubmission(db, reviewId)
  // It has ended meanwhile: there is nothing left to say.
  if (submission === undefined) return
  const { detailsSealed, ...rest } = submission
  const details = JSON.parse(
    openAtRest(
      secrets,
      { column: 'review.details_sealed', rowId: reviewId },
      detailsSealed,
    ).toString(),
  ) as Record<string, string>
  await backend.submit({ ...rest, details, artefacts: await listArtefacts(db, reviewId) })
}

async function ask({ db }: Customers, backend: ReviewBackend, challengeId: string): Promise<void> {
  const question = await readQuestion(db, challengeId)
  if (question !== undefined) await backend.ask(question)
}

/** Takes silence for a refusal when a question's time has run out. */
export function startLapses(customers: Customers): Loop {
  const { db, log } = customers
  return startLoop({
    kind: 'lapses',
    log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    async round() {
      const due = await findOverdueChallenges(db, batchSize)
      let ended = 0
      await forEachOf(due, { width, kind: 'challenge', log }, async (challengeId) => {
        await lapse(customers, challengeId)
        ended += 1
      })
      // A round that failed is not repeated at once.
      return due.length === batchSize && ended === batchSize
    },
  })
}

/** Removes what uploads left that broke without being able to clean up. */
export function startSweeper({ db, log }: Customers): Loop {
  return startLoop({
    kind: 'orphans',
    log,
    pauseMs: sweepPauseMs,
    round: async () => (await deleteOrphans(db, orphanAgeS, batchSize)) === batchSize,
  })
}
