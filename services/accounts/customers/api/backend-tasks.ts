// Maps payweave.accounts.v1.BackendTaskService to the store and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  BackendTaskKind,
  type BackendTaskService,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import type { Database } from '#platform/db/db.ts'
import { actor } from '../../access/operations/change.ts'
import { insertAudit } from '../../access/store/project-store.ts'
import { listFailingTasks, retryTask, type TaskKind } from '../store/task-store.ts'

const defaultMinAttempts = 3
const maxTasks = 200

const kinds: Record<TaskKind, BackendTaskKind> = {
  submit_onboarding: BackendTaskKind.SUBMIT_ONBOARDING,
  request_consent: BackendTaskKind.REQUEST_CONSENT,
}

/**
 * The handlers of BackendTaskService. `retryBackendTask` refuses a task that is not open with REVIEW_NOT_FOUND. Both reject as a
 * Queryable does.
 */
export function backendTaskService({
  db,
  onDue,
}: {
  db: Database
  /** Called when a task was made due. */
  onDue: () => void
}): ServiceImpl<typeof BackendTaskService> {
  return {
    async listBackendTasks({ minAttempts }) {
      const attempts = minAttempts === 0 ? defaultMinAttempts : minAttempts
      const tasks = await listFailingTasks(db, attempts, maxTasks)
      return {
        tasks: tasks.map(({ kind, attempts: attemptCount, createTime, nextTime, ...task }) => ({
          ...task,
          kind: kinds[kind],
          attemptCount,
          createTime: timestampFromDate(createTime),
          nextTime: timestampFromDate(nextTime),
        })),
      }
    },
    async retryBackendTask({ subjectId, kind: wanted }) {
      const kind = (Object.keys(kinds) as TaskKind[]).find((one) => kinds[one] === wanted)
      const { caller, requestId } = actor()
      await db.transaction(async (tx) => {
        if (kind === undefined || !(await retryTask(tx, subjectId, kind))) {
          throw new Failure('REVIEW_NOT_FOUND', 'task not found, or already done')
        }
        const what = { action: 'retry_backend_task', targetId: subjectId, details: { kind } }
        await insertAudit(tx, { caller, requestId, projectId: undefined, ...what })
      })
      onDue()
      return {}
    },
  }
}
