// Counts durations into buckets for Prometheus, at the price of a few additions; takes no labels from a request.
import { Histogram, type MetricType, type Registry } from 'prom-client'

/** One labelled series of a histogram. */
export interface Series {
  /** Counts one value, in the unit of the bucket bounds. */
  observe(value: number): void
}

/** A histogram whose labelled series are found once and then counted into. */
export interface CheapHistogram<L extends string> {
  /** Makes the series of these labels. Call it once for each set of labels: a second series would be shown twice. */
  series(labels: Record<L, string>): Series
}

type Counted<L extends string> = {
  labels: Record<L, string>
  /** By bucket, the last one for what is over all bounds. */
  counts: number[]
  sum: number
}

type Options<L extends string> = {
  name: string
  help: string
  labelNames: readonly L[]
  /** Upper bounds, rising. */
  buckets: number[]
  registry: Registry
}

/**
 * Makes a histogram that validates labels once for each series: the library does so for every observation, which costs
 * more than counting it. Throws an Error when the registry has a metric of this name.
 */
export function cheapHistogram<L extends string>(options: Options<L>): CheapHistogram<L> {
  const { name, help, labelNames, buckets, registry } = options
  const all: Counted<L>[] = []
  const shown = new Histogram<L>({
    name,
    help,
    labelNames: [...labelNames],
    buckets,
    registers: [registry],
  })
  // The registry calls these methods for the values that the library would have counted by itself.
  const get = () =>
    Promise.resolve({
      name,
      help,
      type: 'histogram' as unknown as MetricType,
      aggregator: 'sum' as const,
      collect: () => undefined,
      values: all.flatMap((counted) => valuesOf(name, buckets, counted)),
    })
  Object.assign(shown, { get, getForPromString: get })
  return {
    series(labels) {
      const counted: Counted<L> = { labels, counts: Array(buckets.length + 1).fill(0), sum: 0 }
      all.push(counted)
      return {
        observe(value) {
          let bucket = 0
          while (bucket < buckets.length && value > (buckets[bucket] ?? 0)) bucket += 1
          counted.counts[bucket] = (counted.counts[bucket] ?? 0) + 1
          counted.sum += value
        },
      }
    },
  }
}

function valuesOf<L extends string>(name: string, buckets: number[], counted: Counted<L>) {
  const { labels: sharedLabels, counts, sum } = counted
  let total = 0
  const below = [...buckets, '+Inf'].map((le, index) => {
    total += counts[index] ?? 0
    return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: total }
  })
  return [
    ...below,
    { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels, value: total },
  ]
}
