// Parsers of bytes: the frames of a call stream, JSON bodies, sealed values and signatures.
import { createCipheriv } from 'node:crypto'
import { create, fromBinary } from '@bufbuild/protobuf'
import {
  isSealed,
  open,
  openInRow,
  sealedUnder,
  signWebhook,
  verifyWebhook,
} from '#core/identity/seal.ts'
import {
  CallService,
  type StreamCallsRequest,
  StreamCallsRequestSchema,
} from '#gen/payweave/rpc/v1/call_pb.js'
import {
  headersOf,
  MessageQueue,
  MessageReader,
  surelyFollowsRules,
} from '#platform/rpc/call-stream/messages.ts'
import { rulesCheck } from '#platform/rpc/validation/request-rules.ts'
import { readJson } from '../../gateway/http/body/body-parsers.ts'
import type { Target } from './fuzz.ts'
import { expectSame, expectTrue, unlessRefused } from './rules.ts'

const maxMessageBytes = 4_096
const checkRules = rulesCheck(CallService.method.streamCalls)

function frames(): Buffer {
  const queue = new MessageQueue()
  const headers = { authorization: 'Bearer x', 'connect-timeout-ms': '1000', 'x-other': 'a' }
  queue.addCall(7, '/payweave.payments.v1.PaymentsService/GetPayment', headers, Buffer.from('ab'))
  queue.addCancel(7)
  queue.addCall(8, '/', {}, Buffer.alloc(0))
  return queue.take()
}

/** The messages in chunks of a length, and whether the reader refused what follows them. */
function messagesIn(input: Buffer, length: number): { messages: Buffer[]; isRefused: boolean } {
  const messages: Buffer[] = []
  const reader = new MessageReader(maxMessageBytes, (one) => void messages.push(Buffer.from(one)))
  try {
    for (let at = 0; at < input.length; at += length) reader.read(input.subarray(at, at + length))
    return { messages, isRefused: false }
  } catch (error) {
    if (error instanceof RangeError) return { messages, isRefused: true }
    throw error
  }
}

function decoded(message: Buffer): StreamCallsRequest | undefined {
  try {
    return fromBinary(StreamCallsRequestSchema, message)
  } catch {
    return undefined
  }
}

const callStream: Target = {
  name: 'call-stream',
  seeds: [frames()],
  run(input) {
    const whole = messagesIn(input, Math.max(1, input.length))
    for (const length of [1, 3, 7]) expectSame(messagesIn(input, length), whole)
    for (const message of whole.messages) {
      const request = decoded(message)
      if (request === undefined) continue
      if (surelyFollowsRules(request)) checkRules(request)
      const copy = create(StreamCallsRequestSchema, { ...request, headers: { ...request.headers } })
      for (const value of Object.values(headersOf(copy))) {
        expectTrue(typeof value === 'string', 'a header is a text')
      }
    }
  },
}

const json: Target = {
  name: 'json',
  seeds: ['{"api_key":"a","amount":"1.00","payers":[{"email":"a@b.c","n":[1e2,-0.5,null,true]}]}'],
  run(input) {
    const read = (type: string) =>
      unlessRefused(() => readJson(input, type, undefined), 'INVALID_JSON')
    const body = read('application/json')
    if (body === undefined) return
    expectSame(body.fields, JSON.parse(input.toString()))
    expectSame(body.bytes, input.length)
    expectSame(read('application/json; charset=utf-8'), body)
  },
}

const key = { keyId: '0a1b2c3d', key: Buffer.alloc(32, 1) }
const purpose = 'session_token'
const context = { purpose, rowId: '0198c0de-0000-7000-8000-00000000000a' }
const plaintext = Buffer.from('pws_token')

/** As `seal` and `sealInRow` write it, but the same in each run. */
function sealedValue(version: number, bound: string): string {
  const iv = Buffer.alloc(12, 3)
  const cipher = createCipheriv('aes-256-gcm', key.key, iv)
  cipher.setAAD(Buffer.from(bound))
  const parts = [Buffer.of(version), Buffer.from(key.keyId, 'hex'), iv, cipher.update(plaintext)]
  return Buffer.concat([...parts, cipher.final(), cipher.getAuthTag()]).toString('base64')
}

const onWire = sealedValue(1, purpose)
const inRow = sealedValue(2, `${purpose}\0${context.rowId}`)

const seal: Target = {
  name: 'seal',
  seeds: [onWire, inRow],
  run(input) {
    const text = input.toString()
    expectSame(open(text, [key], purpose), text === onWire ? plaintext : undefined)
    expectSame(openInRow(text, [key], context), text === inRow ? plaintext : undefined)
    if (isSealed(text)) expectSame(sealedUnder(text)?.inRow, false)
  },
}

const signedBody = '{"event_type":"payment_paid"}'
const signedAtS = 1_764_000_000
const signature = signWebhook(['secret'], signedAtS, signedBody)

const webhook: Target = {
  name: 'webhook-signature',
  seeds: [signature, signWebhook(['other', 'secret'], signedAtS, signedBody)],
  run(input) {
    const text = input.toString()
    const isVerified = verifyWebhook(['secret'], text, signedBody, signedAtS)
    const [time = '', ...digests] = signature.split(',')
    if (!isVerified) return
    expectTrue(text.startsWith(`${time},`), 'the time is signed')
    expectTrue(text.includes(digests[0] ?? ''), 'only the digest of a secret is accepted')
  },
}

/** Targets that read bytes, or texts whose every byte counts. */
export const byteTargets: readonly Target[] = [callStream, json, seal, webhook]
