// Proves that messages of a call stream are what their contract says and survive any split into chunks, and that malformed ones are refused.

import { create, fromBinary } from '@bufbuild/protobuf'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  CallService,
  type StreamCallsRequest,
  StreamCallsRequestSchema,
  StreamCallsResponseSchema,
} from '#gen/payweave/rpc/v1/call_pb.js'
import { enveloped } from '../../testing/rpc/call-streams.ts'
import { rulesCheck } from '../validation/request-rules.ts'
import {
  headersOf,
  MessageQueue,
  MessageReader,
  maxHeadBytes,
  surelyFollowsRules,
} from './messages.ts'

const path = '/päth.v1.Service/Method'
const headers = {
  authorization: `Bearer ${'x'.repeat(500)}`,
  'connect-timeout-ms': '4294967295',
  'pw-request-id': '0197a9b0-3f6a-7000-8000-000000000001',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'x-other': 'ä',
}
const body = Buffer.alloc(3_000, 7)
const empty = Buffer.alloc(0)

function queued(): Buffer {
  const queue = new MessageQueue()
  expect(queue.isEmpty).toBe(true)
  const sent = { ...headers, 'content-type': 'application/proto', 'connect-protocol-version': '1' }
  expect(queue.addCall(0xff_ff_ff_ff, path, sent, body)).toBe(true)
  queue.addCancel(1)
  expect(queue.addCall(2, path, {}, new Uint8Array(0))).toBe(true)
  const bytes = queue.take()
  expect(queue.isEmpty).toBe(true)
  return bytes
}

function collecting(maxBytes = 8_192) {
  const messages: Buffer[] = []
  return { messages, reader: new MessageReader(maxBytes, (message) => void messages.push(message)) }
}

describe('messages of a call stream', () => {
  it.each([1, 2, 3, 5, 11, 64, 10_000])(
    'messages of a call stream come whole out of pieces of %i bytes',
    (length) => {
      const { messages, reader } = collecting()
      const bytes = queued()
      for (let at = 0; at < bytes.length; at += length) reader.read(bytes.subarray(at, at + length))
      const [call, ...others] = messages.map((one) => fromBinary(StreamCallsRequestSchema, one))
      expect(call).toMatchObject({ callId: 0xff_ff_ff_ff, cancel: false, path })
      expect(call?.message).toEqual(body)
      expect(call && headersOf(call)).toEqual({
        ...headers,
        'content-type': 'application/proto',
      })
      expect(others).toEqual([
        create(StreamCallsRequestSchema, { callId: 1, cancel: true, message: empty }),
        create(StreamCallsRequestSchema, { callId: 2, path, message: empty }),
      ])
      expect(reader.isWithin).toBe(false)
    },
  )

  it('messages of a server are those of its contract', () => {
    const { messages, reader } = collecting()
    const queue = new MessageQueue()
    const json = { 'content-type': 'application/json', 'retry-after': '1' }
    queue.addResponse(1, 200, { 'content-type': 'application/proto' }, body)
    queue.addResponse(2, 429, json, body)
    queue.addNotBegun(3)
    queue.addDraining()
    reader.read(queue.take())
    expect(messages.map((one) => fromBinary(StreamCallsResponseSchema, one))).toEqual([
      create(StreamCallsResponseSchema, { callId: 1, body }),
      create(StreamCallsResponseSchema, { callId: 2, status: 429, headers: json, body }),
      create(StreamCallsResponseSchema, { callId: 3, notBegun: true, body: empty }),
      create(StreamCallsResponseSchema, { draining: true, body: empty }),
    ])
  })

  it('messages of a call stream that are incomplete are reported', () => {
    for (const bytes of [queued().subarray(0, -1), queued().subarray(0, 3)]) {
      const { reader } = collecting()
      reader.read(bytes)
      expect(reader.isWithin).toBe(true)
    }
  })

  it('messages of a call stream that are too long, or compressed, are refused', () => {
    const compressed = enveloped(Buffer.alloc(3))
    compressed.writeUInt8(1)
    for (const bytes of [enveloped(Buffer.alloc(8_193)), enveloped(body, 8_193), compressed]) {
      expect(() => collecting().reader.read(bytes)).toThrow(RangeError)
    }
  })

  it('messages of a call stream with headers that are too long are not taken', () => {
    const queue = new MessageQueue()
    const long = { long: 'x'.repeat(maxHeadBytes) }
    expect(queue.addCall(1, path, long, body)).toBe(false)
    expect(queue.addResponse(1, 200, long, body)).toBe(false)
    expect(queue.isEmpty).toBe(true)
  })
})

describe('a request', () => {
  const rules = rulesCheck(CallService.method.streamCalls)
  const follows = (request: StreamCallsRequest) => {
    try {
      rules(request)
      return true
    } catch {
      return false
    }
  }

  it('a request that surely follows the rules of its contract follows them', () => {
    let sure = 0
    const text = (...lengths: number[]) =>
      fc.oneof(
        ...lengths.map((length) => fc.constant('x'.repeat(length))),
        fc.string({ unit: 'binary', maxLength: 4 }),
      )
    const request = fc.record({
      callId: fc.nat(),
      cancel: fc.boolean(),
      path: text(0, 128, 129, 1_025),
      authorization: text(0, 500, 16_384, 16_385),
      timeoutMs: fc.nat(),
      requestId: text(0, 128, 129),
      traceparent: text(0, 128, 129),
      message: fc.constantFrom(0, 65_536, 65_537).map((length) => new Uint8Array(length)),
    })
    fc.assert(
      fc.property(request, (init) => {
        const made = create(StreamCallsRequestSchema, init)
        if (!surelyFollowsRules(made)) return
        sure += 1
        expect(follows(made)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
    expect(sure).toBeGreaterThan(10)
  })

  it('a request of our own clients surely follows the rules of its contract', () => {
    const { authorization, traceparent } = headers
    const requestId = headers['pw-request-id']
    const own = { callId: 1, path, authorization, requestId, traceparent, message: body }
    expect(surelyFollowsRules(create(StreamCallsRequestSchema, own))).toBe(true)
  })
})
