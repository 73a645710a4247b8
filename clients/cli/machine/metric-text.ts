// Parses the Prometheus text of a process's metrics.

/** One sample. */
export type Sample = { name: string; labels: Readonly<Record<string, string>>; value: number }

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/

/** The samples of a text in the Prometheus exposition format; other lines are skipped. */
export function readSamples(text: string): Sample[] {
  return text.split('\n').flatMap((row) => {
    const [, name, labels = '', value] = line.exec(row) ?? []
    const isSample = name !== undefined && !Number.isNaN(Number(value))
    return isSample ? [{ name, labels: labelsOf(labels), value: Number(value) }] : []
  })
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
    ]),
  )
}

/** The sum of a metric's values with these labels; undefined when there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = valuesOf(samples, name, labels)
  return found.length === 0 ? undefined : found.reduce((all, value) => all + value, 0)
}

/** The smallest value of a metric; undefined when there is none. */
export function minOf(samples: readonly Sample[], name: string): number | undefined {
  const found = valuesOf(samples, name, {})
  return found.length === 0 ? undefined : Math.min(...found)
}

/** The largest value of a metric; undefined when there is none. */
export function maxOf(samples: readonly Sample[], name: string): number | undefined {
  const found = valuesOf(samples, name, {})
  return found.length === 0 ? undefined : Math.max(...found)
}

function valuesOf(samples: readonly Sample[], name: string, labels: Record<string, string>) {
  const wanted = Object.entries(labels)
  return samples
    .filter((one) => one.name === name && wanted.every(([key, value]) => one.labels[key] === value))
    .map(({ value }) => value)
}
