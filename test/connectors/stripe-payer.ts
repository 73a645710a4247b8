// A payer at the card form of the Stripe connector: does what its script does, with a simulated Stripe in place of Stripe.js.
import { randomUUID } from 'node:crypto'
import { eventually } from '../support/eventually.ts'
import type { startStripe } from './stripe-mock.ts'

type Stripe = Awaited<ReturnType<typeof startStripe>>

/** What the form says of an attempt. */
export type FormOutcome = {
  outcome: 'processing' | 'action' | 'paid' | 'refused'
  message?: string
}

/** What the script of the form is given. */
export function settingsOf(html: string): Record<string, unknown> {
  const [, text = ''] = /data-settings="([^"]*)"/.exec(html) ?? []
  const plain = text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
  return JSON.parse(plain) as Record<string, unknown>
}

/** A payer at an open form. */
export function payerAt(stripe: Stripe, formUrl: string) {
  const { origin, pathname, search } = new URL(formUrl)
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const call = body && { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${origin}${pathname}/attempts${path}`, call)
    if (!response.ok) throw new Error(`the form answered ${response.status}`)
    return await response.json()
  }
  const payer = {
    /** Sends the card; the form has its token only. */
    send: (number: string, attemptId: string = randomUUID()) =>
      ask('', { attempt_id: attemptId, confirmation_token: `ctoken_${number}` }).then(
        () => attemptId,
      ),
    look: (attemptId: string) =>
      ask(`/${attemptId}${search || '?'}&enquire=1`) as Promise<FormOutcome>,
    /** The client secret with which Stripe.js asks the payer; undefined when nothing is asked. */
    secret: async (attemptId: string) =>
      ((await ask(`/${attemptId}/action`, {})) as { client_secret?: string }).client_secret,
    /** Waits until the attempt asks for something or has ended. */
    settled: (attemptId: string) =>
      eventually(async () => {
        const found = await payer.look(attemptId)
        return found.outcome !== 'processing' && found
      }),
    /** Pays, and answers the bank as asked, until the attempt has ended. */
    async pay(number: string, answersBank = true): Promise<FormOutcome> {
      const attemptId = await payer.send(number)
      const found = await payer.settled(attemptId)
      if (found.outcome !== 'action') return found
      stripe.authenticate((await payer.secret(attemptId)) ?? '', answersBank)
      return eventually(async () => {
        const ended = await payer.look(attemptId)
        return (ended.outcome === 'paid' || ended.outcome === 'refused') && ended
      })
    },
  }
  return payer
}
