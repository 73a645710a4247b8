// Reads the form of onboarding artefacts within its limits; it must not keep a file.
import type { Multipart } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { Failure } from '#core/errors.ts'
import { refusal } from './envelope.ts'
import { personalAccountFiles } from './schemas/account.ts'
import { invalidField } from './validate.ts'

const mebibyte = 1024 * 1024
const maxFileBytes = 10 * mebibyte
const maxFormBytes = 25 * mebibyte

/** Limits that the parser itself holds; what it would cut in silence is refused by `readForm`. */
export const formLimits = {
  fileSize: maxFileBytes,
  files: 8,
  fields: 100,
  parts: 108,
  fieldNameSize: 100,
  fieldSize: 64 * 1024,
  headerPairs: 20,
}

/** The first bytes of the kinds of file that are accepted: JPEG, PNG, PDF. */
const signatures = [
  Buffer.from([0xff, 0xd8, 0xff]),
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  Buffer.from('%PDF-'),
]
const longestSignature = 8

/** Tells whether the body of a request is a form that nobody has read yet. */
export function isForm(request: FastifyRequest): boolean {
  const { isMultipart } = request as { isMultipart?: () => boolean }
  return isMultipart?.call(request) ?? false
}

/**
 * The text fields of the form. Throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for a file whose content is of
 * no accepted kind, INVALID_PARAMETER for a form that is malformed.
 */
export async function readForm(request: FastifyRequest): Promise<Record<string, string>> {
  if (Number(request.headers['content-length'] ?? 0) > maxFormBytes) {
    throw refusal('PAYLOAD_TOO_LARGE')
  }
  const count = byteCounter()
  request.raw.on('data', count.add)
  try {
    const fields: Record<string, string> = Object.create(null)
    for await (const part of request.parts()) {
      if (part.type === 'file') await readFile(part, count)
      else readField(part, fields)
      count.check()
    }
    return fields
  } catch (error) {
    throw formFailure(error)
  } finally {
    request.raw.off('data', count.add)
  }
}

function byteCounter() {
  let bytes = 0
  return {
    add: (chunk: Buffer) => {
      bytes += chunk.length
    },
    check: () => {
      if (bytes > maxFormBytes) throw refusal('PAYLOAD_TOO_LARGE')
    },
  }
}

function readField(
  part: Extract<Multipart, { type: 'field' }>,
  fields: Record<string, string>,
): void {
  if (part.fieldnameTruncated || part.valueTruncated) throw refusal('PAYLOAD_TOO_LARGE')
  if (typeof part.value !== 'string') throw invalidField(part.fieldname, 'must be a text')
  if (part.fieldname in fields) throw invalidField(part.fieldname, 'must be given once')
  fields[part.fieldname] = part.value
}

async function readFile(
  part: Extract<Multipart, { type: 'file' }>,
  count: ReturnType<typeof byteCounter>,
): Promise<void> {
  let head = Buffer.alloc(0)
  for await (const chunk of part.file as AsyncIterable<Buffer>) {
    if (head.length < longestSignature) head = Buffer.concat([head, chunk])
    count.check()
  }
  if (part.file.truncated) throw refusal('PAYLOAD_TOO_LARGE')
  const isArtefact = personalAccountFiles.includes(part.fieldname)
  if (isArtefact && !signatures.some((start) => head.subarray(0, start.length).equals(start))) {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', `${part.fieldname} must be a JPEG, PNG or PDF.`)
  }
}

const limitCodes = new Set([
  'FST_REQ_FILE_TOO_LARGE',
  'FST_PARTS_LIMIT',
  'FST_FILES_LIMIT',
  'FST_FIELDS_LIMIT',
])

// The parser answers 500 or 406 for what the client got wrong.
function formFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (limitCodes.has(code)) return refusal('PAYLOAD_TOO_LARGE')
  return new Failure('INVALID_PARAMETER', 'The body is not a well-formed multipart form.', {
    cause: error,
  })
}
