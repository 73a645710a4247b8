// Encrypts and decrypts artefacts chunk by chunk as a stream; a whole one is never in memory.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Failure, invalid } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import {
  type AccountSecrets,
  openAtRest,
  type SealedCell,
  sealAtRest,
} from '../../access/domain/at-rest.ts'
import {
  insertArtefact,
  insertChunks,
  readArtefact,
  readChunk,
  type WholeArtefact,
} from '../store/artefact-store.ts'

/** Bytes of an artefact that are stored in one row and read in one message. */
const chunkBytes = 64 * 1024
/** Chunks that one statement stores: an upload of 25 MiB takes 50 round trips, and keeps half a MiB in memory. */
const chunksAtOnce = 8
/** The largest artefact. */
const maxArtefactBytes = 10 * 1024 * 1024

const ivBytes = 12
const tagBytes = 16

/** What an artefact's first bytes must be, by media type. */
const signatures: Record<string, Buffer> = {
  'image/jpeg': Buffer.from('ffd8ff', 'hex'),
  'image/png': Buffer.from('89504e470d0a1a0a', 'hex'),
  'application/pdf': Buffer.from('%PDF-'),
}

/** An artefact that is being uploaded. */
export type ArtefactWriter = {
  artefactId: string
  /** Takes the next bytes in. PAYLOAD_TOO_LARGE past the limit. */
  write(bytes: Uint8Array): Promise<void>
  /** Stores what is left. UNSUPPORTED_MEDIA_TYPE when there was no content. */
  end(): Promise<WholeArtefact>
}

/** What stores artefacts. */
type Store = { db: Database; secrets: AccountSecrets }

/**
 * Begins an artefact under a key of its own. UNSUPPORTED_MEDIA_TYPE, here or at its first bytes, unless it is what it
 * says and that is allowed.
 */
export async function beginArtefact(
  { db, secrets }: Store,
  wanted: { projectId: string; field: string; mediaType: string },
): Promise<ArtefactWriter> {
  const signature = signatures[wanted.mediaType]
  if (signature === undefined) throw unsupported('artefact.media_type')
  const artefactId = newId()
  const key = randomBytes(32)
  const keySealed = sealAtRest(secrets, keyCell(artefactId), key)
  if (!(await insertArtefact(db, { ...wanted, artefactId, keySealed }))) {
    throw invalid('project_id', 'must be that of a project')
  }
  let sizeBytes = 0
  let chunkCount = 0
  let waiting = Buffer.alloc(0)
  let encrypted: Buffer[] = []

  function encrypt(chunk: Buffer): void {
    if (chunkCount === 0 && !chunk.subarray(0, signature?.length).equals(signature ?? chunk)) {
      throw unsupported('chunk')
    }
    encrypted.push(encryptChunk(key, chunkCount, chunk))
    chunkCount += 1
  }

  async function store(): Promise<void> {
    const chunks = encrypted
    encrypted = []
    await insertChunks(db, artefactId, chunkCount - chunks.length, chunks)
  }

  return {
    artefactId,
    async write(bytes) {
      sizeBytes += bytes.length
      if (sizeBytes > maxArtefactBytes) throw tooLarge('an artefact has at most 10 MiB')
      waiting = Buffer.concat([waiting, bytes])
      while (waiting.length >= chunkBytes) {
        encrypt(waiting.subarray(0, chunkBytes))
        waiting = waiting.subarray(chunkBytes)
        if (encrypted.length === chunksAtOnce) await store()
      }
    },
    async end() {
      if (waiting.length > 0 || chunkCount === 0) encrypt(waiting)
      if (encrypted.length > 0) await store()
      return { artefactId, sizeBytes, chunkCount }
    },
  }
}

/** Reads an artefact of an open review piece by piece. REVIEW_NOT_FOUND for an unknown or ended one. */
export async function* artefactBytes(
  { db, secrets }: Store,
  reviewId: string,
  artefactId: string,
): AsyncGenerator<Buffer> {
  const found = await readArtefact(db, reviewId, artefactId)
  if (found === undefined) throw new Failure('REVIEW_NOT_FOUND', 'no open review has this artefact')
  const key = openAtRest(secrets, keyCell(artefactId), found.keySealed)
  for (let index = 0; index < found.chunkCount; index += 1) {
    const ciphertext = await readChunk(db, artefactId, index)
    if (ciphertext === undefined) throw new Error('an artefact has lost a chunk')
    yield decryptChunk(key, index, ciphertext)
  }
}

function keyCell(rowId: string): SealedCell {
  return { column: 'artefact.key_sealed', rowId }
}

/** iv[12] ‖ AES-256-GCM ciphertext ‖ tag[16] of a chunk, which opens at its index and nowhere else. */
function encryptChunk(key: Buffer, index: number, chunk: Buffer): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  cipher.setAAD(indexBytes(index))
  return Buffer.concat([iv, cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
}

/** Opens what `encryptChunk` made. Throws when it is not the chunk of this key and index. */
function decryptChunk(key: Buffer, index: number, ciphertext: Buffer): Buffer {
  const iv = ciphertext.subarray(0, ivBytes)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  decipher.setAAD(indexBytes(index))
  decipher.setAuthTag(ciphertext.subarray(-tagBytes))
  const body = ciphertext.subarray(ivBytes, -tagBytes)
  return Buffer.concat([decipher.update(body), decipher.final()])
}

function indexBytes(index: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(index)
  return bytes
}

/** The refusal of an upload that is too large. */
export function tooLarge(message: string): Failure {
  return new Failure('PAYLOAD_TOO_LARGE', message)
}

function unsupported(field: string): Failure {
  const reason = 'UNSUPPORTED_MEDIA_TYPE'
  const rule = 'must be of a JPEG, a PNG or a PDF'
  const violations = [{ field, reason, rule } as const]
  return new Failure(reason, 'an artefact must be a JPEG, a PNG or a PDF', { violations })
}
