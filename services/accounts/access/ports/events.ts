// The events that accounts publishes.
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { newId } from '#core/identity/id.ts'
import { AccessChangedSchema } from '#gen/payweave/accounts/v1/access_pb.js'
import { OnboardingEventSchema } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { insertEvent } from '#platform/events/outbox.ts'
import { currentContext } from '#platform/rpc/context.ts'

/** Invalidates caches of access. No consumer has to confirm it. */
export const accessSubject = 'pw.accounts.access'

/** Onboardings and registrations that ended: delivery calls their clients back. */
export const onboardingSubject = 'pw.accounts.onboarding'

/** Writes the event that access changed, of one project or of all, in the transaction of the change. */
export async function publishAccessChanged(
  tx: Queryable,
  projectId: string | undefined,
): Promise<void> {
  const changed = create(AccessChangedSchema, { projectId: projectId ?? '' })
  await publish(tx, accessSubject, projectId, toBinary(AccessChangedSchema, changed))
}

/**
 * Writes that an onboarding or registration ended, in the transaction that ended it. The token in it must
 * come from `sealAuthorisationToken`.
 */
export async function publishOnboarded(
  tx: Queryable,
  projectId: string,
  onboarded: MessageInitShape<typeof OnboardingEventSchema>,
): Promise<void> {
  const payload = toBinary(OnboardingEventSchema, create(OnboardingEventSchema, onboarded))
  await publish(tx, onboardingSubject, projectId, payload)
}

function publish(
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
