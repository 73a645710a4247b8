// The commands on merchants, but for the preview of their payers' pages.
import { readFileSync } from 'node:fs'
import {
  CreateMerchantResponseSchema,
  type Merchant,
  MerchantSchema,
} from '#gen/payweave/accounts/v1/access_pb.js'
import {
  type AccessWork,
  namingOptions,
  once,
  onceOption,
  oneOperand,
  projectNamed,
  projectOption,
  withAccess,
} from '../access.ts'
import type { Command, CommandContext } from '../command.ts'
import { jsonLine, printable } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'

const brandingOptions = {
  color: 'colour of buttons and links such as #0b57d0; none: the default one',
  logo: 'PNG file of at most 64 KiB and 512 pixels a side; none: no logo',
  'support-email': 'e-mail address for payers; none: removes it',
  'support-phone': 'phone number for payers, E.164 with plus sign; none: removes it',
  website: 'https URL of the website; none: removes it',
} as const

/** The commands of `merchant`. */
export const merchantCommands: Command[] = [
  {
    name: 'merchant create',
    operands: '<business name>',
    summary: 'Creates a merchant with its first API key.',
    options: {
      ...namingOptions,
      ...projectOption,
      mobile: 'its phone number, E.164 with plus sign',
      ...onceOption,
    },
    run: (context) => withAccess(context, createMerchant),
  },
  {
    name: 'merchant list',
    operands: '',
    summary: 'Lists the merchants of a project, oldest first.',
    example: 'merchant list --project demo',
    options: { ...namingOptions, ...projectOption, limit: 'maximum number (50)' },
    run: (context) => withAccess(context, listMerchants),
  },
  {
    name: 'merchant show',
    operands: '<merchant>',
    summary: 'Shows a merchant, by UUID, and how its pages look.',
    options: { ...namingOptions, ...projectOption },
    run: (context) => withAccess(context, showMerchant),
  },
  {
    name: 'merchant update',
    operands: '<merchant>',
    summary:
      'Changes how pages and receipts of a merchant look; an omitted option changes nothing.',
    options: { ...namingOptions, ...projectOption, ...brandingOptions },
    run: (context) => withAccess(context, updateMerchant),
  },
]

const showMerchant: AccessWork = async (context, access) => {
  const merchantId = oneOperand(context, 'merchant')
  const projectId = await projectNamed(context, access)
  printMerchant(context, (await access.getMerchant({ projectId, merchantId })).merchant)
}

const updateMerchant: AccessWork = async (context, access) => {
  const merchantId = oneOperand(context, 'merchant')
  const { paths, values } = wantedBranding(context)
  const projectId = await projectNamed(context, access)
  const request = { projectId, merchantId, ...values, updateMask: { paths } }
  printMerchant(context, (await access.updateMerchant(request)).merchant)
}

/** The fields of the request that the options change. */
function wantedBranding({ options }: CommandContext) {
  const texts = {
    color: options['color'],
    support_email: options['support-email'],
    support_phone: options['support-phone'],
    website_url: options['website'],
    logo_png: options['logo'],
  }
  const paths = Object.entries(texts).flatMap(([path, text]) => (text === undefined ? [] : [path]))
  if (paths.length === 0) {
    throw new UsageError(
      `pass ${Object.keys(brandingOptions)
        .map((name) => `--${name}`)
        .join(', ')}`,
    )
  }
  const logo = given(texts.logo_png)
  const values = {
    color: given(texts.color),
    supportEmail: given(texts.support_email),
    supportPhone: given(texts.support_phone),
    websiteUrl: given(texts.website_url),
    logoPng: logo === '' ? new Uint8Array() : readFileSync(logo),
  }
  return { paths, values }
}

/** What an option gives a merchant: nothing for "none". */
function given(text = ''): string {
  return text === 'none' ? '' : text
}

function printMerchant({ json, print }: CommandContext, merchant: Merchant | undefined): void {
  if (merchant === undefined) return
  if (json) {
    print(jsonLine(MerchantSchema, merchant))
    return
  }
  const { branding } = merchant
  print(`merchant  ${merchant.merchantId}`)
  print(`name      ${printable(merchant.businessName)}`)
  print(`mobile    ${merchant.mobileNumber}`)
  print(`colour    ${branding?.color || 'the default one'}`)
  print(`logo      ${branding?.logoDigest || 'none'}`)
  print(
    `support   ${[branding?.supportEmail, branding?.supportPhone].filter(Boolean).join(', ') || 'none'}`,
  )
  print(`website   ${branding?.websiteUrl || 'none'}`)
}

const merchantShape: ListShape<Merchant> = {
  headings: ['MERCHANT', 'MOBILE', 'NAME'],
  cells: (one) => [one.merchantId, one.mobileNumber, printable(one.businessName)],
  json: (one) => jsonLine(MerchantSchema, one),
  none: 'no merchants',
}

const listMerchants: AccessWork = async (context, access) => {
  const { options } = context
  const projectId = await projectNamed(context, access)
  const limit = wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
  const pages = pagesOf(limit, async (pageSize, pageToken) => {
    const page = await access.listMerchants({ projectId, pageSize, pageToken })
    return { items: page.merchants, nextPageToken: page.nextPageToken }
  })
  await printList(context, merchantShape, pages)
}

const createMerchant: AccessWork = async (context, access) => {
  const businessName = oneOperand(context, 'business name')
  const mobileNumber = context.options['mobile']
  if (mobileNumber === undefined) throw new UsageError('--mobile is missing')
  const projectId = await projectNamed(context, access)
  const made = await once(context, (requestId) =>
    access.createMerchant({ projectId, businessName, mobileNumber, requestId }),
  )
  if (context.json) {
    context.print(jsonLine(CreateMerchantResponseSchema, made))
    return
  }
  context.print(`merchant  ${made.merchant?.merchantId ?? ''}`)
  context.print(`name      ${printable(made.merchant?.businessName ?? '')}`)
  context.print(`key id    ${made.keyId}`)
  context.print(`api key   ${made.apiKey}`)
}
