// Acme Pay as its invented documentation says: debits and credits by reference, and signed webhooks, which it repeats.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { signatureOf } from '../../connectors/kit/domain/signature.ts'

export const webhookSecret = 'acme-webhook-secret-of-a-test'
export const apiKey = 'acme-api-key-of-a-test'

type Debit = { status: string; executions: number }

/** Acme with an account whose webhooks go to `webhookUrl()`. */
export async function startAcme(webhookUrl: () => string) {
  const debits = new Map<string, Debit>()
  const credits = new Map<string, number>()
  const posted = new Set<Promise<unknown>>()
  const closing = new AbortController()

  /** Posts an event for each status in order, each twice, the second time with the same id, until it is stored. */
  function announce(type: string, reference: string, ...statuses: string[]): void {
    const post = async (body: Buffer) => {
      while (!closing.signal.aborted) {
        const headers = { 'acme-signature': signatureOf(webhookSecret, body, Date.now()) }
        const answer = await fetch(webhookUrl(), { method: 'POST', headers, body }).catch(
          () => undefined,
        )
        if (answer?.ok === true) return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const postAll = async () => {
      for (const status of statuses) {
        const body = Buffer.from(JSON.stringify({ id: randomUUID(), type, reference, status }))
        await post(body)
        await post(body)
      }
    }
    const all = postAll()
    posted.add(all)
    void all.finally(() => posted.delete(all))
  }

  function debit(reference: string, pin: string): string {
    const known = debits.get(reference)
    if (known !== undefined) return known.status
    const status = { '1111': 'paid', '3333': 'pending' }[pin] ?? 'refused'
    debits.set(reference, { status, executions: status === 'refused' ? 0 : 1 })
    if (status === 'pending') {
      debits.set(reference, { status: 'paid', executions: 1 })
      setTimeout(() => announce('debit.ended', reference, 'settling', 'paid'), 50)
    }
    return status
  }

  function settle(reference: string): string {
    const known = debits.get(reference) ?? { status: 'void', executions: 0 }
    debits.set(reference, known)
    return known.status
  }

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, body } = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const server = createServer((request, response) => void respond(request, response))

  async function answer(request: IncomingMessage): Promise<{ status: number; body: object }> {
    if (request.headers.authorization !== `Bearer ${apiKey}`) return { status: 401, body: {} }
    const [, kind, reference = ''] = (request.url ?? '').split('/')
    const text = Buffer.concat(await request.toArray()).toString()
    const fields = text === '' ? {} : (JSON.parse(text) as Record<string, string>)
    if (kind === 'debits') {
      const isDebit = request.method === 'PUT'
      const status = isDebit ? debit(reference, fields['pin'] ?? '') : settle(reference)
      return { status: 200, body: { status } }
    }
    const times = (credits.get(reference) ?? 0) + 1
    credits.set(reference, times)
    // The first call of each is not answered well, though it may have been executed.
    if (times === 1) return { status: 503, body: {} }
    const isFailed = fields['mobile_number'] === '+12025550199' || fields['minor_units'] === '1299'
    announce('credit.ended', reference, 'settling', isFailed ? 'failed' : 'completed')
    return { status: 202, body: { status: 'pending' } }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    announce,
    async close() {
      closing.abort()
      await Promise.allSettled(posted)
      server.closeAllConnections()
      server.close()
    },
  }
}
