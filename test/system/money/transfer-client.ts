// What system tests do as a client that makes institution transactions: sealed tokens, both sides, by HTTP alone.
import { createCipheriv, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { SharedMesh } from '../../support/mesh.ts'
import { accountClient, newProfile } from '../accounts/account-client.ts'
import { client, type Holder, institution_name, numberOf } from '../accounts/customer.ts'
import { type ApiResponse, type Json, unique } from '../harness.ts'

/** Seals a session token as a client does, with the institution's shared key. */
export function seal({ sandbox }: Pick<SharedMesh, 'sandbox'>, token: string): string {
  const { key_id, shared_key } = sandbox.institutions[institution_name]
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(shared_key, 'base64'), iv)
  cipher.setAAD(Buffer.from('session_token'))
  const sealed = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()])
  const head = Buffer.concat([Buffer.from([1]), Buffer.from(key_id, 'hex'), iv])
  return Buffer.concat([head, sealed, cipher.getAuthTag()]).toString('base64')
}

/** A client of one project that moves money of people of the sandbox. */
export function transferClient(
  mesh: Pick<SharedMesh, 'sandbox'>,
  project: Parameters<typeof client>[1] = 'demo',
) {
  const { call, session, quote, readQuote } = client(mesh, project)
  const get = (transaction_id: unknown, more: Json = {}): Promise<ApiResponse> =>
    call('GET', '/institution/transaction', {
      query: { transaction_id: String(transaction_id), institution_name, ...more },
    })
  const post = (body: unknown): Promise<ApiResponse> =>
    call('POST', '/institution/transaction', { body })
  return {
    call,
    session,
    quote,
    readQuote,
    post,
    get,
    /** The body of a p2p transaction of 1.00 from one holder to another, with a new session of the former. */
    async order(from: Holder, to: Holder, more: Json = {}): Promise<Json> {
      return {
        session_token_enc: seal(mesh, await session(from)),
        transaction_id: unique('transfer'),
        amount: '1.00',
        transaction_type: 'p2p',
        debit_party: { mobile_number: numberOf(from) },
        credit_party: { mobile_number: numberOf(to) },
        transfer_information: { institution_name },
        ...more,
      }
    },
    /** The available balance of a holder. */
    async balance(holder: Holder): Promise<string> {
      const mobile_number = numberOf(holder)
      const answer = await call('GET', '/account/balance', { query: { mobile_number } })
      expect(answer.status, answer.text).toBe(200)
      return String(answer.body['balance'])
    },
    /** The transaction once it has the status. */
    becomes: (transaction_id: unknown, status: string, withinMs?: number): Promise<ApiResponse> =>
      eventually(
        () => get(transaction_id),
        (answer) => expect(answer.body['transaction_status'], answer.text).toBe(status),
        withinMs,
      ),
    history: (mobile_number: string, more: Record<string, string> = {}): Promise<ApiResponse> =>
      call('GET', '/institution/transaction_history', { query: { mobile_number, ...more } }),
  }
}

/** Opens an account that no other test uses, with an amount of person 00 on it, and returns its number. */
export async function newCustomer(
  mesh: Pick<SharedMesh, 'sandbox'>,
  amount: string,
): Promise<string> {
  const { order, post, session } = transferClient(mesh)
  const profile = newProfile()
  const made = await accountClient(mesh).personal(profile)
  expect(made.status, made.text).toBe(200)
  const { mobile_number } = profile
  await eventually(() => session(mobile_number))
  const gift = await post(await order(0, mobile_number, { amount }))
  expect(gift.status, gift.text).toBe(200)
  return mobile_number
}

/** Two decimals as cents. */
export function cents(amount: string): number {
  return Math.round(Number(amount) * 100)
}
