// The facts that accounts tells the mesh; it must not decide when to tell.
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { newId } from '#core/id.ts'
import { AccessChangedSchema } from '#gen/accounts/v1/access_pb.js'
import { OnboardingEventSchema } from '#gen/accounts/v1/onboarding_event_pb.js'
import type { Queryable } from '#runtime/db.ts'
import { insertEvent } from '#runtime/events/outbox.ts'
import { currentContext } from '#runtime/rpc/context.ts'

/** News for everybody who caches access: nobody has to confirm it. */
export const accessSubject = 'pw.accounts.access'

/** Onboardings and registrations that ended: delivery calls their clients back. */
export const onboardingSubject = 'pw.accounts.onboarding'

/** Writes the news that access changed, of one project or of any, in the change's transaction. */
export async function tellAccessChanged(
  tx: Queryable,
  projectId: string | undefined,
): Promise<void> {
  const changed = create(AccessChangedSchema, { projectId: projectId ?? '' })
  await tell(tx, accessSubject, projectId, toBinary(AccessChangedSchema, changed))
}

/**
 * Writes that an onboarding or registration ended, in the transaction that ended it. The token in it must
 * come from `sealAuthorisationToken`.
 */
export async function tellOnboarded(
  tx: Queryable,
  projectId: string,
  onboarded: MessageInitShape<typeof OnboardingEventSchema>,
): Promise<void> {
  const payload = toBinary(OnboardingEventSchema, create(OnboardingEventSchema, onboarded))
  await tell(tx, onboardingSubject, projectId, payload)
}

function tell(
  tx: Queryable,
  subject: string,
  projectId: string | undefined,
  payload: Uint8Array,
): Promise<void> {
  const { traceparent, requestId } = currentContext() ?? {}
  return insertEvent(tx, {
    eventId: newId(),
    subject,
    projectId,
    payload,
    traceparent,
    requestId,
  })
}
