// Compares tables of pages with the code: docs/integrate/states.md, docs/integrate/payouts-and-fees.md, docs/operate/data-protection.md.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { formatAmount } from '#core/money/money.ts'
import { describeSettings } from '#platform/config/config.ts'
import { feeSchedule as feeScheduleReader } from '#platform/config/values.ts'
import { localCommands } from '../../clients/cli/main.ts'
import { portableCommands } from '../../clients/cli/portable-commands.ts'
import { addresses } from '../../deploy/local/start-summary.ts'
import { chargeMinor } from '../../services/payments/domain/fees.ts'
import {
  draftPayment,
  type NewPayment,
  toPayment,
} from '../../services/payments/domain/new-payment.ts'
import {
  payerMachine,
  paymentMachine,
  payoutMachine,
} from '../../services/payments/domain/payment.ts'
import { feeMovements } from '../../services/payments/domain/request-end.ts'
import { readPage, root } from './pages.ts'

const states = readPage('docs/integrate/states.md')
const machines: Record<string, Record<string, Readonly<Partial<Record<string, string>>>>> = {
  Payment: paymentMachine,
  Payer: payerMachine,
  Payout: payoutMachine,
}

describe('the page of states', () => {
  it.each(Object.entries(machines))('has every transition of the machine %s', (name, machine) => {
    const [, section = ''] = states.split(`\n## ${name}\n`)
    const [own = ''] = section.split('\n## ')
    const shown = [...own.matchAll(/^\| `(\w+)`[^|]* \| `(\w+)` \|/gm)].map(
      ([, from, to]) => `${from} ${to}`,
    )
    const known = Object.entries(machine).flatMap(([from, steps]) =>
      Object.values(steps).map((to) => `${from} ${to}`),
    )
    expect(shown.toSorted()).toEqual(known.toSorted())
  })
})

describe('the page of fees', () => {
  const page = readPage('docs/integrate/payouts-and-fees.md')
  const schedule = feeScheduleReader.read(
    /FEE_SCHEDULE=(\{.*\})/.exec(describeSettings('payments', { PAYWEAVE_ENV: 'local' }))?.[1] ??
      '',
  )
  const rows = [
    ...page.matchAll(/^\| ([01]) \| (\d*) ?\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/gm),
  ]

  it('shows the default fees', () => {
    const shown = [...page.matchAll(/^\| `(\w+)` \|[^|]+\| ([\d.]+) % \|$/gm)].map(
      ([, name, percent]) => [name, percent],
    )
    expect(Object.fromEntries(shown)).toEqual({
      card_processing: schedule.cardProcessingPercent,
      agent_processing: schedule.agentProcessingPercent,
      platform_processing: schedule.platformProcessingPercent,
      convenience: schedule.conveniencePercent,
    })
  })

  it('has an example of each way to bear the fees', () => expect(rows).toHaveLength(4))

  it.each(rows)('the example %s is what the code computes', (...cells) => {
    const [, paysFees, covers, payees, payerPays, payout, owed] = cells
    const person = { mobileNumber: '+12025550101', mobileNumberE164: '+12025550101' }
    const request: NewPayment = {
      projectId: 'p',
      merchantId: 'm',
      transactionId: 't',
      amountMinor: 10_000n,
      currency: 'USD',
      description: '',
      fraudCheck: false,
      feeTerms: { paysFees: paysFees === '1', payerCoversPercent: Number(covers || '100') },
      payers: [
        {
          ...person,
          firstName: '',
          lastName: '',
          email: '',
          paymentChannel: 'payment_link',
          paymentMethod: 'card',
          amountMinor: 0n,
        },
      ],
      payees: payees === 'none' ? [] : [{ ...person, amountMinor: 10_000n, delayDays: 0 }],
      urls: { success: '', error: '', notify: '', callback: '' },
      fingerprint: new Uint8Array(32),
    }
    const made = draftPayment(
      request,
      { merchantId: 'm', businessName: 'Shop', mobileNumber: '+12025550199' },
      {
        feeSchedule: schedule,
        timesToPayS: { agent: 1, direct_pos: 1, payment_link: 1 },
        linkKeyId: 'a1b2c3d4',
      },
    )
    const payment = toPayment(made, new Date(0))
    const amounts = [
      ...payment.payers.map(chargeMinor),
      ...payment.payees.map(({ netMinor }) => netMinor),
      feeMovements(payment).billedMinor,
    ]
    expect(amounts.map((minor) => formatAmount(minor, 'USD'))).toEqual([payerPays, payout, owed])
  })
})

