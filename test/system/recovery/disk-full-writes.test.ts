// Every route that writes, while PostgreSQL refuses one table after the other for a full disk: 503 and never 500, and the repeat succeeds.
import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schemaOwners } from '#platform/db/schemas.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { callbackReceiver, dataOf, newProfile } from '../accounts/account-client.ts'
import { institution_name } from '../accounts/customer.ts'
import { type ApiResponse, type Json, merchant, order, person, unique } from '../harness.ts'
import { transferClient } from '../money/transfer-client.ts'

let mesh: Mesh
let database: Client

beforeAll(async () => {
  mesh = await startMesh({
    name: 'disk-full-writes',
    settings: { RATE_LIMIT_RPS: '10000', SESSION_LOOKUPS_PER_MIN: '100000' },
  })
  database = new Client({ connectionString: mesh.databaseUrl() })
  await database.connect()
  await database.query(`
    create schema full_disk;
    grant usage on schema full_disk to public;
    create function full_disk.refuse() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`)
})
afterAll(async () => {
  await database.end()
  await mesh.remove()
})

/** Creates what a request needs and returns a function that sends it; each call sends the same request. */
type Prepare = () => Promise<() => Promise<ApiResponse>>

function writingRoutes(): Record<string, Prepare> {
  const shop = merchant(mesh)
  const client = transferClient(mesh)
  const post = (path: string, body: Json, more: Parameters<typeof shop.call>[2] = {}) =>
    shop.call('POST', path, { body, ...more })
  return {
    'POST /payments/request': async () => {
      const transaction = order()
      return () => shop.request(transaction)
    },
    'POST /payments/cancel': async () => {
      const { id } = await shop.create(order())
      return () => shop.cancel(id)
    },
    'POST /account/account_session': async () => {
      const headers = { 'PW-request-id': randomUUID() }
      const body = { lookup_type: 'MOBILE', lookup_value: person(5), institution_name }
      return () => post('/account/account_session', body, { headers })
    },
    'POST /account/personal_account': async () => {
      const body = newProfile()
      return () => post('/account/personal_account', body)
    },
    'POST /account/business_account': async () => {
      const { institution_name: _, ...person } = newProfile()
      const body = { ...person, business_name: unique('shop') }
      return () => post('/account/business_account', body)
    },
    'POST /account/register_account': async () => {
      const session_token = await client.session(5)
      const named = await shop.call('POST', '/account/account_session', {
        headers: { 'PW-request-id': randomUUID() },
        body: { lookup_type: 'MOBILE', lookup_value: person(5), institution_name },
      })
      const [first_name, last_name] = String(
        (dataOf(named)['account'] as Json)['display_name'],
      ).split(' ')
      const callback = callbackReceiver(mesh).asked
      const owner = { mobile_number: person(5), institution_name, first_name, last_name }
      const body = { ...owner, session_token, ...callback }
      return () => post('/account/register_account', body)
    },
    'POST /quote': async () => {
      const token = await client.session(0)
      return () => client.quote(token)
    },
    'POST /institution/quote': async () => {
      const token = await client.session(5)
      return () => client.quote(token, {}, '/institution/quote')
    },
    'POST /institution/transaction': async () => {
      const body = await client.order(0, 1)
      return () => client.post(body)
    },
    'POST /bill_payments/pay': async () => {
      const headers = { 'Idempotency-Key': unique('key') }
      const body = {
        biller_code: 'DEMO_POWER',
        product_code: 'PREPAID',
        amount: '1.00',
        currency: 'USD',
        customer_reference: '12345678',
        external_reference: unique('order'),
      }
      return () => post('/bill_payments/pay', body, { headers, query: { version: '2026-07-01' } })
    },
  }
}

/** The tables of the services, partitions aside: their parents stand for them. */
async function tables(): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind in ('r', 'p') and not c.relispartition
     order by 1`,
    // No route writes what people do in the console.
    [schemaOwners.filter((owner) => owner !== 'console')],
  )
  return rows.map(({ name }) => name)
}

async function whileFull(table: string, work: () => Promise<void>): Promise<void> {
  await database.query(
    `create trigger full_disk before insert or update or delete on ${table}
     for each statement execute function full_disk.refuse()`,
  )
  try {
    await work()
  } finally {
    await database.query(`drop trigger full_disk on ${table}`)
  }
}

it('each answers 503 while a table of its cannot grow, and the same request succeeds after', async () => {
  const routes = Object.entries(writingRoutes())
  const refused = new Map(routes.map(([name]) => [name, new Set<string>()]))
  const wrong: string[] = []
  for (const table of await tables()) {
    const sends = await Promise.all(
      routes.map(async ([name, prepare]) => [name, await prepare()] as const),
    )
    const repeats: typeof sends = []
    await whileFull(table, async () => {
      for (const [name, send] of sends) {
        const { status, headers, body, text } = await send()
        // A table that the route does not write, or not for its answer.
        if (status < 300) continue
        refused.get(name)?.add(table)
        repeats.push([name, send])
        const isGood =
          status === 503 &&
          headers.get('retry-after') !== null &&
          [undefined, 'SERVICE_UNAVAILABLE'].includes(body['errorCode'] as string | undefined)
        if (!isGood) wrong.push(`${name} with ${table}: ${status} ${text}`)
      }
    })
    for (const [name, send] of repeats) {
      const { status, body, text } = await send()
      // A bill payment whose outcome could not be written keeps its claim until the lease ends: its biller may have been paid.
      const isClaimed =
        table.startsWith('billing.') &&
        name === 'POST /bill_payments/pay' &&
        body['errorCode'] === 'IDEMPOTENCY_KEY_IN_PROGRESS'
      if (status >= 300 && !isClaimed) wrong.push(`${name} after ${table}: ${status} ${text}`)
    }
  }
  expect(wrong).toEqual([])
  expect(refused.get('POST /payments/cancel')).toContain('payments.payment')
  for (const [name, found] of refused) expect(found.size, name).toBeGreaterThan(0)
}, 400_000)
