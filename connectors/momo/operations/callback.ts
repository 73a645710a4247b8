// Reads MTN's callbacks. Nobody signs them, so that they prove nothing: they only start the enquiry.
import { isUuid } from '#core/identity/id.ts'

/** The attempt, payout or refund that a callback is about; undefined for a body that is no callback of MTN's. */
export function readCallback(body: Buffer): string | undefined {
  try {
    const value = JSON.parse(body.toString()) as { externalId?: unknown } | null
    const externalId = value?.externalId
    return typeof externalId === 'string' && isUuid(externalId)
      ? externalId.toLowerCase()
      : undefined
  } catch {
    return undefined
  }
}
