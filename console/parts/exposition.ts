// Reads metrics in the Prometheus text format, as far as our own processes write it.

/** One value with its labels. */
export type Sample = { metric: string; labels: Readonly<Record<string, string>>; value: number }

/** The values of the wanted metrics. Skips comments, invalid lines and lines without a number. */
export function parseExposition(text: string, wanted: ReadonlySet<string>): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, metric = '', labels = '', value = ''] =
      /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const isWanted = wanted.has(metric) && Number.isFinite(Number(value))
    return isWanted ? [{ metric, labels: labelsOf(labels), value: Number(value) }] : []
  })
}

function labelsOf(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value]))
}
