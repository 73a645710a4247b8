// The keys of a project: lists with their file, and forms that issue, rotate and revoke them. A key is shown once.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { type IssuedKey, KeyState, type Merchant } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../../http/work.ts'
import {
  type Cell,
  chosen,
  code,
  type Field,
  type Form,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf } from '../../pages/words.ts'
import {
  formId,
  idIn,
  institutionField,
  nextPageUrl,
  noneMatches,
  oneOf,
  rowsAt,
  sendCsv,
  withFilters,
} from '../list.ts'
import { merchantsOf } from '../merchants.ts'

type Access = Clients['access']

/** One kind of key: its words, and the RPCs of it. */
type Kind = {
  /** In paths, and the parameter of its pages. */
  path: string
  name: string
  issueRpc:
    | 'payweave.accounts.v1.AccessService/IssueSubscriptionKey'
    | 'payweave.accounts.v1.AccessService/IssueApiKey'
  revokeRpc:
    | 'payweave.accounts.v1.AccessService/RevokeSubscriptionKey'
    | 'payweave.accounts.v1.AccessService/RevokeApiKey'
  /** The newest 200 keys of a state, or the one of an id. While accounts is upgraded, an old replica may answer with the newest 200 of any. */
  list(access: Access, of: WantedKeys): Promise<IssuedKey[]>
  issue(access: Access, of: NewKey): Promise<{ keyId: string; key: string }>
  revoke(access: Access, key: { projectId: string; keyId: string }): Promise<unknown>
}

type WantedKeys = { projectId: string; keyId: string; state?: KeyState }
type NewKey = { projectId: string; merchantId: string; requestId: string }

const subscription: Kind = {
  path: 'subscription-keys',
  name: 'Subscription key',
  issueRpc: 'payweave.accounts.v1.AccessService/IssueSubscriptionKey',
  revokeRpc: 'payweave.accounts.v1.AccessService/RevokeSubscriptionKey',
  list: async (access, of) => (await access.listSubscriptionKeys(of)).keys,
  async issue(access, { projectId, requestId }) {
    const { keyId, subscriptionKey } = await access.issueSubscriptionKey({ projectId, requestId })
    return { keyId, key: subscriptionKey }
  },
  revoke: (access, key) => access.revokeSubscriptionKey(key),
}

const api: Kind = {
  path: 'api-keys',
  name: 'API key',
  issueRpc: 'payweave.accounts.v1.AccessService/IssueApiKey',
  revokeRpc: 'payweave.accounts.v1.AccessService/RevokeApiKey',
  list: async (access, of) => (await access.listApiKeys(of)).keys,
  async issue(access, of) {
    const { keyId, apiKey } = await access.issueApiKey(of)
    return { keyId, key: apiKey }
  },
  revoke: (access, key) => access.revokeApiKey(key),
}

/** Most rows have two forms. */
const pageSize = 8

/** Registers the forms of keys and their file below the path of the developers. */
export function registerKeys(
  app: FastifyInstance,
  path: string,
  { worker, clients }: { worker: Worker; clients: Clients },
): void {
  const { access } = clients
  for (const kind of [subscription, api]) {
    app.post(
      `${path}/${kind.path}`,
      worker.projectPage(async (work) => {
        const { form, project } = work
        const merchantId = kind === api ? formId(form, 'merchant_id') : ''
        const requestId = formId(form, 'request_id')
        const wanted = { projectId: project.projectId, merchantId, requestId }
        return sendKey(work, kind, await kind.issue(access, wanted))
      }),
    )
    app.post(
      `${path}/${kind.path}/rotate`,
      worker.projectPage((work) => rotate(work, kind, access)),
    )
    app.post(
      `${path}/${kind.path}/revoke`,
      worker.projectPage(async ({ reply, project: { projectId }, form }) => {
        if (form.get('confirmed') !== 'on') throw invalid('confirmed', 'must be ticked')
        await kind.revoke(access, { projectId, keyId: formId(form, 'key_id') })
        return reply.redirect(`/projects/${projectId}/developers?notice=revoked`, 303)
      }),
    )
  }
  app.get(
    `${path}/keys.csv`,
    worker.projectPage((work) => sendFile(work, clients), asFile),
  )
}

/**
 * Issues the successor of an active key, and revokes that one where its person wants so. A key that cannot be revoked does not keep
 * its successor from being shown: nothing shows that again.
 */
