// Workers of customers: submit reviews and challenges, expire unanswered ones, delete broken uploads.
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Customers } from '../operations/customers.ts'
import { expireChallenge } from '../operations/registration.ts'
import { openDetails } from '../operations/review.ts'
import type { ReviewBackend } from '../ports/backend.ts'
import { deleteOrphans, listArtefacts } from '../store/artefact-store.ts'
import { findOverdueChallenges, readConsentRequest } from '../store/challenge-store.ts'
import { readSubmission } from '../store/review-store.ts'
import { type ClaimedTask, claimTasks, markDone, postponeTask } from '../store/task-store.ts'

const batchSize = 100
const width = 8
// Longer than a call may take. Two workers on one task do no harm, since each call is idempotent; a task that a
// killed worker had claimed waits this long.
const leaseMs = 15_000
/** Longer than any upload may last. */
const orphanAgeS = 600
const sweepPauseMs = 30_000

/** Sends tasks to the back end and retries until it accepts; no transaction is open during a call. */
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
    else await requestConsent(customers, backend, task.subjectId)
  } catch (error) {
    log.warn({ err: error, kind: task.kind, attempts: task.attempts }, 'back end not notified')
    await postponeTask(db, task)
    return
  }
  await markDone(db, task)
}

async function submit(
  customers: Customers,
  backend: ReviewBackend,
  reviewId: string,
): Promise<void> {
  const submission = await readSubmission(customers.db, reviewId)
  // It has ended meanwhile: there is nothing left to say.
  if (submission === undefined) return
  const { detailsSealed: _, ...rest } = submission
  const details = openDetails(customers, submission)
  await backend.submit({ ...rest, details, artefacts: await listArtefacts(customers.db, reviewId) })
}

async function requestConsent(
  { db }: Customers,
  backend: ReviewBackend,
  challengeId: string,
): Promise<void> {
  const request = await readConsentRequest(db, challengeId)
  if (request !== undefined) await backend.requestConsent(request)
}

/** Expires unanswered challenges, as refusals. */
export function startChallengeExpiry(customers: Customers): Loop {
  const { db, log } = customers
  return startLoop({
    kind: 'challenge_expiry',
    log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    async round() {
      const due = await findOverdueChallenges(db, batchSize)
      let ended = 0
      await forEachOf(due, { width, kind: 'challenge', log }, async (challengeId) => {
        await expireChallenge(customers, challengeId)
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
