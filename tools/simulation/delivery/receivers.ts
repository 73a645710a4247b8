// The receivers of pushes: they accept, refuse, do not answer, or answer and are not heard.
import type { PostEnd } from '../../../services/delivery/domain/delivery.ts'
import type { Poster } from '../../../services/delivery/ports/post.ts'
import type { Process } from '../engine/scheduler.ts'
import type { Simulation } from '../simulation.ts'

/** A POST on its way. */
type Sent = {
  url: string
  deliveryId: string
  number: number
  body: string
  /** Attempts of its delivery that the table knew when it was sent; undefined without a row. */
  recorded: number | undefined
}

/** A POST that has come to a receiver. */
export type Received = Omit<Sent, 'url'> & { isAccepted: boolean }

export type Receivers = {
  /** What a process posts with. */
  poster(process: Process): Poster
  received: Received[]
}

const attemptsText = 'select attempts from delivery.delivery where delivery_id = $1'
const timeoutMs = 5_000

/** Receivers that have got nothing yet. */
export function createReceivers(simulation: Simulation): Receivers {
  const { scheduler, network, server, plan, targeted } = simulation
  const { random } = scheduler
  const received: Received[] = []

  function arrive({ url, deliveryId, number, body, recorded }: Sent): number {
    const isRefused = scheduler.nowMs() < plan.faultsMs && random.next() < plan.refusedShare
    const status = isRefused ? random.pick([500, 503, 429]) : 200
    received.push({ deliveryId, number, body, isAccepted: status === 200, recorded })
    scheduler.record('receiver', `${url} attempt ${number} of ${deliveryId}: ${status}`)
    return status
  }

  function post(
    process: Process,
    url: string,
    body: Buffer,
    signal: AbortSignal,
    headers: Headers,
  ): Promise<PostEnd> {
    const beganMs = scheduler.nowMs()
    return new Promise((resolve) => {
      const end = (what: Omit<PostEnd, 'totalMs'>) => {
        cancel()
        resolve({ ...what, totalMs: Math.round(scheduler.nowMs() - beganMs) })
      }
      signal.addEventListener('abort', () => end({ outcome: 'unknown' }))
      const late = () => end({ outcome: 'timed_out', error: 'timeout' })
      const cancel = scheduler.after(timeoutMs, late, process)
      const deliveryId = headers['PW-delivery-id'] ?? ''
      const number = Number(headers['PW-delivery-attempt'])
      const sent: Sent = { url, deliveryId, number, body: body.toString(), recorded: undefined }
      scheduler.after(0, async () => {
        const [row] = await server.read<{ attempts: number }>(attemptsText, [deliveryId])
        sent.recorded = row?.attempts
        targeted.onCall?.(process)
      })
      if (network.isLost('message')) return
      scheduler.after(network.delayMs('receiver'), () => {
        const status = arrive(sent)
        if (network.isLost('message')) return
        const isSlow = scheduler.nowMs() < plan.faultsMs && random.next() < plan.slowPostShare
        const tookMs = isSlow ? random.next() * timeoutMs : network.delayMs('receiver')
        const outcome = status === 200 ? 'delivered' : 'refused'
        const answer = () => end({ outcome, status, peerAddress: '192.0.2.1' })
        scheduler.after(tookMs, answer, process)
      })
    })
  }

  return {
    received,
    poster: (process) => ({
      post: (url, body, signal, headers = {}) => post(process, url, body, signal, headers),
      close: async () => undefined,
    }),
  }
}

type Headers = Record<string, string>
