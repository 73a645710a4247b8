// How profiles and challenges are decided, by mobile number. Pure.

/** What comes with a profile. */
export type Artefact = {
  artefactId: string
  field: ArtefactField
  mediaType: MediaType
  sizeBytes: number
}
export type ArtefactField = keyof typeof provenBy
export type MediaType = keyof typeof openings

/** Level of the limits of an account whose profile was accepted. */
export type ReviewedLevel = 1 | 2
export type ConsentAnswer = 'approved' | 'rejected'

/** How a review ends. */
export type ReviewVerdict =
  | { outcome: 'completed'; accountLevel: ReviewedLevel }
  | { outcome: 'rejected'; reason: string }

/** From the arrival of a profile or a challenge to its decision. */
export const decideAfterMs = 2_000

const rejected: ReadonlySet<string> = new Set(['+12025550107'])
const neverDecided: ReadonlySet<string> = new Set(['+12025550108'])
const refusesConsent: ReadonlySet<string> = new Set(['+12025550111'])

/** What each artefact shows; a selfie alone proves nothing that a level asks for. */
const provenBy = {
  id_document1_file: 'identity',
  id_document2_file: 'identity',
  poa_file: 'address',
  selfie: 'likeness',
} as const

/** The first bytes of the media types that are accepted. */
const openings = {
  'image/jpeg': [0xff, 0xd8, 0xff],
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'application/pdf': [0x25, 0x50, 0x44, 0x46, 0x2d],
} as const

/** Returns whether a profile is ever decided. */
export function isDecided(mobileNumber: string): boolean {
  return !neverDecided.has(mobileNumber)
}

/**
 * Decides a profile whose artefacts are in order. The profile alone leads to level 1; an identity
 * document and a proof of address lead to level 2.
 */
export function decideReview(
  mobileNumber: string,
  artefacts: readonly Pick<Artefact, 'field'>[],
): ReviewVerdict {
  if (rejected.has(mobileNumber)) {
    return { outcome: 'rejected', reason: 'the profile was not accepted' }
  }
  const proven = new Set(artefacts.map(({ field }) => provenBy[field]))
  const isProven = proven.has('identity') && proven.has('address')
  return { outcome: 'completed', accountLevel: isProven ? 2 : 1 }
}

/** Why an artefact cannot be accepted as it was read; undefined when it is in order. */
export function faultOf(
  { mediaType, sizeBytes }: Pick<Artefact, 'mediaType' | 'sizeBytes'>,
  read: { sizeBytes: number; opening: Uint8Array },
): string | undefined {
  if (read.sizeBytes !== sizeBytes) return 'an artefact does not have the size that was announced'
  const isOfType = openings[mediaType].every((byte, index) => read.opening[index] === byte)
  return isOfType ? undefined : 'an artefact is not of the type that was announced'
}

/** The answer of the holder of a number when asked. */
export function answerOf(mobileNumber: string): ConsentAnswer {
  return refusesConsent.has(mobileNumber) ? 'rejected' : 'approved'
}
