// Reports what the delivery measurements found and whether that is enough.

import { median, table, whole } from '../report.ts'
import type { DeliveryFindings } from './delivery.ts'

/** What must be reached. */
const goals = { minRatio: 0.2, p95Ms: 100, maxShift: 1.2, maxGrowth: 1.1 }

/** The page of results/. */
export function describeDelivery(findings: DeliveryFindings): string[] {
  return [
    ...describeSustained(findings),
    '',
    ...describePrompt(findings),
    '',
    ...describeMemory(findings),
  ]
}

function describeSustained({ sustained, idleShare }: DeliveryFindings): string[] {
  const ratios = sustained.map(({ perSecond, loopPerSecond }) => perSecond / loopPerSecond)
  const ratio = median(ratios)
  return [
    `50 receivers, as many deliveries as go. **Ratio to a bare loop of POSTs: median ${ratio.toFixed(2)}`,
    `(${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}), at least ${goals.minRatio}: ${verdict(ratio >= goals.minRatio)}.** ${percent(idleShare)} % of the machine was busy before.`,
    '',
    ...table(
      ['turn', 'deliveries/s product', 'POSTs/s bare loop', 'ratio', 'CPU µs a delivery'],
      sustained.map(({ perSecond, loopPerSecond, cpuMicros }, index) => [
        String(index + 1),
        whole(perSecond),
        whole(loopPerSecond),
        (ratios[index] ?? 0).toFixed(2),
        Object.entries(cpuMicros)
          .map(([name, micros]) => `${name} ${whole(micros)}`)
          .join(', '),
      ]),
    ),
  ]
}

function describePrompt({ prompt, retries }: DeliveryFindings): string[] {
  const p95Ms = median(prompt.map(({ plain }) => plain.p95Ms))
  const shifts = prompt.map(({ plain, burdened }) => burdened.p99Ms / plain.p99Ms)
  const shift = median(shifts)
  const [least, most] = [Math.min(...shifts), Math.max(...shifts)]
  return [
    `200 events/s, 5 of 50 receivers dead (3 never answer, 2 refuse connections). **Commit to first POST: p95`,
    `${p95Ms.toFixed(1)} ms (median of the turns), under ${goals.p95Ms} ms: ${verdict(p95Ms < goals.p95Ms)}.** With ${whole(retries)} retries due for one dead`,
    `receiver **the others' p99 is ${shift.toFixed(2)} times as long (median; ${least.toFixed(2)}–${most.toFixed(2)}), at most ${goals.maxShift}: ${verdict(shift <= goals.maxShift)}.**`,
    '',
    ...table(
      ['turn', 'pushes', 'p50 / p95 / p99 ms', 'beside the retries', 'p99 to p99'],
      prompt.map(({ plain, burdened }, index) => [
        String(index + 1),
        whole(plain.count),
        quantiles(plain),
        quantiles(burdened),
        (shifts[index] ?? 0).toFixed(2),
      ]),
    ),
  ]
}

function describeMemory({ rssMb, deliveries }: DeliveryFindings): string[] {
  const quarter = Math.max(1, Math.floor(rssMb.length / 4))
  const first = median(rssMb.slice(0, quarter))
  const last = median(rssMb.slice(-quarter))
  const growth = last / first
  return [
    `RSS of the delivery process over ${whole(deliveries)} deliveries at that speed: **${whole(first)} MB in the first quarter,`,
    `${whole(last)} MB in the last, ${growth.toFixed(2)} times (at most ${goals.maxGrowth}): ${verdict(growth <= goals.maxGrowth)}.**`,
  ]
}

function quantiles({ p50Ms, p95Ms, p99Ms }: { p50Ms: number; p95Ms: number; p99Ms: number }) {
  return [p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(1)).join(' / ')
}

function verdict(isReached: boolean): string {
  return isReached ? 'reached' : 'missed'
}

function percent(share: number): string {
  return (share * 100).toFixed(0)
}
