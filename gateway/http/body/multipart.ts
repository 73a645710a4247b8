// Reads the form of onboarding artefacts within its limits and streams files on as they come.
import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import type { ArtefactUpload } from '../../routes/account/artefact-upload.ts'
import { lateRequest, refusal } from '../envelope.ts'
import { wasRefused } from '../in-flight.ts'
import { invalidField, shownName } from '../validate.ts'

const mebibyte = 1024 * 1024
const maxFileBytes = 10 * mebibyte
const maxFormBytes = 25 * mebibyte
/** Maximum of `Content-Type`. RFC 2046 allows a boundary of 70 characters. */
const maxTypeLength = 256
/** Maximum of all text fields together, as for a JSON body. */
const maxTextBytes = 64 * 1024
const maxParts = 108

/** Options of the parser. Every part comes as a stream, so that texts can be checked to be UTF-8. */
export const formParser = {
  limits: { fileSize: maxFileBytes, files: maxParts, parts: maxParts, headerPairs: 20 },
  isPartAFile: () => true,
  throwFileSizeLimit: false,
}

/** The fields that a route takes as a form. Others are ignored, files too. */
export type FormNames = { texts: ReadonlySet<string>; files: ReadonlySet<string> }

type Artefacts = Pick<ArtefactUpload, 'begin' | 'add'>

/** The kinds of file that are accepted, by their first bytes. */
const signatures = [
  { mediaType: 'image/jpeg', start: Buffer.from([0xff, 0xd8, 0xff]) },
  {
    mediaType: 'image/png',
    start: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  },
  { mediaType: 'application/pdf', start: Buffer.from('%PDF-') },
]
const maxSignature = 8

/** Whether the body of a request is a form that was not read yet. */
export function isForm(request: FastifyRequest): boolean {
  const { isMultipart } = request as { isMultipart?: () => boolean }
  return isMultipart?.call(request) ?? false
}

/**
 * The text fields of the form, without empty ones, and the names of unknown files as empty texts; known files go to `artefacts` meanwhile. Throws
 * PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for a file whose content is of no accepted kind, INVALID_PARAMETER
 * for a form that is malformed.
 */
export async function readForm(
  request: FastifyRequest,
  names: FormNames,
  artefacts: Artefacts,
): Promise<Record<string, string>> {
  const { 'content-length': length = 0, 'content-type': type = '' } = request.headers
  if (type.length > maxTypeLength) throw malformed()
  if (Number(length) > maxFormBytes) throw refusal('PAYLOAD_TOO_LARGE')
  const { raw } = request
  // The client has disconnected: the parser would wait forever for the end of the request.
  if (raw.destroyed) throw malformed()
  const form = formReader(names, artefacts)
  request.edge.form = form.texts
  const whole = (): Record<string, string> => {
    form.checkSize()
    // The client already got 408: the gateway must not execute the request after that.
    if (wasRefused(raw)) throw lateRequest()
    return form.texts
  }
  raw.on('data', form.count)
  try {
    for await (const part of request.parts()) await form.take(part as MultipartFile)
    return whole()
  } catch (error) {
    // The parser skips a field named like "constructor" and ends with this error; the API ignores unknown fields.
    if (codeOf(error) === 'FST_PROTO_VIOLATION' && raw.complete) return whole()
    // The rest of the body is read and discarded, or a client that still sends would not receive the response.
    raw.unpipe()
    raw.resume()
    throw formFailure(error)
  } finally {
    raw.off('data', form.count)
  }
}

function formReader(names: FormNames, artefacts: Artefacts) {
  const texts: Record<string, string> = Object.create(null)
  const seen = new Set<string>()
  let textBytes = 0
  let bytes = 0

  function checkSize(): void {
    if (bytes > maxFormBytes || textBytes > maxTextBytes) throw refusal('PAYLOAD_TOO_LARGE')
  }

  async function* contentOf({ file }: MultipartFile): AsyncGenerator<Buffer> {
    for await (const chunk of file as AsyncIterable<Buffer>) {
      checkSize()
      yield chunk
    }
    if (file.truncated) throw refusal('PAYLOAD_TOO_LARGE')
  }

  async function readText(part: MultipartFile): Promise<string> {
    const chunks: Buffer[] = []
    textBytes += Buffer.byteLength(part.fieldname)
    for await (const chunk of contentOf(part)) {
      textBytes += chunk.length
      checkSize()
      chunks.push(chunk)
    }
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    } catch {
      throw invalidField(shownName(part.fieldname), 'must be text in UTF-8')
    }
  }

  return {
    texts,
    checkSize,
    count(chunk: Buffer): void {
      bytes += chunk.length
    },
    async take(part: MultipartFile): Promise<void> {
      const name: string | undefined = part.fieldname
      if (name === undefined || name === '') throw malformed()
      if (seen.has(name)) throw invalidField(shownName(name), 'must be given once')
      seen.add(name)
      const isFile = isFilePart(part)
      if (isFile && names.texts.has(name)) throw invalidField(name, 'must be a text, not a file')
      if (!isFile && names.files.has(name)) throw invalidField(name, 'must be a file')
      if (!isFile) {
        const text = await readText(part)
        if (text !== '') texts[name] = text
      } else if (names.files.has(name)) {
        await passOn(name, contentOf(part), artefacts)
      } else {
        // An unknown file is read and discarded. Only its name is kept, so that PW-Warning names it.
        textBytes += Buffer.byteLength(name)
        texts[name] = ''
        for await (const _ of contentOf(part));
      }
    },
  }
}

/** Whether a part is a file: it has a file name or, as some programs send files, the type `application/octet-stream`. */
function isFilePart({ filename, mimetype }: MultipartFile): boolean {
  return (filename as string | undefined) !== undefined || mimetype === 'application/octet-stream'
}

async function passOn(
  field: string,
  content: AsyncIterable<Buffer>,
  artefacts: Artefacts,
): Promise<void> {
  let head = Buffer.alloc(0)
  let mediaType: string | undefined
  let isJudged = false
  for await (const chunk of content) {
    if (isJudged) {
      if (mediaType !== undefined) await artefacts.add(chunk)
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < maxSignature) continue
    isJudged = true
    mediaType = mediaTypeOf(head)
    if (mediaType === undefined) continue
    await artefacts.begin(field, mediaType)
    await artefacts.add(head)
  }
  if (isJudged && mediaType !== undefined) return
  mediaType = mediaTypeOf(head)
  // Thrown after the whole file was read, because its size is refused before its type.
  if (mediaType === undefined) {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', `${field} must be a JPEG, PNG or PDF.`)
  }
  await artefacts.begin(field, mediaType)
  await artefacts.add(head)
}

function mediaTypeOf(head: Buffer): string | undefined {
  return signatures.find(({ start }) => head.subarray(0, start.length).equals(start))?.mediaType
}

const limitCodes = new Set(['FST_PARTS_LIMIT', 'FST_FILES_LIMIT'])

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

// The parser would answer 500 or 406 for errors of the client.
function formFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  return limitCodes.has(codeOf(error)) ? refusal('PAYLOAD_TOO_LARGE') : malformed(error)
}

function malformed(cause?: unknown): Failure {
  const message = 'The body is not a well-formed multipart form.'
  return new Failure('INVALID_PARAMETER', message, cause === undefined ? {} : { cause })
}
