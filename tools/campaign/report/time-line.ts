// Draws the time line of a campaign as SVG: faults as bars, and below them answers, failures and pushes of each second.
import type { Outcome } from '../campaign.ts'
import { isBad } from '../check/answers.ts'
import { recoveredS } from '../check/recovery.ts'
import { escaped } from './html.ts'

const secondPx = 3
const rowPx = 14
const chartPx = 60
const gapPx = 8

/** The picture; as wide as the campaign was long. */
export function timeLine({ beganMs, endedMs, steps, records }: Outcome): string {
  const seconds = Math.max(1, Math.ceil((endedMs - beganMs) / 1_000))
  const xOf = (ms: number) => (((ms - beganMs) / 1_000) * secondPx).toFixed(1)
  const perSecond = (times: number[]): number[] => {
    const counts = Array.from({ length: seconds }, () => 0)
    for (const ms of times) {
      const second = Math.floor((ms - beganMs) / 1_000)
      if (counts[second] !== undefined) counts[second] += 1
    }
    return counts
  }
  const rows = Math.max(1, ...steps.map(({ faults }) => faults.length))
  const bars = steps.flatMap(({ number, faults, beganMs: from, overMs: to, recoveries }) =>
    faults.map(({ title }, row) => {
      const answersS = recoveredS({ recoveries })
      const width = Math.max(secondPx, ((to - from) / 1_000) * secondPx)
      const rest = answersS * secondPx
      const y = row * rowPx + 2
      return `<g><title>step ${number}: ${escaped(title)}; requests succeed ${answersS.toFixed(1)} s after its end</title>
<rect class="fault" x="${xOf(from)}" y="${y}" width="${width.toFixed(1)}" height="${rowPx - 4}"/>
<rect class="recovery" x="${(Number(xOf(from)) + width).toFixed(1)}" y="${y}" width="${rest.toFixed(1)}" height="${rowPx - 4}"/></g>`
    }),
  )
  const tries = records.operations.flatMap((operation) => operation.tries)
  const charts = [
    {
      name: 'answers',
      counts: perSecond(tries.filter((one) => !isBad(one)).map(({ endMs }) => endMs)),
    },
    { name: 'failures', counts: perSecond(tries.filter(isBad).map(({ endMs }) => endMs)) },
    { name: 'pushes', counts: perSecond(records.pushes.map(({ receivedMs }) => receivedMs)) },
  ]
  const top = rows * rowPx + gapPx
  const drawn = charts.map(({ name, counts }, index) =>
    chart(name, counts, top + index * (chartPx + gapPx)),
  )
  const height = top + charts.length * (chartPx + gapPx) + rowPx
  const minutes = Array.from({ length: Math.floor(seconds / 60) + 1 }, (_, minute) => {
    const x = minute * 60 * secondPx
    return `<text x="${x + 2}" y="${height - 3}">${minute} min</text><line class="minute" x1="${x}" x2="${x}" y1="0" y2="${height}"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Time line of faults, answers, failures and pushes"
width="${seconds * secondPx}" height="${height}">
${[...minutes, ...bars, ...drawn].join('\n')}
</svg>`
}

function chart(name: string, counts: number[], top: number): string {
  const max = Math.max(1, ...counts)
  const bars = counts.flatMap((value, second) => {
    if (value === 0) return []
    const height = (value / max) * chartPx
    return [
      `M${second * secondPx} ${top + chartPx}v-${height.toFixed(1)}h${secondPx}v${height.toFixed(1)}z`,
    ]
  })
  return `<path class="${name}" d="${bars.join('')}"/><text x="2" y="${top + 10}">${name} each second, at most ${max}</text>`
}