async function rotate(work: ProjectWork, kind: Kind, access: Access): Promise<FastifyReply> {
  const { form, project } = work
  const { projectId } = project
  const keyId = formId(form, 'key_id')
  const requestId = formId(form, 'request_id')
  const keys = await kind.list(access, { projectId, keyId })
  const old = keys.find((one) => one.keyId === keyId)
  if (old === undefined) throw new Failure('KEY_NOT_FOUND', 'The project has no such key.')
  if (old.revokeTime !== undefined) throw invalid('key_id', 'must be that of an active key')
  const issued = await kind.issue(access, { projectId, merchantId: old.merchantId, requestId })
  if (form.get('at_once') !== 'on')
    return sendKey(work, kind, issued, [stillActive(work, kind, old)])
  try {
    await kind.revoke(access, { projectId, keyId })
  } catch {
    const left = stillActive(work, kind, old)
    return sendKey(work, kind, issued, [{ ...left, warning: 'The old key could not be revoked.' }])
  }
  return sendKey(work, kind, issued, [
    { heading: 'The old key', note: 'It is revoked.', facts: [['Key id', code(keyId)]] },
  ])
}

function stillActive(work: ProjectWork, kind: Kind, { keyId }: IssuedKey): Section {
  const mayRevoke = work.may(kind.revokeRpc)
  return {
    heading: 'The old key',
    note: 'It stays active. Revoke it when your servers use the new one.',
    facts: [['Key id', code(keyId)]],
    forms: mayRevoke ? [revokeForm(work, kind, keyId)] : [],
  }
}

/** A key on the only page that ever shows it. */
function sendKey(
  work: ProjectWork,
  { name, issueRpc }: Kind,
  { keyId, key }: { keyId: string; key: string },
  more: Section[] = [],
): FastifyReply {
  const { reply, project } = work
  return sendSections(reply, {
    title: `New ${name.replace('Subscription', 'subscription')}`,
    sections: [
      {
        warning: 'This page shows the key once. Put it where your servers read their secrets.',
        facts: [
          [name, code(key)],
          ['Key id', code(keyId)],
          ['', { text: 'All keys', href: `/projects/${project.projectId}/developers` }],
        ],
        rpc: issueRpc,
      },
      ...more,
    ],
  })
}

function baseOf({ project }: ProjectWork, { path }: Kind): string {
  return `/projects/${project.projectId}/developers/${path}`
}

/** The sections of both kinds, the active keys first. */
export async function keySections(
  work: ProjectWork,
  { access }: Clients,
  merchants: Merchant[],
): Promise<Section[]> {
  const { request, project, query } = work
  const { projectId } = project
  const { keyId, state, isWanted } = filterOf(work)
  const [subscriptionKeys, apiKeys] = await Promise.all([
    subscription.list(access, { projectId, keyId, state }),
    api.list(access, { projectId, keyId, state }),
  ])
  const isCut = [subscriptionKeys, apiKeys].some((keys) => keys.length === maxKeys)
  const nameOf = namesOf(merchants)
  const ofMerchant: Field = {
    label: 'Merchant',
    name: 'merchant_id',
    type: 'select',
    isRequired: true,
    options: merchants.map(({ merchantId, businessName }) => ({
      value: merchantId,
      label: businessName,
    })),
  }
  const file = `/projects/${projectId}/developers/keys.csv`
  return [
    {
      note: isCut ? 'Of each kind these are the newest 200 keys.' : undefined,
      filters: {
        fields: [
          { label: 'Key id', name: 'key', value: keyId, maxlength: 36 },
          chosen('State', 'state', KeyState, query),
          institutionField(query, 'Institution of grants and secrets'),
        ],
        links: [{ label: 'CSV of the keys', href: withFilters(file, request.url) }],
      },
    },
    {
      heading: 'Subscription keys',
      note: 'Every request names the project by one. Rotate makes a second one: both are active until the old one is revoked.',
      ...tableOf(work, subscription, subscriptionKeys.filter(isWanted), [], () => []),
      forms: issueForms(work, subscription),
      rpc: 'payweave.accounts.v1.AccessService/ListSubscriptionKeys',
    },
    {
      heading: 'API keys',
      note: 'A payment belongs to the merchant of its API key.',
      ...tableOf(work, api, apiKeys.filter(isWanted), ['Merchant'], (key) => [text(nameOf(key))]),
      forms: issueForms(work, api, [ofMerchant]),
      rpc: 'payweave.accounts.v1.AccessService/ListApiKeys',
    },
  ]
}

function namesOf(merchants: Merchant[]): (key: IssuedKey) => string {
  const names = new Map(merchants.map((one) => [one.merchantId, one.businessName]))
  return ({ merchantId }) => names.get(merchantId) ?? merchantId
}

