// How the payers' pages of a merchant look: logo, colour, contacts, with a preview of every state.
import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import { languageCodes, languageOfTag } from '#core/text/language.ts'
import type { Merchant } from '#gen/payweave/accounts/v1/access_pb.js'
import { previewNames } from '../../../gateway/pages/preview/samples.ts'
import type { Clients } from '../../clients.ts'
import { allowFrames, protectFramed } from '../../http/guard.ts'
import type { ProjectWork, Worker } from '../../http/work.ts'
import {
  type Cell,
  code,
  type Field,
  type Form,
  noticeOf,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { merchantField, merchantOf, merchantsOf } from '../merchants.ts'
import { shownName, type Texts, textsIn, textsOf, wantedIn } from './wanted.ts'

type Options = { worker: Worker; clients: Clients }

/** A byte more than a logo may have is read: the service refuses it with its rule. */
const maxFileBytes = 64 * 1024 + 1
const limits = { fileSize: maxFileBytes, files: 1, fields: 16, fieldSize: 1_000, parts: 17 }
const frame = 'preview'
const updateRpc = 'payweave.accounts.v1.AccessService/UpdateMerchant'

/** Registers `/projects/<id>/branding`, its form, preview and logo. */
export async function registerBranding(app: FastifyInstance, options: Options): Promise<void> {
  const { worker, clients } = options
  const path = '/projects/:projectId/branding'
  app.get(
    path,
    worker.projectPage((work) => show(work, clients)),
  )
  app.get(
    `${path}/preview`,
    worker.projectPage((work) => preview(work, clients)),
  )
  app.get(
    `${path}/logo.png`,
    worker.projectPage((work) => sendLogo(work, clients)),
  )
  await app.register(async (scope) => {
    const parser = { attachFieldsToBody: 'keyValues', throwFileSizeLimit: false } as const
    await scope.register(multipart, { ...parser, limits })
    scope.post(
      `${path}/update`,
      worker.projectPage((work) => update(work, clients)),
    )
    scope.post(
      `${path}/preview`,
      worker.projectPage((work) => preview(work, clients)),
    )
  })
}

function pathOf({ project: { projectId } }: ProjectWork): string {
  return `/projects/${projectId}/branding`
}

/** The merchant that a form or an address names, with its branding. */
async function merchantNamed(work: ProjectWork, { access }: Clients): Promise<Merchant> {
  const { projectId } = work.project
  const merchantId = work.form.get('merchant_id') ?? work.query.get('merchant') ?? ''
  const { merchant } = await access.getMerchant({ projectId, merchantId })
  if (merchant === undefined) throw new Error('an answer without its merchant')
  return merchant
}

async function update(work: ProjectWork, clients: Clients) {
  const merchant = await merchantNamed(work, clients)
  const { merchantId } = merchant
  const wanted = wantedIn(work, merchantId)
  try {
    const { requireBranding } = await import('./preview.ts')
    requireBranding(wanted)
    // Without a path the service would take the request for one of all fields.
    if (wanted.updateMask.paths.length > 0) await clients.access.updateMerchant(wanted)
  } catch (error) {
    const mistakes = mistakesOf(error)
    if (mistakes === undefined) throw error
    return show(work, clients, { texts: textsIn(work), mistakes })
  }
  return work.reply.redirect(`${pathOf(work)}?merchant=${merchantId}&notice=stored`, 303)
}

/** What is wrong by field, in words; undefined for another error. */
function mistakesOf(error: unknown): Map<string, string> | undefined {
  if (!(error instanceof Failure) || error.reason !== 'INVALID_PARAMETER') return undefined
  const { field = '' } = error.details
  const own = [{ field, rule: error.message.replace(`${field} `, '') }]
  return new Map((error.violations ?? own).map((one) => [one.field, one.rule]))
}

/** One state of a payer's page: as it is stored or, for a form, as it would be. */
async function preview(work: ProjectWork, clients: Clients) {
  const { request, reply, form, query } = work
  const { nonce } = request.shell
  const read = (name: string) => form.get(name) ?? query.get(name)
  const state = read('state') ?? 'open'
  if (!previewNames.includes(state)) throw invalid('state', 'must be a state')
  const language = languageOfTag(read('language') ?? 'en') ?? 'en'
  const stored = await merchantNamed(work, clients)
  const { merchantWith, previewPage, requireBranding } = await import('./preview.ts')
  const { merchantId } = stored
  let merchant = stored
  let logoUrl = `${pathOf(work)}/logo.png?merchant=${merchantId}`
  protectFramed(reply, nonce)
  if (request.method === 'POST') {
    const wanted = wantedIn(work, merchantId)
    requireBranding(wanted)
    merchant = merchantWith(stored, wanted)
    const chosen = Buffer.from(wanted.logoPng)
    if (chosen.length > 0) logoUrl = `data:image/png;base64,${chosen.toString('base64')}`
  }
  const html = await previewPage(merchant, { state, language, logoUrl, nonce })
  return reply.type('text/html; charset=utf-8').send(html)
}

async function sendLogo(work: ProjectWork, clients: Clients) {
  const { projectId, merchantId } = await merchantNamed(work, clients)
  const { logoPng } = await clients.access.getMerchantLogo({ projectId, merchantId })
  if (logoPng.length === 0) throw new Failure('ENDPOINT_NOT_FOUND', 'The merchant has no logo.')
  return work.reply
    .header('content-security-policy', "default-src 'none'; sandbox")
    .type('image/png')
    .send(Buffer.from(logoPng))
}

/** What somebody sent that was refused. */
type Refused = { texts: Texts; mistakes: Map<string, string> }

async function show(work: ProjectWork, clients: Clients, refused?: Refused) {
  const { reply, project, query, form } = work
  const merchants = await merchantsOf(work, clients)
  const named = form.get('merchant_id') ?? query.get('merchant')
  const chosen = await merchantOf(work, clients, merchants, named)
  const title = `Branding of ${project.name}`
  if (chosen === undefined) {
    const note = 'The project has no merchant. Create one with: payweave merchant create <name>'
    return sendSections(reply, { title, sections: [{ note }] })
  }
  const { projectId, merchantId } = chosen
  const { merchant = chosen } = await clients.access.getMerchant({ projectId, merchantId })
  allowFrames(reply)
  const choice = merchantField(merchants, chosen)
  const page = {
    title,
    notice: noticeOf(query, { stored }),
    sections: [
      ...(merchants.length > 1 ? [{ filters: { fields: [choice] } }] : []),
      work.may(updateRpc) ? formSection(work, merchant, refused) : factsSection(merchant),
      {
        heading: 'Preview',
        note: 'A payment of a sandbox, as a phone shows it. Its buttons do nothing here.',
        frame: {
          name: frame,
          title: 'Preview of the payer’s page',
          path: `${pathOf(work)}/preview?merchant=${merchantId}`,
        },
        rpc: 'payweave.accounts.v1.AccessService/GetMerchant',
      },
    ],
  }
  return sendSections(reply, page, refused === undefined ? 200 : 400)
}

const stored = 'Stored. The next page that a payer opens has it.'

const labels: [name: keyof Texts, label: string][] = [
  ['color', 'Colour such as #0b57d0, empty: the default one'],
  ['support_email', 'E-mail address for payers'],
  ['support_phone', 'Phone number for payers, with + and country'],
  ['website_url', 'Website, https'],
]

function factsSection({ branding, ...merchant }: Merchant): Section {
  const texts = textsOf(branding)
  const facts = labels.map(([name, label]): [string, Cell] => [label, text(texts[name])])
  return { facts: [['Merchant', text(merchant.businessName)], ...facts] }
}

function formSection(
  work: ProjectWork,
  { merchantId, branding }: Merchant,
  refused: Refused | undefined,
): Section {
  const base = pathOf(work)
  const texts = refused?.texts ?? textsOf(branding)
  const shownTexts = Object.fromEntries(
    Object.entries(textsOf(branding)).map(([name, stored]) => {
      const shown = shownName(name)
      // A form that was refused keeps what its first page showed.
      return [shown, (refused && work.form.get(shown)) ?? stored]
    }),
  )
  const hasLogo = (branding?.logoDigest ?? '') !== ''
  const logo: Field[] = [
    {
      label: `Logo: PNG of at most 64 KiB and 512 pixels a side${hasLogo ? ', instead of the stored one' : ''}`,
      name: 'logo_png',
      type: 'file',
      accept: 'image/png',
      mistake: refused?.mistakes.get('logo_png'),
    },
    ...(hasLogo
      ? [{ label: 'Without a logo', name: 'remove_logo', type: 'checkbox' as const }]
      : []),
  ]
  const shown: Field[] = [
    {
      label: 'State of the preview',
      name: 'state',
      type: 'select',
      value: work.form.get('state') ?? 'open',
      options: previewNames.map((name) => ({ value: name, label: name })),
    },
    {
      label: 'Language of the preview',
      name: 'language',
      type: 'select',
      value: work.form.get('language') ?? 'en',
      options: languageCodes.map((tag) => ({ value: tag, label: tag })),
    },
  ]
  const form: Form = {
    action: `${base}/update`,
    button: 'Store',
    rpc: updateRpc,
    hidden: { merchant_id: merchantId, ...shownTexts },
    fields: [
      ...labels.map(
        ([name, label]): Field => ({
          label,
          name,
          value: texts[name],
          mistake: refused?.mistakes.get(name),
        }),
      ),
      ...logo,
      ...shown,
    ],
    second: { action: `${base}/preview`, button: 'Preview', frame },
  }
  return {
    warning:
      refused &&
      'Nothing was stored. Correct what is marked, and choose the logo again if you changed it.',
    facts: [['Merchant id', code(merchantId)]],
    forms: [form],
    rpc: updateRpc,
  }
}
