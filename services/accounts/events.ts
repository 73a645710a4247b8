// The facts that accounts tells the mesh, and the folders that make its schema; it must not decide when to tell.
import { join } from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { randomId } from '#core/id.ts'
import { AccessChangedSchema } from '#gen/accounts/v1/access_pb.js'
import type { Queryable } from '#runtime/db.ts'
import { insertEvent } from '#runtime/events/outbox.ts'
import { currentContext } from '#runtime/rpc/context.ts'

const root = join(import.meta.dirname, '..', '..')

/** News for everybody who caches access: nobody has to confirm it. */
export const accessSubject = 'pw.accounts.access'

/** Folders of migrations, in the order in which they run. */
export const migrations = [
  join(root, 'runtime/migrations/clock'),
  join(root, 'runtime/migrations/outbox'),
  join(import.meta.dirname, 'migrations'),
]

/** Writes the news that access changed, of one project or of any, in the change's transaction. */
export async function tellAccessChanged(
  tx: Queryable,
  projectId: string | undefined,
): Promise<void> {
  const context = currentContext()
  const payload = toBinary(
    AccessChangedSchema,
    create(AccessChangedSchema, { projectId: projectId ?? '' }),
  )
  await insertEvent(tx, {
    eventId: randomId(),
    subject: accessSubject,
    projectId,
    payload,
    traceparent: context?.traceparent,
    requestId: context?.requestId,
  })
}