describe('the page of personal data', () => {
  const rows = readPage('docs/operate/data-protection.md').matchAll(
    /^\| (.+) \| (\d+ \w+) \| `(.+)` \|$/gm,
  )

  it.each([...rows].map(([, data, kept, file]) => ({ data, kept, file })))(
    '$data: kept for $kept',
    ({ kept = '', file = '' }) => {
      const source = fs.readFileSync(path.join(root, file), 'utf8')
      expect(source).toMatch(new RegExp(`(clock|business)_now\\(\\) - interval '${kept}'`))
    },
  )

  it('has the times of every statement that deletes by age', () => {
    const shown = readPage('docs/operate/data-protection.md')
    const stores = fs.globSync('{services,platform,connectors}/**/*-store.ts', { cwd: root })
    const missing = stores.flatMap((file) => {
      const source = fs.readFileSync(path.join(root, file), 'utf8')
      const times = source.matchAll(
        /< (?:clock|business)_now\(\) - interval '(\d+ (?:hours|days))'/g,
      )
      return [...times]
        .map(([, kept]) => `| ${kept} | \`${file}\` |`)
        .filter((row) => !shown.includes(row))
    })
    expect(missing).toEqual([])
  })
})

it('the page of the services over gRPC has the packages of each', () => {
  const rows = readPage('docs/grpc/README.md').matchAll(/^\| (\w+) \| 71\d\d \| (.+) \|$/gm)
  const shown = [...rows].filter(([, name]) => name !== 'simulator')
  expect(shown).toHaveLength(6)
  for (const [, name = '', cell = ''] of shown) {
    const packages = [...cell.matchAll(/`([^`]+)`/g)].map(([, one]) => one)
    const source = readPage(`services/${name}/main.ts`)
    const served = [...source.matchAll(/router\.service\(\s*(\w+)/g)].map(([, service]) => service)
    const imports = source.matchAll(/import \{([^}]+)\} from '#gen\/(payweave\/\w+\/v1)\//g)
    const known = [...imports].flatMap(([, names = '', folder = '']) =>
      served.some((service) => names.includes(` ${service} `)) ? [folder.replaceAll('/', '.')] : [],
    )
    expect(new Set(packages), name).toEqual(new Set(known))
  }
})

it('the README shows every place that a start prints', () => {
  const printed = addresses({ base_url: 'http://127.0.0.1:8080' }, '.payweave', 'http://c')
  const namesOf = (text: string) =>
    [...text.matchAll(/^ {2}([\w ]+?) {2,}\S/gm)].map(([, name]) => name)
  const [, shown = ''] = /\n  …\n(.*?)```/s.exec(readPage('README.md')) ?? []
  expect(namesOf(shown)).toEqual(namesOf(printed))
})

it('no text for receivers says that the id of a push identifies a payment', () => {
  const files = [
    ...fs.globSync('docs/**/*.{md,json}', { cwd: root }),
    ...fs.globSync('clients/sdk-*/{*,payweave/*,types/*}.{md,ts,py}', { cwd: root }),
  ]
  expect(files.length).toBeGreaterThan(100)
  const isWrong = (file: string) =>
    /dedup\w* by (it|\W*PW-delivery-id)/i.test(fs.readFileSync(path.join(root, file), 'utf8'))
  expect(files.filter(isWrong)).toEqual([])
})

it('the page of the command line names every command that its package lacks', () => {
  const [, sentence = ''] =
    /all commands but those that work on[^:]+:([^.]+)\./.exec(readPage('docs/operate/cli.md')) ?? []
  const packed = new Set(portableCommands.map(({ name }) => name.split(' ')[0]))
  const lacking = localCommands.map(({ name }) => {
    const [group = ''] = name.split(' ')
    return packed.has(group) ? name : group
  })
  const named = sentence.match(/`[^`]+`/g)?.map((word) => word.slice(1, -1)) ?? []
  expect(named.toSorted()).toEqual([...new Set(lacking)].toSorted())
})

it('the fields of the glossary for merchants are in the documents of the API', () => {
  const documents = ['2024-10-01', '2026-07-01', '2026-12-01', 'asyncapi']
  const text = documents.map((name) => readPage(`docs/openapi/${name}.json`)).join('\n')
  const rows = readPage('docs/guides/glossary.md').matchAll(/^\| .+ \| .+ \|(.*)\|$/gm)
  const fields = [...rows].flatMap(([, cell = '']) => cell.match(/`[^`]+`/g) ?? [])
  expect(fields.length).toBeGreaterThan(50)
  const isThere = (field: string) => {
    const name = field.replaceAll(/`|\[\]/g, '').replace(/^(.*\.|POST )/, '')
    return text.includes(name.endsWith('…') ? `"${name.slice(0, -1)}` : `"${name}"`)
  }
  expect(fields.filter((field) => !isThere(field))).toEqual([])
})
