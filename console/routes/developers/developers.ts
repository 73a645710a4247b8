// What the developers of a merchant need: keys, which are shown once, addresses that may call, and grants.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import type { Grant, IssuedKey, Merchant } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../../clients.ts'
import type { ProjectWork, Worker } from '../../http/work.ts'
import { type Cell, code, type Field, type Form, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { formId } from '../list.ts'
import { merchantsOf } from '../merchants.ts'

type Options = { worker: Worker; clients: Clients; hasTriggers: boolean }

const path = '/projects/:projectId/developers'

/** Registers `/projects/<id>/developers` and its forms. */
export function registerDevelopers(app: FastifyInstance, options: Options): void {
  const { worker, clients, hasTriggers } = options
  app.get(
    path,
    worker.projectPage((work) => show(work, clients, hasTriggers)),
  )
  app.post(
    `${path}/subscription-keys`,
    worker.projectPage(async (work) => {
      const { projectId } = work.project
      const requestId = formId(work.form, 'request_id')
      const issued = await clients.access.issueSubscriptionKey({ projectId, requestId })
      return sendKey(work, 'Subscription key', issued.keyId, issued.subscriptionKey)
    }),
  )
  app.post(
    `${path}/api-keys`,
    worker.projectPage(async (work) => {
      const issued = await clients.access.issueApiKey({
        projectId: work.project.projectId,
        merchantId: formId(work.form, 'merchant_id'),
        requestId: formId(work.form, 'request_id'),
      })
      return sendKey(work, 'API key', issued.keyId, issued.apiKey)
    }),
  )
  app.post(
    `${path}/subscription-keys/revoke`,
    worker.projectPage((work) => revoke(work, clients.access.revokeSubscriptionKey)),
  )
  app.post(
    `${path}/api-keys/revoke`,
    worker.projectPage((work) => revoke(work, clients.access.revokeApiKey)),
  )
}

type Revoke = (key: { projectId: string; keyId: string }) => Promise<unknown>

/** Revokes a key, once its person has said that they mean it. */
async function revoke({ reply, project, form }: ProjectWork, call: Revoke): Promise<FastifyReply> {
  if (form.get('confirmed') !== 'on') throw invalid('confirmed', 'must be ticked')
  const { projectId } = project
  await call({ projectId, keyId: formId(form, 'key_id') })
  return reply.redirect(`/projects/${projectId}/developers?said=revoked`, 303)
}

/** A key on the only page that ever shows it. */
function sendKey(work: ProjectWork, kind: string, keyId: string, key: string): FastifyReply {
  const { reply, project } = work
  return sendSections(reply, {
    title: `New ${kind.toLowerCase()}`,
    sections: [
      {
        warning: 'This page shows the key once. Put it where your servers read their secrets.',
        facts: [
          [kind, code(key)],
          ['Key id', code(keyId)],
          ['', { text: 'All keys', href: `/projects/${project.projectId}/developers` }],
        ],
      },
    ],
  })
}

async function show(work: ProjectWork, clients: Clients, hasTriggers: boolean) {
  const { reply, project, query } = work
  const { projectId } = project
  const { access } = clients
  const [read, merchants, subscriptionKeys, apiKeys, grants] = await Promise.all([
    access.getProject({ projectId }),
    merchantsOf(work, clients),
    access.listSubscriptionKeys({ projectId }),
    access.listApiKeys({ projectId }),
    access.listGrants({ projectId }),
  ])
  return sendSections(reply, {
    title: `Developers of ${project.name}`,
    said: said[query.get('said') ?? ''],
    sections: [
      subscriptionSection(work, subscriptionKeys.keys),
      apiSection(work, merchants, apiKeys.keys),
      addressSection(read.project?.allowedIps ?? []),
      grantSection(grants.grants),
      ...(hasTriggers && work.may('payweave.accounts.v1.AccessService/IssueApiKey')
        ? [triggersSection(projectId)]
        : []),
    ],
  })
}

const said: Record<string, string> = { revoked: 'The key is revoked. Calls with it are refused.' }

function subscriptionSection(work: ProjectWork, keys: IssuedKey[]): Section {
  const base = `/projects/${work.project.projectId}/developers/subscription-keys`
  const issue: Form = {
    action: base,
    button: 'Issue a subscription key',
    hidden: { request_id: randomId() },
  }
  return {
    heading: 'Subscription keys',
    note: 'Every request names the project by one. Two may be active, so that you can rotate: issue, deploy, revoke.',
    table: {
      head: ['Key id', 'Issued', 'State', 'Revoke'],
      empty: 'None: no request of the project is accepted.',
      rows: keys.map((key) => [
        code(key.keyId),
        { at: key.issueTime },
        stateOf(key),
        revokeCell(key, base, work.may('payweave.accounts.v1.AccessService/RevokeSubscriptionKey')),
      ]),
    },
    forms: work.may('payweave.accounts.v1.AccessService/IssueSubscriptionKey') ? [issue] : [],
    rpc: 'payweave.accounts.v1.AccessService/ListSubscriptionKeys',
  }
}

function apiSection(work: ProjectWork, merchants: Merchant[], keys: IssuedKey[]): Section {
  const base = `/projects/${work.project.projectId}/developers/api-keys`
  const nameOf = (id: string) =>
    merchants.find(({ merchantId }) => merchantId === id)?.businessName ?? id
  const issue: Form = {
    action: base,
    button: 'Issue an API key',
    hidden: { request_id: randomId() },
    fields: [
      {
        label: 'Merchant',
        name: 'merchant_id',
        type: 'select',
        isRequired: true,
        options: merchants.map(({ merchantId, businessName }) => ({
          value: merchantId,
          label: businessName,
        })),
      },
    ],
  }
  return {
    heading: 'API keys',
    note: 'A payment belongs to the merchant of its API key.',
    table: {
      head: ['Key id', 'Merchant', 'Issued', 'State', 'Revoke'],
      empty: 'None yet.',
      rows: keys.map((key) => [
        code(key.keyId),
        text(nameOf(key.merchantId)),
        { at: key.issueTime },
        stateOf(key),
        revokeCell(key, base, work.may('payweave.accounts.v1.AccessService/RevokeApiKey')),
      ]),
    },
    forms: work.may('payweave.accounts.v1.AccessService/IssueApiKey') ? [issue] : [],
    rpc: 'payweave.accounts.v1.AccessService/ListApiKeys',
  }
}

function stateOf({ revokeTime }: IssuedKey): Cell {
  return { state: revokeTime === undefined ? 'active' : 'revoked' }
}

function revokeCell({ keyId, revokeTime }: IssuedKey, base: string, mayRevoke: boolean): Cell {
  if (revokeTime !== undefined) return { at: revokeTime }
  if (!mayRevoke) return text('')
  const confirmed: Field = {
    label: 'Calls with it may stop',
    name: 'confirmed',
    type: 'checkbox',
    isRequired: true,
  }
  const form: Form = {
    action: `${base}/revoke`,
    button: 'Revoke',
    isDangerous: true,
    hidden: { key_id: keyId },
    fields: [confirmed],
  }
  return { forms: [form] }
}

function triggersSection(projectId: string): Section {
  const href = `/projects/${projectId}/developers/triggers`
  return { heading: 'Sandbox', facts: [['Outcomes', { text: 'Make it happen', href }]] }
}

function addressSection(allowed: string[]): Section {
  return {
    heading: 'Addresses that may call',
    note:
      allowed.length === 0
        ? 'Any. An operator limits them.'
        : 'Only these. An operator changes them.',
    table: {
      head: ['Address or range'],
      empty: 'No restriction.',
      rows: allowed.map((one) => [code(one)]),
    },
    rpc: 'payweave.accounts.v1.AccessService/GetProject',
  }
}

function grantSection(grants: Grant[]): Section {
  return {
    heading: 'Grants',
    table: {
      head: ['Institution', 'Endpoint', 'Since'],
      empty: 'None: the project uses no institution’s endpoints.',
      rows: grants.map((one) => [
        text(one.institutionName),
        code(one.endpoint),
        { at: one.grantTime },
      ]),
    },
    rpc: 'payweave.accounts.v1.AccessService/ListGrants',
  }
}
