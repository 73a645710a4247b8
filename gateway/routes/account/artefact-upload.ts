// Streams the artefacts of a form to accounts as they arrive, with backpressure; keeps no copy.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Failure } from '#core/errors/errors.ts'
import type {
  PersonalAccountProfile,
  UploadHeaderSchema,
  UploadPersonalAccountRequestSchema,
  UploadPersonalAccountResponse,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import type { AccountsClient } from '../../options.ts'

type Profile = Omit<PersonalAccountProfile, '$typeName' | '$unknown'>
type Part = MessageInitShape<typeof UploadPersonalAccountRequestSchema>

/** One upload. It is called for nothing at all when the form has no artefact. */
export type ArtefactUpload = {
  /** An artefact begins; `mediaType` is what its content says. */
  begin(field: string, mediaType: string): Promise<void>
  /** The next bytes of the artefact that began last. Resolves when they were taken. */
  add(bytes: Buffer): Promise<void>
  /** True once an artefact has begun. */
  hasBegun(): boolean
  /** Completes the upload: now it is stored. */
  finish(profile: Profile): Promise<UploadPersonalAccountResponse>
  /** Breaks off an upload that was not finished, so that nothing of it is stored. */
  close(): void
}

const maxChunkBytes = 64 * 1024

/** Prepares an upload; the call is made when the first artefact begins. */
export function artefactUpload(
  accounts: Pick<AccountsClient, 'uploadPersonalAccount'>,
  header: { projectId: string; requestId: string },
): ArtefactUpload {
  let call: UploadCall | undefined
  return {
    async begin(field, mediaType) {
      call ??= await startCall(accounts, header)
      await call.send({ part: { case: 'artefact', value: { field, mediaType } } })
    },
    async add(bytes) {
      for (let start = 0; start < bytes.length; start += maxChunkBytes) {
        const value = bytes.subarray(start, start + maxChunkBytes)
        await call?.send({ part: { case: 'chunk', value } })
      }
    },
    hasBegun: () => call !== undefined,
    async finish(profile) {
      if (call === undefined) throw new Error('an upload without artefacts cannot be finished')
      return await call.end({ part: { case: 'profile', value: profile } })
    },
    close: () => call?.abort(),
  }
}

type UploadCall = {
  send(part: Part): Promise<void>
  end(part: Part): Promise<UploadPersonalAccountResponse>
  abort(): void
}

async function startCall(
  accounts: Pick<AccountsClient, 'uploadPersonalAccount'>,
  header: MessageInitShape<typeof UploadHeaderSchema> & { projectId: string },
): Promise<UploadCall> {
  const { items, put, end } = handover<Part>()
  const aborting = new AbortController()
  const answer = accounts.uploadPersonalAccount(items(), {
    ...withProject(header.projectId),
    signal: aborting.signal,
  })
  // Rejects the waits for backpressure: no further part will be read.
  const failed = answer.then(() => {
    throw new Failure('INTERNAL_ERROR', 'the upload was answered before its profile was sent')
  })
  failed.catch(() => undefined)
  const send = (part: Part) => Promise.race([put(part), failed])
  await send({ part: { case: 'header', value: header } })
  return {
    send,
    async end(part) {
      await Promise.race([put(part), answer])
      end()
      return await answer
    },
    abort() {
      aborting.abort()
      end()
    },
  }
}

/** Passes items from one side to the other, one at a time: `put` resolves when the reader has taken its item. */
function handover<T>() {
  let offered = Promise.withResolvers<T | undefined>()
  let taken = Promise.withResolvers<void>()
  return {
    async *items(): AsyncGenerator<T> {
      for (;;) {
        const item = await offered.promise
        if (item === undefined) return
        const before = taken
        offered = Promise.withResolvers()
        taken = Promise.withResolvers()
        before.resolve()
        yield item
      }
    },
    put(item: T): Promise<void> {
      offered.resolve(item)
      return taken.promise
    },
    end: () => offered.resolve(undefined),
  }
}
