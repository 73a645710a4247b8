// Shows which fields of a message get lower case: the UUIDs, wherever they are, and no other text.
import { randomUUID } from 'node:crypto'
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import {
  CreatePersonalAccountRequestSchema,
  RegisterAccountRequestSchema,
  UploadHeaderSchema,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import {
  CheckLedgerRequestSchema,
  PostTransferRequestSchema,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import { ProcessEventsRequestSchema, SeenRequestSchema } from '#gen/payweave/events/v1/events_pb.js'
import { CreatePaymentRequestSchema } from '#gen/payweave/payments/v1/payments_pb.js'
import { idLowering } from './request-ids.ts'

const id = randomUUID()
const upper = id.toUpperCase()

function loweredOf<D extends DescMessage>(type: D, init: MessageInitShape<D>) {
  const message = create(type, init)
  idLowering(type)?.(message)
  return message
}

it('an id of a message gets lower case, and other text stays', () => {
  const request = { projectId: upper, merchantId: upper, transactionId: upper }
  expect(loweredOf(CreatePaymentRequestSchema, request)).toMatchObject({
    projectId: id,
    merchantId: id,
    transactionId: upper,
  })
})

it('ids in a list, and in a list of messages, get lower case', () => {
  expect(loweredOf(SeenRequestSchema, { eventIds: [upper, ''] }).eventIds).toEqual([id, ''])
  const events = [{ eventId: upper, subject: 'A' }, { projectId: upper }]
  expect(loweredOf(ProcessEventsRequestSchema, { events }).events).toMatchObject([
    { eventId: id, subject: 'A' },
    { projectId: id },
  ])
})

it('an id in a choice gets lower case when it is chosen', () => {
  const address = { holder: { case: 'accountId', value: upper } } as const
  const postings = [{ address }, { address: {} }, {}]
  const { postings: lowered } = loweredOf(PostTransferRequestSchema, { postings })
  expect(lowered[0]?.address?.holder).toEqual({ case: 'accountId', value: id })
  expect(lowered[1]?.address?.holder).toEqual({ case: undefined })
})

it('the request id that a callback shows stays as it was sent', () => {
  for (const type of [
    CreatePersonalAccountRequestSchema,
    RegisterAccountRequestSchema,
    UploadHeaderSchema,
  ]) {
    const shown = loweredOf(type, { projectId: upper, requestId: upper })
    expect(shown).toMatchObject({ projectId: id, requestId: upper })
  }
})

it('a message without ids needs no change', () => {
  expect(idLowering(CheckLedgerRequestSchema)).toBeUndefined()
})
