// Tests which project a call acts for.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { GetPaymentRequestSchema, PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { type CallContext, runWithContext } from '../context.ts'
import { bindToProject } from './project.ts'

const bind = bindToProject(PaymentsService.method.getPayment)
const context = { requestId: randomUUID(), traceparent: '' }
const message = () => create(GetPaymentRequestSchema, { projectId: randomUUID() })

it('a call without a context or a caller is refused', () => {
  const refused = expect.objectContaining({ reason: 'PERMISSION_DENIED' })
  expect(() => bind?.(message())).toThrow(refused)
  expect(() => runWithContext(context, () => bind?.(message()))).toThrow(refused)
})

it('a call of a process passes for each project, one of a bearer for its own alone', () => {
  const as = (caller: CallContext['caller']) => () =>
    runWithContext({ ...context, caller }, () => bind?.(message()))
  expect(as({ kind: 'service', name: 'gateway' })).not.toThrow()
  expect(as({ kind: 'bearer', name: 'team', projectId: randomUUID() })).toThrow(
    expect.objectContaining({ reason: 'PERMISSION_DENIED' }),
  )
})
