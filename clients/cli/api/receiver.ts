// Receivers of pushes at the simulator of a sandbox, each with a tag of its own.
import { randomBytes } from 'node:crypto'
import { request } from 'undici'
import { type Json, jsonOf } from './api-call.ts'
import { eventually } from './eventually.ts'

export type ReceiverKind = 'ok' | 'fail' | 'flaky' | 'slow' | 'redirect' | 'gone'

/** A push as its receiver saw it. */
export type Push = {
  path: string
  headers: Record<string, string>
  body: string
  received_time: string
}

/**
 * A receiver at the simulator, with one address for notifies and one for callbacks. The functions that wait reject with
 * NotInTime, and all with undici's error when the simulator cannot be reached.
 */
export function receiverAt(simulatorUrl: string, kind: ReceiverKind = 'ok', signal?: AbortSignal) {
  // Random, because anyone who knows a tag can read its pushes.
  const tag = `cli-${randomBytes(16).toString('hex')}`
  const addressOf = (which: string) => `${simulatorUrl}/receivers/${kind}/${tag}-${which}`
  const log = (which: string) => receivedBy(simulatorUrl, `${tag}-${which}`, signal)
  return {
    /** `urls` of a payment request. */
    urls: { notify: addressOf('notify'), callback: addressOf('callback') },
    notifies: () => log('notify'),
    callbacks: () => log('callback'),
    /** Waits for the notify of this type. */
    awaitNotify: (type: string, withinMs?: number): Promise<Json> =>
      eventually(
        `notify ${type}`,
        async () => (await log('notify')).map(bodyOf).find((body) => body['event_type'] === type),
        { ...(withinMs !== undefined && { withinMs }), signal },
      ),
    /** Waits until there are this many callbacks. */
    calledBack: (count = 1, withinMs?: number): Promise<Push[]> =>
      eventually(
        `${count} callbacks`,
        async () => {
          const pushes = await log('callback')
          return pushes.length >= count ? pushes : undefined
        },
        { ...(withinMs !== undefined && { withinMs }), signal },
      ),
  }
}

export type Receiver = ReturnType<typeof receiverAt>

/** The JSON body of a push; an empty object when it is none. */
export function bodyOf({ body }: Push): Json {
  return jsonOf(body)
}

async function receivedBy(
  simulatorUrl: string,
  tag: string,
  signal?: AbortSignal,
): Promise<Push[]> {
  const url = `${simulatorUrl}/receivers/log?tag=${encodeURIComponent(tag)}`
  const answer = await request(url, signal === undefined ? {} : { signal })
  const { requests } = (await answer.body.json()) as { requests: Push[] }
  return requests
}
