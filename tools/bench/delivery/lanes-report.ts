// Reports what the measurement of lanes found and whether that is enough.

import { median, table, whole } from '../report.ts'
import type { LaneTurn, LaneWaits } from './lanes.ts'

/** What must be reached. */
const goals = { maxShift: 1.2, maxLateMs: 1_000 }

/** The page of results/. */
export function describeLanes(turns: LaneTurn[]): string[] {
  const shifts = turns.map(({ plain, failing }) => failing.p95Ms / plain.p95Ms)
  const shift = median(shifts)
  const [min, max] = [Math.min(...shifts), Math.max(...shifts)]
  const lateMs = Math.max(...turns.map(({ retries }) => retries.p95LateMs))
  const onTime = lateMs <= goals.maxLateMs && turns.every(({ retries: r }) => r.count === r.due)
  return [
    `100 payments/s to one host, 10 % of them to a path that always answers 500. **The others' p95 is ${shift.toFixed(2)} times the p95 without`,
    `failures (median; ${min.toFixed(2)}–${max.toFixed(2)}), at most ${goals.maxShift}: ${verdict(shift <= goals.maxShift)}.** First retries of the failing path: **p95 at most`,
    `${whole(lateMs)} ms after their time, at most ${whole(goals.maxLateMs)}, and all sent that were due: ${verdict(onTime)}.**`,
    '',
    ...table(
      [
        'turn',
        'pushes',
        'p50 / p95 / p99 ms',
        'beside the failing path',
        'p95 to p95',
        'first retries: sent / due',
        'late p95 / max ms',
      ],
      turns.map(({ plain, failing, retries }, index) => [
        String(index + 1),
        whole(failing.count),
        quantiles(plain),
        quantiles(failing),
        (shifts[index] ?? 0).toFixed(2),
        `${retries.count} / ${retries.due}`,
        `${whole(retries.p95LateMs)} / ${whole(retries.maxLateMs)}`,
      ]),
    ),
  ]
}

function quantiles({ p50Ms, p95Ms, p99Ms }: LaneWaits): string {
  return [p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(1)).join(' / ')
}

function verdict(isReached: boolean): string {
  return isReached ? 'reached' : 'missed'
}
