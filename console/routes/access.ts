// Who may call what of a project, for operators: the Account API, addresses, and the matrix of grants.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import { grantableEndpoints } from '#core/identity/endpoints.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Grant, Institution } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../clients.ts'
import type { ProjectWork, Worker } from '../http/work.ts'
import { type Cell, code, type Field, noticeOf, type Section, text } from '../pages/blocks.ts'
import { sendPage, sendSections } from '../pages/render.ts'
import {
  formId,
  institutionField,
  institutionIn,
  nextPageUrl,
  noneMatches,
  withFilters,
} from './list.ts'

type Options = { worker: Worker; clients: Clients }

const path = '/projects/:projectId/access'
/** Each row is a form. */
const institutionsShown = 20

/** Registers `/projects/<id>/access` and its forms. */
export function registerAccess(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    path,
    worker.projectPage((work) => show(work, clients)),
  )
  app.post(
    `${path}/update`,
    worker.projectPage((work) => storeCallers(work, clients)),
  )
  app.post(
    `${path}/grants`,
    worker.projectPage((work) => storeGrants(work, clients)),
  )
}

/** Stores what was changed on the page alone; refuses with 409 to replace a list that somebody else has changed since. */
async function storeCallers({ reply, project, form }: ProjectWork, { access }: Clients) {
  const { projectId } = project
  const accountAccess = form.get('account_access') === 'on'
  const allowedIps = (form.get('addresses') ?? '').split(/[\s,]+/).filter((one) => one !== '')
  const shownList = shownIn(form, 'shown_addresses')
  const paths = [
    ...(accountAccess === (shownIn(form, 'shown_access') === 'on') ? [] : ['account_access']),
    ...(digestOf(allowedIps) === shownList ? [] : ['allowed_ips']),
  ]
  if (paths.includes('allowed_ips')) {
    const { project: stored } = await access.getProject({ projectId })
    if (digestOf(stored?.allowedIps ?? []) !== shownList) {
      const text =
        'Somebody else has changed the addresses since this page was opened. Nothing was stored: open it again.'
      return sendPage(reply, 'message', { title: 'Not possible now', text }, 409)
    }
  }
  if (paths.length > 0) {
    await access.updateProjectAccess({
      projectId,
      accountAccess,
      allowedIps,
      updateMask: { paths },
    })
  }
  return reply.redirect(`/projects/${projectId}/access?notice=stored`, 303)
}

/** Grants what was ticked on the page and revokes what was unticked; what others have changed since stays. */
async function storeGrants({ reply, project, form }: ProjectWork, { access }: Clients) {
  const { projectId } = project
  const institutionId = formId(form, 'institution_id')
  const shown = shownIn(form, 'shown').split(',')
  const { grants } = await access.listGrants({ projectId })
  const held = endpointsOf(grants, institutionId)
  const changed = grantableEndpoints.filter(
    (endpoint) => (form.get(endpoint) === 'on') !== shown.includes(endpoint),
  )
  const added = changed.filter((endpoint) => !shown.includes(endpoint) && !held.has(endpoint))
  const taken = changed.filter((endpoint) => shown.includes(endpoint) && held.has(endpoint))
  const grant = { projectId, institutionId }
  if (added.length > 0) await access.grantEndpoints({ ...grant, endpoints: added })
  if (taken.length > 0) await access.revokeGrants({ ...grant, endpoints: taken })
  return reply.redirect(`/projects/${projectId}/access?notice=stored`, 303)
}

/** A hidden field with what the page showed. Throws INVALID_PARAMETER for a form without it. */
function shownIn(form: URLSearchParams, name: string): string {
  const shown = form.get(name)
  if (shown === null) throw invalid(name, 'must be what the page showed: open the page again')
  return shown
}

/** Stands for a list of addresses in a form, where the list itself would be too long. */
function digestOf(addresses: string[]): string {
  return fingerprint(addresses).toString('hex')
}

function endpointsOf(grants: Grant[], institutionId: string): Set<string> {
  const own = grants.filter((one) => one.institutionId === institutionId)
  return new Set(own.map(({ endpoint }) => endpoint))
}

