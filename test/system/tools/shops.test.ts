// Starts each shop of examples/ as examples/README.md says, and is its customer: buys, pays, sees the push arrive, and takes the money back.
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { blocksOf, readPage, root } from '../../docs/pages.ts'
import { eventually } from '../../support/eventually.ts'
import { php } from '../../support/php.ts'
import { python } from '../../support/python.ts'
import { freePorts } from '../../support/servers.ts'
import { merchant, person, sharedMesh, strangersNumber, unique } from '../harness.ts'
import { internalTeam } from './grpc.ts'

const mesh = sharedMesh()
const team = internalTeam(mesh)
const page = 'examples/README.md'
/** Those of the tests, which may be others than those of the PATH. */
const interpreters = { python3: python, php }
/** One line of the page starts one shop. */
const commands = blocksOf(page).flatMap(({ code }) =>
  code
    .split('\n')
    .map((line) => line.replace(/\s*#.*/, ''))
    .filter((line) => line !== '')
    .map((line) => {
      const [, name = '', words = ''] = /^(\S+)(.*)$/.exec(line) ?? []
      const program = interpreters[name as keyof typeof interpreters]
      return { shop: shopOf(line), command: (program?.path ?? name) + words, program }
    })
    .filter(({ program }) => program?.missing === undefined),
)

function shopOf(line: string): string {
  return /examples\/([a-z-]+)/.exec(line)?.[1] ?? ''
}

const shops: ChildProcess[] = []
const dataDirs: string[] = []
afterAll(() => {
  // With what it started.
  for (const { pid = 0 } of shops) process.kill(-pid, 'SIGTERM')
  for (const dataDir of dataDirs) fs.rmSync(dataDir, { recursive: true })
  team.close()
})

it('every shop is started by the page, and its lines of code are those of the page', () => {
  const files = fs.globSync('examples/*/shop.{js,py,php}', { cwd: root })
  const counted = Object.fromEntries(
    files.map((file) => [path.relative('examples', file), count(file)]),
  )
  const rows = readPage(page).matchAll(/\]\((\S+\/shop\.\w+)\) \(([0-9]+) lines\)/g)
  const written = Object.fromEntries([...rows].map(([, file = '', lines]) => [file, Number(lines)]))
  expect(written).toEqual(counted)
  const started = blocksOf(page).flatMap(({ code }) => code.match(/examples\/[a-z-]+/g) ?? [])
  expect(started.toSorted()).toEqual(files.map((file) => path.dirname(file)).toSorted())
})

/** Lines that are neither empty nor a comment. */
function count(file: string): number {
  const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n')
  return lines.filter((line) => !/^\s*($|\/\/|#|\/?\*|""".*"""$)/.test(line)).length
}

/** Returns a data folder of a new merchant. A shop lists its last 20 payments, and other tests pay the merchant of the sandbox. */
async function dataDirOfNewMerchant(): Promise<string> {
  const { subscriptionKey } = merchant(mesh)
  const { apiKey } = await team.access.createMerchant({
    projectId: await team.projectId(subscriptionKey),
    businessName: unique('Shop'),
    mobileNumber: strangersNumber(),
  })
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-shop-'))
  dataDirs.push(dataDir)
  const { projects, ...rest } = mesh.sandbox
  const own = { ...projects, demo: { ...projects.demo, api_key: apiKey } }
  fs.writeFileSync(path.join(dataDir, 'sandbox.json'), JSON.stringify({ ...rest, projects: own }))
  return dataDir
}

/** Starts a shop; returns its address and what it has printed. */
async function openShop(command: string) {
  const [port = 0] = await freePorts(1)
  const dataDir = await dataDirOfNewMerchant()
  const env = { ...process.env, PAYWEAVE_DATA_DIR: dataDir, SHOP_PORT: String(port) }
  const child = spawn('sh', ['-c', command], { env, detached: true })
  shops.push(child)
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      printed += String(bytes)
    })
  }
  const url = `http://127.0.0.1:${port}`
  const said = () => printed
  const isOpen = new RegExp(`The shop is open: ${url}|Server \\(${url}\\) started`)
  await eventually(said, (text) => expect(text).toMatch(isOpen), 90_000)
  return { url, said }
}

/** Sends a form as a browser does, and does not follow the answer. */
function post(url: string, fields: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
}

async function pageOf(url: string): Promise<string> {
  const answer = await fetch(url)
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  return text
}

/** Sends a push that nobody has sent before; returns the status of the response. By default its payment does not exist. */
async function forgePush(
  url: string,
  order = 'order',
  payment = '01a1fc1d-3c7c-7a55-beb8-41051e057d99',
): Promise<number> {
  const headers = {
    'pw-delivery-id': `of ${payment}`,
    'pw-delivery-attempt': '1',
    'pw-event-id': 'e',
    'pw-payment-details-id': payment,
  }
  const body = `{"event_type":"payout_scheduled","transaction_id":"${order}","status":"SCHEDULED"}`
  return (await fetch(`${url}/webhook`, { method: 'POST', headers, body })).status
}

describe('a shop', { concurrent: true, timeout: 150_000 }, () => {
  it.each(commands)(
    'in $shop a customer buys, pays and is refunded; the order ships once, and a forged push ships nothing',
    async ({ command }) => {
      const { url, said } = await openShop(command)
      expect(await forgePush(url)).toBe(400)
      expect(said()).not.toContain('ship it')

      const [, order = ''] = /name="order" value="([^"]+)"/.exec(await pageOf(url)) ?? []
      const form = { order, mobile_number: person(1) }
      const bought = await post(`${url}/buy`, form)
      const payerUrl = bought.headers.get('location') ?? ''
      expect([bought.status, payerUrl]).toEqual([303, expect.stringContaining('/pay/')])
      expect(await pageOf(payerUrl)).toContain('25.00')
      const again = await post(`${url}/buy`, form)
      expect(again.headers.get('location')).toBe(payerUrl)
      await eventually(said, (text) => expect(text).toContain(`${order} is paid: ship it`))

      const row = (await pageOf(url)).split('<tr>').find((text) => text.includes(order))
      const [, payment = ''] = /name="payment" value="([^"]+)"/.exec(row ?? '') ?? []
      expect(await forgePush(url, order, payment)).toBe(204)
      const refunded = await post(`${url}/refund`, { payment })
      expect(refunded.status).toBe(303)
      await eventually(said, (text) => expect(text).toContain(`${order} is Refunded`))
      expect(said().split('ship it'), 'pushes that found the payment paid').toHaveLength(2)
      expect((await pageOf(url)).split('<tr>').find((text) => text.includes(order))).toContain(
        'Refunded',
      )
    },
  )
})
