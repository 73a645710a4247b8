// Reports whether JetStream answers for the stream. No process depends on it for its own readiness.
import { Gauge, type Registry } from 'prom-client'
import type { Nats } from './nats/nats.ts'

type Checked = Pick<Nats, 'checkStream'>

/** Whether JetStream answers for the stream, within 1.5 s. Never rejects. */
export async function streamAnswers(nats: Checked): Promise<boolean> {
  try {
    await nats.checkStream()
    return true
  } catch {
    return false
  }
}

/**
 * Registers the metric of `streamAnswers`, which is asked at each scrape. Throws an Error when the registry has one.
 */
export function jetStreamMetric(metrics: Registry, nats: Checked): void {
  void new Gauge({
    name: 'payweave_jetstream_up',
    help: '1 when JetStream answers for the stream; 0 when it does not answer, cannot be reached or has lost the stream.',
    registers: [metrics],
    async collect() {
      this.set((await streamAnswers(nats)) ? 1 : 0)
    },
  })
}
