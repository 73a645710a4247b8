// Measures made-up loads whose times are known.
import { expect, it } from 'vitest'
import type { Operation, Push } from '../load/records.ts'
import { measure } from './measure.ts'

/** A create whose requests were sent and answered at these seconds. */
function create(id: string, ...tries: [sentS: number, endS: number, status: number][]): Operation {
  return {
    kind: 'create',
    id,
    tries: tries.map(([sentS, endS, status]) => ({
      sentMs: sentS * 1_000,
      endMs: endS * 1_000,
      status,
    })),
    resultId: `of-${id}`,
  }
}

function push(transactionId: string, receivedS: number, deliveryId = transactionId): Push {
  const what = 'payment_initiated'
  return { deliveryId, transactionId, what, digest: '', receivedMs: receivedS * 1_000 }
}

const window = { beganMs: 10_000, detectedMs: 15_000, overMs: 20_000 }

it('the longest time without a create counts from the last success before the fault', () => {
  const operations = [
    create('a', [1, 1.5, 200]),
    create('b', [9, 9.5, 200]),
    create('c', [11, 12, 503], [12.5, 16, 200]),
    create('d', [17, 17.5, 200]),
  ]
  const measures = measure({ operations, pushes: [] }, window)
  expect(measures).toMatchObject({ gapS: 6.5, slowestCreateS: 5, creates: 4, createsFailed: 1 })
  expect(measures.disturbedS).toBe(6)
  expect(measures.failures).toEqual({ 'create 503': 1 })
})

it('operations that failed after the fault was detected are those that began after it and while it lasted', () => {
  const operations = [
    create('before', [14, 16, 503], [16, 16.5, 409], [17, 17.5, 200]),
    create('detected', [15.5, 16, 503], [16, 17, 200]),
    create('good', [16, 17, 200]),
    create('over', [20.5, 21, 503], [21, 22, 200]),
  ]
  expect(measure({ operations, pushes: [] }, window).failedAfterDetection).toBe(1)
})

it('pushes count from the answer of the create, and only those of the fault from its end', () => {
  const operations = [
    create('before', [8, 8.5, 200]),
    create('during', [12, 12.5, 200]),
    create('after', [21, 21.5, 200]),
  ]
  const pushes = [push('before', 13), push('during', 23), push('after', 22), push('during', 24)]
  const measures = measure({ operations, pushes }, window)
  expect(measures).toMatchObject({ firstPushS: 12, slowestPushS: 10.5, latestPushS: 3 })
  expect(measures).toMatchObject({ pushes: 4, pushesRepeated: 1 })
})

it('what did not happen has no time', () => {
  const measures = measure({ operations: [], pushes: [] }, window)
  expect(measures).toMatchObject({ gapS: Number.NaN, firstPushS: Number.NaN, disturbedS: 0 })
})
