// Computes what clients and the merchant saw of a fault from what the load noted.
import {
  firstTry,
  isGood,
  lastTry,
  type Operation,
  type Push,
  type Records,
} from '../load/records.ts'

/** When a fault began, from when on nothing may fail any more, and when it was over, in milliseconds since 1970. */
export type Window = { beganMs: number; detectedMs: number; overMs: number }

/** Seconds and counts of one fault. A time is NaN when nothing of its kind happened. */
export type Measures = {
  creates: number
  /** Creates whose first request failed, and operations of other kinds of which a request failed. */
  createsFailed: number
  others: number
  othersFailed: number
  /** Requests that failed, by operation and by status of HTTP or why no answer came. */
  failures: Record<string, number>
  /** Operations whose first request failed although it was sent after the fault had been detected, while it lasted. */
  failedAfterDetection: number
  /** The longest time in which no create succeeded. */
  gapS: number
  /** From the first request to the answer. */
  slowestCreateS: number
  /** From the beginning to the end of the last request that failed or took more than a second. */
  disturbedS: number
  /** From the beginning to the first push of a payment that was created after it. */
  firstPushS: number
  /** From the answer of a create to its first push. */
  slowestPushS: number
  /** From the end of the fault to the last first push of a payment that was created while it lasted. */
  latestPushS: number
  pushes: number
  /** Pushes that arrived more than once. */
  pushesRepeated: number
}

const slowMs = 1_000
const firstPushOf = 'payment_initiated'

/** Measures one fault. */
export function measure(
  { operations, pushes }: Records,
  { beganMs, detectedMs, overMs }: Window,
): Measures {
  const creates = operations.filter(({ kind }) => kind === 'create')
  const others = operations.filter(({ kind }) => kind !== 'create')
  const arrivals = firstPushes(pushes)
  const pushedCreates = creates.flatMap((create) => {
    const answeredMs = lastTry(create)?.endMs
    const receivedMs = arrivals.get(create.id)
    return answeredMs === undefined || receivedMs === undefined ? [] : [{ answeredMs, receivedMs }]
  })
  const after = pushedCreates.filter(({ answeredMs }) => answeredMs >= beganMs)
  const during = after.filter(({ answeredMs }) => answeredMs <= overMs)
  const disturbed = operations
    .flatMap(({ tries }) => tries)
    .filter((one) => one.endMs >= beganMs && (!isGood(one) || one.endMs - one.sentMs > slowMs))
  const afterDetection = operations.filter((operation) => {
    const { sentMs = Number.NaN } = firstTry(operation) ?? {}
    return sentMs >= detectedMs && sentMs < overMs
  })
  return {
    creates: creates.length,
    createsFailed: creates.filter(hasFailedFirst).length,
    others: others.length,
    othersFailed: others.filter(({ tries }) => !tries.every(isGood)).length,
    failures: failuresOf(operations),
    failedAfterDetection: afterDetection.filter(hasFailedFirst).length,
    gapS: maxGapMs(creates, beganMs) / 1_000,
    slowestCreateS: max(creates.map(durationMs)) / 1_000,
    disturbedS: Math.max(0, max([...disturbed.map(({ endMs }) => endMs - beganMs), 0])) / 1_000,
    firstPushS: min(after.map(({ receivedMs }) => receivedMs - beganMs)) / 1_000,
    slowestPushS: max(after.map((one) => Math.max(0, one.receivedMs - one.answeredMs))) / 1_000,
    latestPushS: max(during.map(({ receivedMs }) => Math.max(0, receivedMs - overMs))) / 1_000,
    pushes: pushes.length,
    pushesRepeated: pushes.length - new Set(pushes.map(({ deliveryId }) => deliveryId)).size,
  }
}

function failuresOf(operations: Operation[]): Record<string, number> {
  const failures: Record<string, number> = {}
  for (const { kind, tries } of operations) {
    for (const one of tries.filter((each) => !isGood(each))) {
      const name = `${kind} ${one.error ?? one.status}`
      failures[name] = (failures[name] ?? 0) + 1
    }
  }
  return failures
}

function hasFailedFirst(operation: Operation): boolean {
  const first = firstTry(operation)
  return first !== undefined && !isGood(first)
}

function durationMs(operation: Operation): number {
  return (lastTry(operation)?.endMs ?? Number.NaN) - (firstTry(operation)?.sentMs ?? Number.NaN)
}

/** Between two answers of creates, the later of which came after the beginning of the fault. */
function maxGapMs(creates: Operation[], beganMs: number): number {
  const answersMs = creates
    .flatMap((create) => lastTry(create)?.endMs ?? [])
    .toSorted((one, other) => one - other)
  const gapsMs = answersMs
    .map((endMs, index) => ({ endMs, gapMs: endMs - (answersMs[index - 1] ?? endMs) }))
    .filter(({ endMs }) => endMs >= beganMs)
  return max(gapsMs.map(({ gapMs }) => gapMs))
}

/** When the first push of each payment arrived, by the merchant's id. */
function firstPushes(pushes: Push[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const { what, transactionId, receivedMs } of pushes) {
    if (what === firstPushOf && !found.has(transactionId)) found.set(transactionId, receivedMs)
  }
  return found
}

function max(values: number[]): number {
  return values.length === 0 ? Number.NaN : Math.max(...values)
}

function min(values: number[]): number {
  return values.length === 0 ? Number.NaN : Math.min(...values)
}