function issueForms(work: ProjectWork, kind: Kind, fields?: Field[]): Form[] {
  if (!work.may(kind.issueRpc)) return []
  const button = kind === api ? 'Issue an API key' : 'Issue a subscription key'
  const hidden = { request_id: randomId() }
  return [{ action: baseOf(work, kind), button, rpc: kind.issueRpc, hidden, fields }]
}

const states = ['active', 'revoked'] as const
/** As many of a kind as a list has. */
const maxKeys = 200

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid id or state. */
function filterOf({ query }: ProjectWork) {
  const keyId = idIn(query, 'key')
  const word = oneOf(query, 'state', states)
  const state: KeyState = valueOf(KeyState, word ?? null) ?? KeyState.UNSPECIFIED
  const isWanted = (key: IssuedKey) =>
    (keyId === '' || key.keyId === keyId) &&
    (word === undefined || isActive(key) === (word === 'active'))
  return { keyId, state, isWanted }
}

function isActive({ revokeTime }: IssuedKey): boolean {
  return revokeTime === undefined
}

function tableOf(
  work: ProjectWork,
  kind: Kind,
  keys: IssuedKey[],
  head: string[],
  more: (key: IssuedKey) => Cell[],
): Section {
  const sorted = [...keys.filter(isActive), ...keys.filter((key) => !isActive(key))]
  const { rows, nextPageToken } = rowsAt(sorted, work.query.get(kind.path), pageSize)
  return {
    table: {
      head: ['Key id', ...head, 'Issued', 'State', 'Change'],
      empty:
        work.query.has('key') || work.query.has('state')
          ? noneMatches('key')
          : kind === api
            ? 'None yet. Every merchant needs one for its requests: payweave key issue --merchant <id>'
            : 'None: no request of the project is accepted. Issue one with: payweave key issue',
      rows: rows.map((key) => [
        code(key.keyId),
        ...more(key),
        { at: key.issueTime },
        { state: isActive(key) ? 'active' : 'revoked' },
        changeCell(work, kind, key),
      ]),
    },
    ...nextPageUrl(work.request.url, nextPageToken, kind.path),
  }
}

function changeCell(work: ProjectWork, kind: Kind, { keyId, revokeTime }: IssuedKey): Cell {
  if (revokeTime !== undefined) return { at: revokeTime }
  const base = baseOf(work, kind)
  const rotation: Form = {
    action: `${base}/rotate`,
    button: 'Rotate',
    rpc: kind.issueRpc,
    hidden: { key_id: keyId, request_id: randomId() },
    fields: [{ label: 'Revoke this one at once', name: 'at_once', type: 'checkbox' }],
  }
  const forms = [
    ...(work.may(kind.issueRpc) ? [rotation] : []),
    ...(work.may(kind.revokeRpc) ? [revokeForm(work, kind, keyId)] : []),
  ]
  return forms.length === 0 ? text('') : { forms }
}

/** Revokes a key, once its person has confirmed it. */
function revokeForm(work: ProjectWork, kind: Kind, keyId: string): Form {
  return {
    action: `${baseOf(work, kind)}/revoke`,
    button: 'Revoke',
    rpc: kind.revokeRpc,
    isDangerous: true,
    hidden: { key_id: keyId },
    fields: [
      { label: 'Calls with it may stop', name: 'confirmed', type: 'checkbox', isRequired: true },
    ],
  }
}

const csvHead = ['kind', 'key_id', 'merchant_id', 'merchant', 'issued', 'revoked']

/** The keys of both kinds as one file, by the filters of their page, the newest 200 of each. */
function sendFile(work: ProjectWork, clients: Clients): Promise<FastifyReply> {
  const { projectId } = work.project
  const { keyId, state, isWanted } = filterOf(work)
  return sendCsv(work, 'keys', csvHead, async () => {
    const merchants = await merchantsOf(work, clients)
    const nameOf = namesOf(merchants)
    const lists = await Promise.all(
      [subscription, api].map((one) => one.list(clients.access, { projectId, keyId, state })),
    )
    const rows = [subscription, api].flatMap((kind, at) =>
      (lists[at] ?? [])
        .filter(isWanted)
        .map((key) => [
          kind.name.toLowerCase(),
          key.keyId,
          key.merchantId,
          nameOf(key),
          timeOf(key.issueTime)?.iso ?? '',
          timeOf(key.revokeTime)?.iso ?? '',
        ]),
    )
    return { rows, nextPageToken: '' }
  })
}