async function show(work: ProjectWork, { access }: Clients) {
  const { request, reply, project, query } = work
  const { projectId } = project
  const [read, { grants }] = await Promise.all([
    access.getProject({ projectId }),
    access.listGrants({ projectId }),
  ])
  const { accountAccess = false, allowedIps = [], environment } = read.project ?? {}
  const named = institutionIn(query)
  const wanted = {
    ...(isUuid(named) ? { institutionId: named } : { name: named }),
    ...(environment !== undefined && { environment }),
    pageSize: institutionsShown,
    pageToken: query.get('page') ?? '',
  }
  // Institutions are of no project.
  const listed = await work.within(undefined, () => access.listInstitutions(wanted))
  const { nextPageToken } = listed
  const institutions = listed.institutions.filter(
    ({ institutionId, name }) => named === '' || institutionId === named || name === named,
  )
  return sendSections(reply, {
    title: `Access of ${project.name}`,
    notice: noticeOf(query, { stored: 'Stored. The gateway follows within seconds.' }),
    sections: [
      callersSection(work, accountAccess, allowedIps),
      { ...grantsSection(work, institutions, grants), ...nextPageUrl(request.url, nextPageToken) },
    ],
  })
}

function callersSection(work: ProjectWork, accountAccess: boolean, allowed: string[]): Section {
  const form = {
    action: `/projects/${work.project.projectId}/access/update`,
    button: 'Store',
    rpc: 'payweave.accounts.v1.AccessService/UpdateProjectAccess' as const,
    hidden: { shown_access: accountAccess ? 'on' : '', shown_addresses: digestOf(allowed) },
    fields: [
      {
        label: 'Account API',
        name: 'account_access',
        type: 'checkbox',
        value: accountAccess ? 'on' : '',
      },
      {
        label: 'Addresses or ranges that may call, none: any',
        name: 'addresses',
        type: 'textarea',
        value: allowed.join('\n'),
        // As many as the RPC takes, each with its line break.
        maxlength: 65_000,
      },
    ] satisfies Field[],
  }
  return {
    heading: 'Calls',
    facts: [
      [
        'Keys and signing secrets',
        { text: 'Developers', href: `/projects/${work.project.projectId}/developers` },
      ],
      ['Account API', { state: accountAccess ? 'active' : 'inactive' }],
      ['Addresses', text(allowed.length === 0 ? 'any' : allowed.join(', '))],
    ],
    forms: work.may('payweave.accounts.v1.AccessService/UpdateProjectAccess') ? [form] : [],
    rpc: [
      'payweave.accounts.v1.AccessService/GetProject',
      'payweave.accounts.v1.AccessService/UpdateProjectAccess',
    ],
    commands: ['project show', 'project update'],
  }
}

function grantsSection(work: ProjectWork, institutions: Institution[], grants: Grant[]): Section {
  const { request, query, project } = work
  const file = `/projects/${project.projectId}/developers/grants.csv`
  const mayGrant = work.may('payweave.accounts.v1.AccessService/GrantEndpoints')
  return {
    heading: 'Grants',
    note: 'What the project may call at each institution of its environment.',
    filters: {
      fields: [institutionField(query)],
      links: [{ label: 'CSV of the grants', href: withFilters(file, request.url) }],
    },
    table: {
      head: ['Institution', 'Id', 'Endpoints'],
      empty: query.has('institution')
        ? noneMatches('institution')
        : 'There is no institution. Create one with: payweave institution create <name>',
      rows: institutions.map(({ institutionId, name }) => {
        const held = endpointsOf(grants, institutionId)
        return [
          text(name),
          code(institutionId),
          mayGrant
            ? grantForm(work.project.projectId, institutionId, held)
            : text([...held].join(', ')),
        ]
      }),
    },
    rpc: [
      'payweave.accounts.v1.AccessService/ListInstitutions',
      'payweave.accounts.v1.AccessService/ListGrants',
      ...grantRpcs,
    ],
    commands: ['institution list', 'grant list', 'grant add', 'grant remove'],
  }
}

const grantRpcs = [
  'payweave.accounts.v1.AccessService/GrantEndpoints',
  'payweave.accounts.v1.AccessService/RevokeGrants',
] as const

function grantForm(projectId: string, institutionId: string, held: Set<string>): Cell {
  const fields = grantableEndpoints.map(
    (endpoint): Field => ({
      label: endpoint,
      name: endpoint,
      type: 'checkbox',
      value: held.has(endpoint) ? 'on' : '',
    }),
  )
  const action = `/projects/${projectId}/access/grants`
  const hidden = { institution_id: institutionId, shown: [...held].join(',') }
  return { forms: [{ action, button: 'Store', rpc: grantRpcs, hidden, fields }] }
}
