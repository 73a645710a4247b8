// Asserts that a call was refused: by its envelope, and by the absence of any effect.
import { expect } from 'vitest'
import type { SharedMesh } from '../../support/mesh.ts'
import {
  type ApiResponse,
  isoPattern,
  type Json,
  merchant,
  order,
  payer,
  receivedBy,
  receiver,
  unique,
} from '../harness.ts'

/** What a refusal says. `names` is part of the message. */
export type Refused = { status: number; errorCode: string; names?: string; missing?: string[] }

export const missingField = (names: string): Refused => ({
  status: 400,
  errorCode: 'MISSING_PARAMETER',
  names,
})

export const invalid = (names: string): Refused => ({
  status: 400,
  errorCode: 'INVALID_PARAMETER',
  names,
})

/** Checks a whole error envelope of the payment routes. */
export function expectRefused(answer: ApiResponse, refused: Refused): void {
  const { status, errorCode, names = '', missing } = refused
  const { field, ...body } = answer.body
  if (field !== undefined) expect(answer.body['message']).toContain(field)
  expect(body, answer.text).toEqual({
    status: 'error',
    code: status,
    message: expect.stringContaining(names),
    request_id: expect.any(String),
    timestamp: expect.stringMatching(isoPattern),
    observed_client_ip: { request_ip: '127.0.0.1', socket_remote_address: '127.0.0.1' },
    errorCode,
    doc_url: expect.stringMatching(new RegExp(`/docs/errors#${errorCode}$`)),
    ...(missing && { missing }),
  })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('pw-request-id')).toBe(answer.body['request_id'])
}

/** Orders that carry a mark in their id and URLs, by which any trace of them would be found. */
export function markedOrders(mesh: SharedMesh) {
  const marks: string[] = []
  return {
    /** A good order, changed; a change that answers nothing has changed it in place. */
    marked(change: (transaction: Json) => unknown = () => undefined): Json {
      const mark = unique('refused')
      marks.push(mark)
      const url = `${mesh.sandbox.simulator_url}/receivers/ok/${mark}`
      const transaction = order({
        id: mark,
        payers: [payer(1, { amount: '100.00' })],
        urls: { notify: url, callback: url },
      })
      return (change(transaction) ?? transaction) as Json
    },
    /** Waits until later pushes have come in, then looks for earlier ones and for rows. */
    async expectNoTrace(atLeast: number): Promise<void> {
      const inbox = receiver(mesh)
      await merchant(mesh).create(order({ payers: [payer(1)], urls: inbox.urls }))
      await inbox.awaitNotifies(['payout_completed'])
      expect(marks.length).toBeGreaterThanOrEqual(atLeast)
      const sent = await Promise.all(
        marks.map((mark) => receivedBy(mesh.sandbox.simulator_url, mark)),
      )
      expect(sent.flat()).toEqual([])
      const traces = await mesh.rows(
        `select transaction_id as trace from payments.payment
           where transaction_id = any($1) or notify_url like any($2)
         union all select url from delivery.delivery where url like any($2)`,
        [marks, marks.map((mark) => `%${mark}%`)],
      )
      expect(traces).toEqual([])
    },
  }
}
