// Receives a profile with its artefacts as a stream; an incomplete stream leaves nothing.
import { invalid } from '#core/errors/errors.ts'
import type { Account } from '../domain/account.ts'
import { type ArtefactWriter, beginArtefact, tooLarge } from '../operations/artefact.ts'
import { type Customers } from '../operations/customers.ts'
import { createPersonalAccount, type Sender } from '../operations/onboarding.ts'
import type { Profile } from '../operations/profile.ts'
import { deleteArtefacts, type WholeArtefact } from '../store/artefact-store.ts'

/** One part of an upload, in the order in which they must come. */
export type UploadPart =
  | { header: Sender }
  | { artefact: { field: string; mediaType: string } }
  | { chunk: Uint8Array }
  | { profile: Profile }

/** Maximum bytes of all artefacts of an upload together. */
const maxUploadBytes = 25 * 1024 * 1024

/** The fields that an artefact may come in, each once. */
const artefactFields: ReadonlySet<string> = new Set([
  'id_document1_file',
  'id_document2_file',
  'poa_file',
  'selfie',
])

/** The parts of an upload that have arrived. */
type Upload = {
  sender: Sender | undefined
  /** The artefact whose chunks are arriving. */
  current: ArtefactWriter | undefined
  /** Every artefact that has a row, to be removed if the upload fails. */
  begun: string[]
  whole: WholeArtefact[]
  fields: Set<string>
  bytes: number
  profile: Profile | undefined
}

/**
 * Makes an account from a stream: header, artefacts with their chunks, profile. Rejects with INVALID_PARAMETER for any
 * other order, PAYLOAD_TOO_LARGE past a limit, UNSUPPORTED_MEDIA_TYPE for an artefact of another type, and as
 * `createPersonalAccount` and `parts` do. No review knows the artefacts until the stream has ended; after an error they
 * are deleted, now or by the sweeper.
 */
export async function uploadPersonalAccount(
  customers: Customers,
  parts: AsyncIterable<UploadPart>,
): Promise<{ account: Account; profile: Profile }> {
  const upload: Upload = {
    sender: undefined,
    current: undefined,
    begun: [],
    whole: [],
    fields: new Set(),
    bytes: 0,
    profile: undefined,
  }
  const iterator = parts[Symbol.asyncIterator]()
  // False while it waits for the stream: if that fails, there is nothing left to drain.
  let mayReadOn = true
  try {
    for (;;) {
      mayReadOn = false
      const step = await iterator.next()
      mayReadOn = true
      if (step.done === true) break
      await take(customers, upload, step.value)
    }
    const { sender, profile, whole } = upload
    if (sender === undefined || profile === undefined) throw outOfOrder()
    const account = await createPersonalAccount(customers, sender, profile, whole)
    return { account, profile }
  } catch (error) {
    await forget(customers, upload.begun)
    if (mayReadOn) await drain(iterator)
    throw error
  }
}

/** Reads on past a refusal: over HTTP/1.1 a caller that is still sending may miss the response. */
async function drain(parts: AsyncIterator<UploadPart>): Promise<void> {
  try {
    for (let left = maxUploadBytes; left > 0; ) {
      const step = await parts.next()
      if (step.done === true) return
      left -= 'chunk' in step.value ? step.value.chunk.length + 1 : 1_024
    }
    await parts.return?.()
  } catch {
    // The caller has disconnected or sends invalid parts; the refusal is decided already.
  }
}

async function take(customers: Customers, upload: Upload, part: UploadPart): Promise<void> {
  if (upload.profile !== undefined) throw outOfOrder()
  if ('header' in part) {
    if (upload.sender !== undefined) throw outOfOrder()
    upload.sender = part.header
    return
  }
  const { sender } = upload
  if (sender === undefined) throw outOfOrder()
  if ('chunk' in part) {
    if (upload.current === undefined) throw outOfOrder()
    upload.bytes += part.chunk.length
    if (upload.bytes > maxUploadBytes) throw tooLarge('all artefacts have at most 25 MiB')
    await upload.current.write(part.chunk)
    return
  }
  if (upload.current !== undefined) upload.whole.push(await upload.current.end())
  upload.current = undefined
  if ('profile' in part) {
    upload.profile = part.profile
    return
  }
  const { field, mediaType } = part.artefact
  if (!artefactFields.has(field) || upload.fields.has(field)) {
    throw invalid('field', 'must be an artefact field, each one once')
  }
  upload.fields.add(field)
  upload.current = await beginArtefact(customers, { ...sender, field, mediaType })
  upload.begun.push(upload.current.artefactId)
}

/** Deletes the artefacts of a failed upload. Never rejects: the sweeper deletes those that remain. */
async function forget({ db, log }: Customers, artefactIds: string[]): Promise<void> {
  if (artefactIds.length === 0) return
  try {
    await deleteArtefacts(db, artefactIds)
  } catch (error) {
    log.warn(
      { err: error, count: artefactIds.length },
      'artefacts of an interrupted upload not yet deleted',
    )
  }
}

function outOfOrder(): Error {
  return invalid('part', 'must be header, artefacts with their chunks, then profile')
}
