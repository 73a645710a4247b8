// Lays out bars of a chart, which the template beside it draws as SVG: no script, no text that scales with it.

/** What a part of a bar means; style/parts.css has a colour for each. */
type Tone = 'good' | 'bad' | 'plain'

/** One bar: what a pointer on it says, and its parts from the bottom up. */
export type Bar = { title: string; parts: { tone: Tone; size: number }[] }

/** A chart: what it shows, in words for those who do not see it, its bars from the left, and words below them at equal distances. */
export type Chart = { label: string; bars: Bar[]; ticks?: string[] }

/** Height of the highest bar, and the width of each with the space to the next, in units of the picture. */
const height = 100
const step = 10
const barWidth = 8
/** Something is never drawn as nothing. */
const minHeight = 2

/** The rectangles of a chart. The highest bar fills its height; where all are zero there are none. */
export function rectanglesOf(chart: Chart) {
  const { bars } = chart
  const max = highestOf(chart)
  const drawn = bars.map(({ title, parts }, at) => {
    let top = height
    const rectangles = parts.flatMap(({ tone, size }) => {
      if (size <= 0) return []
      const part = Math.max(minHeight, Math.round((size / max) * height))
      top = Math.max(0, top - part)
      return [{ tone, x: at * step, y: top, width: barWidth, height: part }]
    })
    return { title, x: at * step, rectangles }
  })
  return { width: bars.length * step, height, step, drawn }
}

/** What the highest bar stands for: the sum of its parts. */
export function highestOf({ bars }: Chart): number {
  return Math.max(...bars.map(({ parts }) => parts.reduce((sum, { size }) => sum + size, 0)), 0)
}

/** How one value went, the oldest first; undefined where it is not known. */
export type Trend = { label: string; values: (number | undefined)[] }

/** The area below the values of a trend, of which the highest fills its height. */
export function areaOf({ values }: Trend): { width: number; height: number; path: string } {
  const max = Math.max(...values.map((value) => value ?? 0), 0)
  const steps = values.map((value = 0) => {
    const rise = max === 0 ? 0 : Math.round((value / max) * height)
    return `V${height - rise}h${step}`
  })
  return {
    width: Math.max(1, values.length) * step,
    height,
    path: `M0 ${height}${steps.join('')}V${height}z`,
  }
}
