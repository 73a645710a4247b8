// Tests the requests that pages show for what their buttons call.
import { expect, it } from 'vitest'
import { GrantEndpointsRequestSchema } from '#gen/payweave/accounts/v1/access_pb.js'
import { ClaimItemRequestSchema } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { CreateReplayJobRequestSchema } from '#gen/payweave/delivery/v1/replay_pb.js'
import { sampleOf } from './sample-request.ts'

it('a sample has every field of its request, with the ids that are known', () => {
  const ids = new Map([
    ['projectId', '0198'],
    // Of two values.
    ['subjectId', ''],
  ])
  expect(sampleOf(CreateReplayJobRequestSchema, ids)).toEqual({
    projectId: '0198',
    filter: {
      kind: 'DELIVERY_KIND_NOTIFY',
      state: 'DELIVERY_STATE_PENDING',
      fromTime: '…',
      toTime: '…',
      origin: '…',
      subjectId: '…',
    },
    ratePerS: 0,
    idempotencyKey: '…',
  })
  expect(sampleOf(GrantEndpointsRequestSchema, ids)).toMatchObject({ endpoints: ['…'] })
  expect(sampleOf(ClaimItemRequestSchema, ids)).toMatchObject({ item: { itemId: '…' } })
})
